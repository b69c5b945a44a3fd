"""Findings on changed lines only: what git knows of files as they were."""

import json
import subprocess

import pytest

from gradcheck_tool.sources.changed import ChangedLines, GitError
from tests.fakes import finding, step


@pytest.fixture
def git(tmp_path, monkeypatch):
    """Run git in a new repository."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)

    def run(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    run("init", "-q", "-b", "main")
    return run


@pytest.fixture
def commit(git, tmp_path):
    """Commit files with these texts."""

    def files(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(text)
        git("add", ".")
        git("commit", "-q", "-m", "work")

    return files


def touched(folder, rows, since="HEAD", name="a.py"):
    changed = ChangedLines(since, folder)
    return [row for row in rows if changed.touch(finding(str(folder / name), row))]


def test_lines_that_were_changed_or_added_and_no_others(tmp_path, commit):
    commit(a="one\ntwo\nthree\nfour\n")
    (tmp_path / "a.py").write_text("new\none\nTWO\nthree\nfour\n")
    assert touched(tmp_path, range(1, 6)) == [1, 3]


def test_line_ends_are_no_changes(tmp_path, commit):
    commit(a="one\ntwo\n")
    (tmp_path / "a.py").write_bytes(b"one\r\nTWO\r\n")
    assert touched(tmp_path, [1, 2]) == [2]


def test_a_new_file_is_new_in_all_its_lines(tmp_path, commit):
    commit(a="one\n")
    (tmp_path / "b.py").write_text("one\n")
    assert touched(tmp_path, [1], name="b.py") == [1]


def test_a_story_through_a_changed_line_counts(tmp_path, commit):
    commit(a="one\ntwo\nthree\n")
    (tmp_path / "a.py").write_text("ONE\ntwo\nthree\n")
    name = str(tmp_path / "a.py")
    changed = ChangedLines("HEAD", tmp_path)
    assert changed.touch(finding(name, 3, trace=(step(name, 1, 1, 2, "changed here"),)))
    assert not changed.touch(finding(name, 3, trace=(step(name, 2, 1, 2, "saved here"),)))


def test_what_others_have_added_to_the_branch_since_does_not_count(tmp_path, git, commit):
    commit(a="one\ntwo\nthree\n")
    git("checkout", "-q", "-b", "mine")
    commit(a="one\ntwo\nMINE\n")
    git("checkout", "-q", "main")
    commit(a="THEIRS\ntwo\nthree\n")
    git("checkout", "-q", "mine")
    assert touched(tmp_path, [1, 2, 3], since="main") == [3]


def test_histories_without_a_common_commit(tmp_path, git, commit):
    commit(a="one\ntwo\n")
    git("checkout", "-q", "--orphan", "other")
    commit(a="one\nTWO\n")
    assert touched(tmp_path, [1, 2], since="main") == [2]


def test_cells_of_a_notebook(tmp_path, git):
    def notebook(*cells):
        listed = [
            {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": cell}
            for cell in cells
        ]
        return json.dumps({"cells": listed, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    path = tmp_path / "a.ipynb"
    path.write_text(notebook("x = 1\ny = 2", "z = 3"))
    git("add", ".")
    git("commit", "-q", "-m", "work")
    path.write_text(notebook("new = 0", "x = 1\ny = 2", "z = 4"))
    changed = ChangedLines("HEAD", tmp_path)
    cells = [cell for cell in (1, 2, 3) if changed.touch(in_cell(path, cell))]
    assert cells == [1, 3]


def in_cell(path, cell):
    from dataclasses import replace

    found = finding(str(path), 1)
    return replace(found, location=replace(found.location, cell=cell))


@pytest.mark.parametrize("commit_name", ["no-such-branch", "--output=x", "HEAD:a.py", ""])
def test_a_commit_that_git_does_not_know(tmp_path, commit, commit_name):
    commit(a="one\n")
    with pytest.raises(GitError, match="git knows no commit"):
        ChangedLines(commit_name, tmp_path)


def test_a_file_in_no_repository(tmp_path):
    with pytest.raises(GitError, match=r"a\.py is not in a git repository"):
        touched(tmp_path, [1])


def test_nothing_that_the_repository_configures_is_run(tmp_path, git, commit):
    commit(a="one\ntwo\n")
    (tmp_path / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    for key in ("filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "core.fsmonitor"):
        git("config", key, f"touch {tmp_path / 'PWNED'}")
    (tmp_path / "a.py").write_text("one\nTWO\n")
    assert touched(tmp_path, [1, 2]) == [2]
    assert not (tmp_path / "PWNED").exists()


def test_the_repository_of_a_running_hook_is_not_that_of_every_file(tmp_path, commit, monkeypatch):
    commit(a="one\n")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert touched(tmp_path, [1]) == []
