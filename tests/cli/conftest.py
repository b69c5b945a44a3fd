import pytest
from typer.testing import CliRunner

from tests.fakes import fake_check_source


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty folder to run in; the engine reports every `BAD` (GL201) and `UGLY` (GL301)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gradcheck_tool.session.files.check_source", fake_check_source)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return tmp_path


@pytest.fixture
def gradlint(project):
    """Run the command in this process."""
    from gradcheck_tool.cli.app import app

    def run(*arguments, input=None):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], input=input)

    return run


@pytest.fixture
def write(project):
    """Write a file; programs mention torch, so that they are looked at."""

    def file(name, text):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"import torch.autograd\n{text}" if name.endswith(".py") else text)
        return path

    return file
