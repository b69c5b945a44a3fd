"""A command that finds everything as it was prints what it printed, and no change goes unnoticed."""

import json
import os
import shutil
import sys
import time

import pytest

from gradcheck_tool.cache import snapshot, store
from gradcheck_tool.cli import main as entry_point
from gradcheck_tool.config import CACHE_FOLDER
from tests import fakes

PACK = '''
from gradcheck_tool import Rule, Severity


class Own(Rule):
    """## What it detects

    Nothing.
    """

    code = "ZZ101"
    name = "own"
    severity = Severity.INFO
'''


def notebook(sources):
    cells = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
        for source in sources
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


@pytest.fixture
def later(monkeypatch):
    """Files are written an hour before the command runs: what has just changed is not remembered."""
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 3600 * 10**9)


@pytest.fixture
def main(project, monkeypatch, capsys):
    """Run the command from its entry point; return its status, and what it printed."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["gradlint", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            entry_point()
        return end.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def again(main, project, monkeypatch):
    """Check, with nothing but snapshots in the cache; return the files with findings and those looked into."""
    looked_into = []

    def watching(source, filename, *rest, **options):
        looked_into.append(filename.rsplit("/", 1)[-1])
        return fakes.fake_check_source(source, filename, *rest, **options)

    monkeypatch.setattr("gradcheck_tool.session.files.check_source", watching)

    def run(*options):
        looked_into.clear()
        for path in project.rglob(f"{CACHE_FOLDER}/*.json"):
            if not path.name.startswith("run-"):
                path.unlink()
        status, out, err = main("check", "--output-format", "json", "--jobs", "1", *options)
        assert status in (0, 1), err
        return [item["filename"].rsplit("/", 1)[-1] for item in json.loads(out)], set(looked_into)

    return run


@pytest.fixture
def known(again, write, later):
    """A project whose outcome is remembered."""
    write("pkg/a.py", "x = BAD\nimport helper  # IMPORT helper\n")
    write("pkg/sub/b.py", "x = 1\n")
    first = again("pkg")
    assert first == (["a.py"], {"a.py", "b.py"})
    assert again("pkg") == (["a.py"], set())


@pytest.mark.usefixtures("known")
class TestKnown:
    def test_what_is_not_looked_at_may_change(self, again, write, project):
        write("pkg/notes.txt", "text")
        (project / "pkg" / "sub" / "__pycache__").mkdir()
        assert again("pkg")[1] == set()

    def test_other_options_and_paths_are_other_runs(self, again):
        assert again("pkg", "--ignore", "GL2") == ([], {"a.py", "b.py"})
        assert again(".")[1] == {"a.py", "b.py"}
        assert again("pkg") == (["a.py"], set())

    def test_a_change_that_leaves_size_and_time(self, again, project):
        path = project / "pkg" / "sub" / "b.py"
        status = path.stat()
        path.write_text(path.read_text().replace("x = 1", "BAD#1"))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
        assert again("pkg")[0] == ["a.py", "b.py"]

    @pytest.mark.parametrize(
        ("name", "text", "found"),
        [
            ("pkg/new.py", "x = BAD\n", ["a.py", "new.py"]),
            ("pkg/new.ipynb", '{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}', ["a.py"]),
            ("pkg/deep/new.py", "x = BAD\n", ["a.py", "new.py"]),
            ("pkg/.gitignore", "a.py\n", []),
            ("pkg/gradlint.toml", "ignore = ['GL201']\n", []),
            ("gradlint.toml", "ignore = ['GL201']\n", []),
            ("pyproject.toml", "[tool.gradlint]\nignore = ['GL201']\n", []),
            ("pkg/helper.py", "x = BAD  # noqa\n", ["a.py", "a.py"]),
            ("pkg/sub/__init__.py", "", ["a.py"]),
        ],
    )
    def test_a_file_that_begins_to_exist(self, again, write, name, text, found):
        write(name, text)
        names, looked_into = again("pkg")
        assert sorted(names) == found
        assert looked_into or found == []

    def test_a_file_that_is_gone(self, again, project):
        (project / "pkg" / "a.py").unlink()
        assert again("pkg") == ([], {"b.py"})

    def test_a_folder_that_is_gone(self, again, project):
        shutil.rmtree(project / "pkg" / "sub")
        assert again("pkg")[1] == {"a.py"}

    @pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\x00\xff", None])
    def test_damage(self, again, project, damage):
        (path,) = (project / CACHE_FOLDER).glob("run-*.json")
        if damage is None:
            store.write(path.parent, path, {**store.read_entries(path), "printed": {"out": 1}})
        else:
            path.write_bytes(damage)
        assert again("pkg") == (["a.py"], {"a.py", "b.py"})
        assert again("pkg") == (["a.py"], set())


@pytest.mark.usefixtures("later")
class TestWhatItHangsOn:
    def test_ignore_files_above(self, again, write, project):
        (project / ".git" / "info").mkdir(parents=True)
        write("pkg/a.py", "x = BAD\n")
        assert again("pkg")[0] == ["a.py"]
        write(".git/info/exclude", "a.py\n")
        assert again("pkg")[0] == []
        write(".git/info/exclude", "")
        assert again("pkg")[0] == ["a.py"]
        write(".gitignore", "a.py\n")
        assert again("pkg")[0] == []

    def test_ignore_files_of_the_repository_itself(self, again, write, project):
        (project / ".git" / "info").mkdir(parents=True)
        write("a.py", "x = BAD\n")
        again()
        assert again()[1] == set()
        write(".git/info/exclude", "a.py\n")
        assert again()[0] == []

    def test_configurations_that_are_extended(self, again, write):
        write("gradlint.toml", "extend = 'base/team.toml'\n")
        write("base/team.toml", "")
        write("a.py", "x = BAD\n")
        again("a.py")
        assert again("a.py") == (["a.py"], set())
        write("base/team.toml", "ignore = ['GL201']\n")
        assert again("a.py")[0] == []

    def test_a_configuration_that_is_named(self, again, write):
        write("own/team.toml", "")
        write("pkg/a.py", "x = BAD\n")
        again("pkg", "--config", "own/team.toml")
        write("own/team.toml", "ignore = ['GL201']\n")
        assert again("pkg", "--config", "own/team.toml")[0] == []

    def test_baselines(self, again, gradlint, write):
        write("a.py", "x = BAD\n")
        gradlint("check", "--write-baseline", "known.json")
        write("gradlint.toml", "baseline = 'known.json'\n")
        assert again()[0] == []
        assert again() == ([], set())
        write("known.json", '{"version": 1, "findings": []}')
        assert again()[0] == ["a.py"]

    def test_rule_packs(self, again, write):
        write("packs/own.py", "")
        write("packs/own.py", PACK)
        write("pkg/gradlint.toml", "rule-packs = ['../packs']\n")
        write("pkg/a.py", "x = BAD\n")
        again("pkg", "--trust")
        assert again("pkg", "--trust")[1] == set()
        write("packs/other.py", PACK.replace("ZZ101", "ZZ102").replace('"own"', '"other"'))
        assert again("pkg", "--trust")[1] == {"a.py"}

    def test_consent_to_packs(self, again, main, write):
        write("packs/own.py", PACK)
        write("pkg/gradlint.toml", "rule-packs = ['../packs']\n")
        write("pkg/a.py", "x = BAD\n")
        again("pkg")
        assert again("pkg")[1] == set()
        first = main("check", "pkg")
        assert first[2].startswith("gradlint: left out packs: ")
        assert main("check", "pkg") == first  # the line is remembered with the rest
        for words in (["packs"], ["--withdraw", "packs"]):
            main("trust", *words)
            assert again("pkg")[1] == {"a.py"}
            assert again("pkg")[1] == set()

    def test_model_packs(self, again, write):
        write("models/booster.py", "def boost(model):\n    return model\n")
        write("pkg/gradlint.toml", "model-packs = ['../models']\n")
        write("pkg/a.py", "x = BAD\n")
        again("pkg", "--trust")
        assert again("pkg", "--trust")[1] == set()
        write("models/booster.py", "def boost(model, *others):\n    return model\n")
        assert again("pkg", "--trust")[1] == {"a.py"}

    def test_imports_outside_of_what_is_checked(self, again, write):
        write("pyproject.toml", "")
        write("pkg/a.py", "import helper  # IMPORT helper\n")
        assert again("pkg")[0] == []
        assert again("pkg")[1] == set()
        write("helper.py", "x = BAD\n")
        assert again("pkg")[0] == ["a.py"]

    def test_everything_that_was_printed_and_the_status(self, main, write):
        write("a.py", "x = BAD\n")
        first = main("check")
        assert first[0] == 1
        assert "a.py:2:5" in first[1]
        assert first[2] == "Found 1 problem in 1 file (1 fixable with --fix).\n"
        assert main("check") == first

    def test_colours_are_remembered_for_themselves(self, main, write, monkeypatch):
        write("a.py", "x = BAD\n")
        plain = main("check")
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert "\x1b[" in main("check")[1]
        monkeypatch.delenv("FORCE_COLOR")
        assert main("check") == plain

    def test_what_writes_files_is_done_every_time(self, main, write, project):
        path = write("a.py", "x = BAD\n")
        for _ in range(2):
            main("check", "--output-format", "json=report.json")
            (project / "report.json").unlink()
            main("check", "--fix")
            assert "good" in path.read_text()
            write("a.py", "x = BAD\n")

    def test_problems_are_reported_every_time(self, main, write):
        write("pkg/broken.py", "def f(:\n")
        first = main("check", "pkg")
        assert first[0] == 0
        assert "broken.py: does not parse" in first[2]
        assert main("check", "pkg") == first
        write("pkg/broken.py", "x = BAD\n")
        assert main("check", "pkg")[0] == 1

    def test_a_run_that_failed_is_tried_again(self, main, write, monkeypatch):
        def fails(*_arguments, **_options):
            raise MemoryError("for once")

        write("a.py", "x = BAD\n")
        with monkeypatch.context() as patch:
            patch.setattr("gradcheck_tool.session.files.check_source", fails)
            assert main("check")[0] == 2
        assert main("check")[0] == 1

    def test_imports_of_a_notebook_that_is_partly_broken(self, main, write, later):
        cells = ["import torch.autograd", "import helper  # IMPORT helper", "def f(:"]
        write("nb/a.ipynb", notebook(cells))
        write("pyproject.toml", "")
        assert main("check", "nb")[0] == 0
        assert main("check", "nb")[0] == 0
        write("helper.py", "x = BAD\n")
        assert main("check", "nb")[0] == 1

    def test_the_cache_may_lie_above(self, again, write, project, monkeypatch):
        write("gradlint.toml", "")
        write("pkg/a.py", "x = BAD\n")
        monkeypatch.chdir(project / "pkg")
        again()
        assert again() == (["a.py"], set())
        assert [path.parent for path in project.rglob(CACHE_FOLDER)] == [project]

    def test_old_runs_are_forgotten(self, again, write, project, monkeypatch):
        monkeypatch.setattr(snapshot, "KEPT", 3)
        write("a.py", "x = BAD\n")
        for number in range(snapshot.KEPT + 3):
            again("--exclude", f"none{number}")
        assert len(list((project / CACHE_FOLDER).glob("run-*.json"))) == snapshot.KEPT


def test_what_has_just_changed_may_change_again_unseen(again, write):
    write("a.py", "x = BAD\n")
    again()
    assert again() == (["a.py"], {"a.py"})
