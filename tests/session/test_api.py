"""`gradcheck_tool.check`: the check as a function."""

import inspect
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import gradcheck_tool
from gradcheck_tool import CheckError, ConfigError, Severity, check

BAD = """\
import torch

w = torch.ones(3, requires_grad=True)
loss = w.exp().sum()
loss.backward()
loss.backward()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gradlint.toml").write_text("")
    return tmp_path


def places(findings):
    return [(finding.code, finding.location.start.row) for finding in findings]


def test_the_text_of_a_program():
    (finding,) = check(BAD)
    assert (finding.code, finding.name, finding.severity) == ("GL101", "second-backward", Severity.ERROR)
    assert (finding.location.filename, finding.location.start.row) == ("-", 6)
    assert [step.location.start.row for step in finding.trace][-1] == 6


@pytest.mark.parametrize("form", [str, Path], ids=["str", "Path"])
def test_a_file(folder, form):
    (folder / "train.py").write_text(BAD)
    (finding,) = check(form("train.py"))
    assert finding.location.filename == str(folder / "train.py")


@pytest.mark.parametrize("form", [str, Path], ids=["str", "Path"])
def test_a_folder(folder, form):
    (folder / "src").mkdir()
    (folder / "src" / "train.py").write_text(BAD)
    assert places(check(form("src"))) == [("GL101", 6)]


def test_a_notebook(folder):
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": BAD}
    text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    (folder / "a.ipynb").write_text(text)
    for found in (check("a.ipynb"), check(text, filename="b.ipynb")):
        assert [(one.code, one.location.cell, one.location.start.row) for one in found] == [("GL101", 1, 6)]


def test_nothing_is_written(folder):
    (folder / "train.py").write_text(BAD)
    check("train.py")
    assert {path.name for path in folder.iterdir()} == {"train.py", "gradlint.toml"}


def test_options():
    assert check(BAD, ignore=["GL1"]) == []
    assert check(BAD, select=["GL2"]) == []
    assert places(check(BAD, select=["gl101"])) == [("GL101", 6)]
    assert check("import torch\ntorch.autograd.Variable\n", target_torch="2.6", select=["GL2"]) == []


def test_configuration_and_comments_are_in_force(folder):
    assert check(BAD + "# gradlint: skip-file\n") == []
    (folder / "gradlint.toml").write_text('ignore = ["GL101"]\n')
    assert check(BAD) == []
    assert places(check(BAD, isolated=True)) == [("GL101", 6)]
    (folder / "sub").mkdir()
    (folder / "sub" / "gradlint.toml").write_text("")
    assert places(check(BAD, filename="sub/new.py")) == [("GL101", 6)]


def test_a_text_imports_what_lies_beside_its_name(folder):
    (folder / "losses.py").write_text("def distance(w):\n    return w.detach().sum()\n")
    text = "import torch\nfrom losses import distance\nw = torch.ones(2, requires_grad=True)\ndistance(w).backward()\n"
    assert places(check(text, filename="train.py")) == [("GL501", 4)]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = = 1\n", "does not parse as Python"),
        ("none.py", "no such file or folder"),
        (Path("none"), "no such file or folder"),
    ],
)
def test_what_cannot_be_checked(source, message):
    with pytest.raises(CheckError, match=message):
        check(source)


def test_a_file_in_a_folder_that_is_not_python_is_a_warning(folder):
    (folder / "bad.py").write_text("import torch\nloss.backward(\n")
    (folder / "train.py").write_text(BAD)
    with pytest.warns(RuntimeWarning, match=r"bad\.py: does not parse"):
        assert places(check(folder)) == [("GL101", 6)]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"select": ["QQ1"]}, ConfigError, "no rule matches"),
        ({"target_torch": "new"}, ConfigError, "not a version"),
        ({"select": "GL1"}, TypeError, "select takes several codes"),
    ],
)
def test_options_that_cannot_be_meant(options, error, message):
    with pytest.raises(error, match=message):
        check(BAD, **options)


def test_a_path_has_its_own_name():
    with pytest.raises(TypeError, match="filename is for a text"):
        check(Path("a.py"), filename="b.py")


def test_one_line_of_a_program_is_a_text():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check("import torch") == check("") == []


def test_importing_stays_light():
    heavy = {
        "typing",
        "re",
        "dataclasses",
        "json",
        "ast",
        "libcst",
        "rich",
        "typer",
        "torch",
        "numpy",
        "IPython",
    }
    code = (
        "import sys\nbefore = set(sys.modules)\nimport gradcheck_tool\n"
        f"assert not {heavy!r} & (set(sys.modules) - before)\n"
        f"assert gradcheck_tool.check({BAD!r})\n"
        "assert not {'torch', 'numpy', 'IPython', 'rich', 'typer'} & set(sys.modules)\n"
    )
    path = os.pathsep.join([str(Path(gradcheck_tool.__file__).parents[1]), *sys.path])
    # Without `site`, nothing else has been imported before.
    command = [sys.executable, "-S", "-c", code]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, env={"PYTHONPATH": path})
    assert ended.returncode == 0, ended.stderr


def test_the_page_shows_what_happens(capsys):
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    exec(compile(program, "page", "exec"), {})
    assert capsys.readouterr().out == shown
    parameters = set(inspect.signature(check).parameters) - {"source"}
    rows = re.search(r"\| parameter .*?\n\n", page, re.DOTALL)[0]
    assert parameters == set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]*)\|", rows, re.MULTILINE))))
