"""A cache folder that came with the tree is not used, not cleaned and not believed."""

import os

import pytest

from gradcheck_tool.cache.folder import why_foreign
from gradcheck_tool.config import CACHE_FOLDER

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links need privileges")

WRONG = (
    "import torch\nloss = torch.ones(2, requires_grad=True).exp().sum()\nloss.backward()\nloss.backward()\n"
)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.py").write_text(WRONG)
    monkeypatch.chdir(tmp_path / "in")
    return tmp_path / "in"


@pytest.fixture
def gradlint():
    from typer.testing import CliRunner

    from gradcheck_tool.cli.app import app

    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def everything(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def link(tree):
    (tree.parent / "out" / "check-00.json").write_text("{}")
    (tree / CACHE_FOLDER).symlink_to("../out")


def link_to_nothing(tree):
    (tree / CACHE_FOLDER).symlink_to("../out/new")


def link_in_it(tree):
    (tree / CACHE_FOLDER).mkdir()
    (tree / CACHE_FOLDER / ".gitignore").symlink_to("../../out/x")


def folder_in_it(tree):
    (tree / CACHE_FOLDER).mkdir()
    (tree / CACHE_FOLDER / "gradcheck").symlink_to("../../out")


def entry_elsewhere(tree):
    (tree / CACHE_FOLDER).mkdir()
    (tree.parent / "out" / "precious").write_text("x")
    (tree / CACHE_FOLDER / "check-00.json").symlink_to("../../out/precious")


def foreign_file(tree):
    (tree / CACHE_FOLDER / "sub").mkdir(parents=True)
    (tree / CACHE_FOLDER / "sub" / "thesis.tex").write_text("years of work")


def pipe(tree):
    (tree / CACHE_FOLDER).mkdir()
    os.mkfifo(tree / CACHE_FOLDER / "check-00.json")


def no_folder(tree):
    (tree / CACHE_FOLDER).write_text("a file")


FOREIGN = [
    link,
    link_to_nothing,
    link_in_it,
    folder_in_it,
    entry_elsewhere,
    foreign_file,
    pipe,
    no_folder,
]


@pytest.mark.parametrize("make", FOREIGN)
def test_it_is_neither_written_nor_cleaned(tree, gradlint, make):
    make(tree)
    before = everything(tree.parent)
    for _ in range(2):
        ended = gradlint("check", "--output-format", "json")
        assert ended.exit_code == 1
        assert "GL101" in ended.stdout
    cleaned = gradlint("clean")
    assert cleaned.exit_code == 0
    assert f"left {tree / CACHE_FOLDER}: it " in cleaned.stderr
    assert "removed" not in cleaned.stderr
    assert everything(tree.parent) == before


@pytest.mark.parametrize("make", FOREIGN)
def test_what_runs_keep_nothing_there_either(tree, gradlint, make):
    make(tree)
    before = everything(tree.parent)
    (tree / "t.py").write_text("x = 1\n")
    ended = gradlint("record", "t.py")
    (tree / "t.py").unlink()
    assert ended.exit_code == 2
    assert "not used as a cache" in ended.stderr
    assert everything(tree.parent) == before


def test_ours_is_used_and_cleaned(tree, gradlint):
    gradlint("check")
    assert why_foreign(tree / CACHE_FOLDER) is None
    number = len(list((tree / CACHE_FOLDER).iterdir()))
    assert gradlint("clean").stderr == f"removed {tree / CACHE_FOLDER} ({number} files)\n"
    assert not (tree / CACHE_FOLDER).exists()


def test_a_folder_that_a_link_leads_to_gets_no_cache(tree, gradlint):
    (tree / ".git").mkdir()
    (tree.parent / "out" / "gradlint.toml").write_text("")
    (tree.parent / "out" / "b.py").write_text(WRONG)
    (tree / "sub").symlink_to("../out")
    gradlint("check", "sub")
    assert not (tree.parent / "out" / CACHE_FOLDER).exists()
