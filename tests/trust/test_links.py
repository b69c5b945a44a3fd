"""Nothing is written through a link that leads out of the tree."""

import json
import os

import pytest

from gradcheck_tool.trust.links import leads_out, repositories_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links need privileges")

WRONG = "import torch\nx = torch.ones(1, requires_grad=True)\nx.exp().sum().backward(retain_variables=True)\n"


@pytest.fixture(autouse=True)
def forget():
    repositories_of.cache_clear()


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """An empty tree to run in; beside it, a folder that is none of its business."""
    (tmp_path / "out").mkdir()
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    return tmp_path / "in"


@pytest.fixture
def gradlint():
    from typer.testing import CliRunner

    from gradcheck_tool.cli.app import app

    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("where", [["."], ["link.py"], ["sub"], ["sub/other.py"], []])
@pytest.mark.parametrize("options", [["--fix"], ["--fix", "--unsafe-fixes"], ["--add-noqa"], ["--diff"]])
def test_files_out_of_the_tree_are_not_changed(tree, gradlint, where, options):
    for name in ("o.py", "sub/other.py"):
        path = tree.parent / "out" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(WRONG)
    (tree / "link.py").symlink_to("../out/o.py")
    (tree / "sub").symlink_to("../out/sub")
    ended = gradlint("check", "--no-cache", *options, *where)
    assert (tree.parent / "out" / "o.py").read_text() == WRONG
    assert (tree.parent / "out" / "sub" / "other.py").read_text() == WRONG
    if where in ([], ["."], ["link.py"]):  # links to folders are not followed unless they are named
        assert f"link.py: not changed: a link leads out of {tree}, to" in ended.stderr
    assert "Fixed" not in ended.stderr


def test_a_link_within_the_tree_is_followed(tree, gradlint):
    (tree / "lib").mkdir()
    (tree / "lib" / "real.py").write_text(WRONG)
    (tree / "link.py").symlink_to("lib/real.py")
    gradlint("check", "--no-cache", "--fix", ".")
    assert "retain_graph=True" in (tree / "lib" / "real.py").read_text()
    assert (tree / "link.py").is_symlink()


def test_a_repository_is_the_tree_of_its_folders(tree, gradlint):
    (tree / ".git").mkdir()
    (tree / "lib").mkdir()
    (tree / "lib" / "real.py").write_text(WRONG)
    (tree / "src").mkdir()
    (tree / "src" / "link.py").symlink_to("../lib/real.py")
    (tree / "src" / "out.py").symlink_to("../../out/o.py")
    (tree.parent / "out" / "o.py").write_text(WRONG)
    gradlint("check", "--no-cache", "--fix", "src")
    assert "retain_graph=True" in (tree / "lib" / "real.py").read_text()
    assert (tree.parent / "out" / "o.py").read_text() == WRONG


def test_a_tree_that_is_itself_reached_by_a_link(tree, gradlint, monkeypatch):
    (tree / "a.py").write_text(WRONG)
    (tree.parent / "door").symlink_to("in")
    monkeypatch.chdir(tree.parent)
    assert leads_out(tree.parent / "door" / "a.py", tree.parent / "door") is None
    gradlint("check", "--no-cache", "--fix", "door")
    assert "retain_graph=True" in (tree / "a.py").read_text()


@pytest.mark.parametrize(
    "options",
    [
        ["--output-format", "sarif=report"],
        ["--output-file", "report"],
        ["--write-baseline", "report"],
        ["--write-baseline", "folder/report"],
        ["--output-file", "folder/deeper/report"],
    ],
)
@pytest.mark.parametrize("there", [True, False])
def test_reports_and_baselines(tree, gradlint, options, there):
    (tree / "a.py").write_text(WRONG)
    if there:
        (tree.parent / "out" / "x").write_text("precious")
    (tree / "report").symlink_to("../out/x")
    (tree / "folder").symlink_to("../out")
    ended = gradlint("check", "--no-cache", *options)
    assert ended.exit_code == 2
    assert "a link leads out of" in ended.stderr
    left = {path.name for path in (tree.parent / "out").iterdir()}
    assert left == ({"x"} if there else set())
    assert not there or (tree.parent / "out" / "x").read_text() == "precious"


def test_a_report_goes_where_the_user_says_outside_of_the_tree(tree, gradlint):
    (tree / "a.py").write_text(WRONG)
    assert gradlint("check", "--no-cache", "--output-format", "json=../out/r.json").exit_code == 1
    assert json.loads((tree.parent / "out" / "r.json").read_text())


def test_what_a_run_showed(tree, gradlint):
    (tree / "save.json").symlink_to("../out/x")
    (tree / "t.py").write_text("x = 1\n")
    ended = gradlint("run", "--save", "save.json", "t.py")
    assert ended.exit_code == 2
    assert not (tree.parent / "out" / "x").exists()


def test_a_repository_behind_a_link_is_none_of_the_tree(tree, gradlint):
    (tree.parent / "out" / ".git").mkdir()
    (tree.parent / "out" / "gradlint.toml").write_text("")
    (tree.parent / "out" / "o.py").write_text(WRONG)
    (tree / "sub").symlink_to("../out")
    assert "not changed" in gradlint("check", "--no-cache", "--fix", "sub").stderr
    assert (tree.parent / "out" / "o.py").read_text() == WRONG
