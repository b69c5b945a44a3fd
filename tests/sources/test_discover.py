"""Which files are checked."""

import os
from pathlib import Path

import pytest

from gradcheck_tool.config import ConfigError, Overrides
from gradcheck_tool.configs import Configs
from gradcheck_tool.sources.discover import discover, matches_pattern


@pytest.fixture
def tree(tmp_path):
    def make(*names, **contents):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(contents.get(name, ""))
        return tmp_path

    return make


def found(root, *paths, **options):
    configs = Configs(root, Overrides(**options.pop("overrides", {})))
    result = discover([root / path for path in paths or (".",)], configs.for_folder, **options)
    return [os.path.relpath(path, root) for path in result.files]


def test_python_stubs_and_notebooks_in_order_of_name(tree):
    root = tree("b.py", "a/z.py", "a/b.pyi", "n.ipynb", "readme.md", "a/data.txt")
    assert found(root) == ["a/b.pyi", "a/z.py", "b.py", "n.ipynb"]


def test_environments_are_left_out_unless_named(tree):
    root = tree(".venv/lib/site-packages/torch/a.py", "node_modules/x.py", "a.py")
    assert found(root) == ["a.py"]
    assert found(root, ".venv/lib/site-packages") == [".venv/lib/site-packages/torch/a.py"]


def test_environments_are_left_out_of_folders_elsewhere_too(tree):
    root = tree("here/a.py", "there/site-packages/b.py", "there/c.py")
    configs = Configs(root / "here", Overrides())
    assert discover([root / "there"], configs.for_folder).files == [root / "there/c.py"]


def test_gitignore_is_heeded_at_every_level_and_the_inner_one_wins(tree):
    root = tree(
        ".git/HEAD", "gen/a.py", "gen/keep.py", "sub/local.py", "sub/deep/local.py", "x_pb2.py", "ok.py"
    )
    (root / ".gitignore").write_text("*_pb2.py\ngen/*\n!gen/keep.py\n")
    (root / "sub" / ".gitignore").write_text("local.py\n")
    (root / "sub" / "deep" / ".gitignore").write_text("!local.py\n")
    assert found(root) == ["gen/keep.py", "ok.py", "sub/deep/local.py"]
    assert found(root, respect_gitignore=False) == [
        "gen/a.py", "gen/keep.py", "ok.py", "sub/deep/local.py", "sub/local.py", "x_pb2.py",
    ]  # fmt: skip


def test_gitignore_above_the_named_folder_counts_up_to_the_repositorys_root(tree):
    root = tree("repo/.git/HEAD", "repo/pkg/gen/a.py", "repo/pkg/b.py")
    (root / ".gitignore").write_text("*.py\n")
    (root / "repo" / ".gitignore").write_text("gen/\n")
    assert found(root, "repo/pkg") == ["repo/pkg/b.py"]
    assert found(root, "repo/pkg/gen") == ["repo/pkg/gen/a.py"]


def test_info_exclude_counts(tree):
    root = tree(".git/info/exclude", "scratch.py", "a.py", **{".git/info/exclude": "scratch.py\n"})
    assert found(root) == ["a.py"]


def test_named_files_are_checked_whatever_excludes_them(tree):
    root = tree("dist/gen.py", "script")
    assert found(root, "dist/gen.py", "script") == ["dist/gen.py", "script"]
    assert found(root, "dist/gen.py", "script", force_exclude=True) == ["script"]


def test_exclude_replaces_and_extend_exclude_adds(tree):
    root = tree("old/a.py", "dist/b.py", "c.py")
    assert found(root, overrides={"extend_exclude": ("old/",)}) == ["c.py"]
    assert found(root, overrides={"exclude": ("/old",)}) == ["c.py", "dist/b.py"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("./a.py", ["b/a.py", "b/c.py"]),
        ("{root}/b/c.py", ["a.py", "b/a.py"]),
        ("{{a,c}}.py", []),
        ("b/{{a,c}}.py", ["a.py"]),
        ("{{{{a.b}}}}", ["a.py", "b/a.py", "b/c.py"]),
        ("/elsewhere/a.py", ["a.py", "b/a.py", "b/c.py"]),
    ],
)
def test_patterns_may_be_written_as_paths_and_with_alternatives(tree, pattern, left):
    root = tree("a.py", "b/a.py", "b/c.py")
    assert found(root, overrides={"extend_exclude": (pattern.format(root=root),)}) == left


@pytest.mark.parametrize("pattern", ["tests/", "./tests/a.py", "tests/{a,b}.py", "!src/**"])
def test_patterns_of_files_match(tmp_path, pattern):
    assert matches_pattern(pattern, tmp_path, tmp_path / "tests" / "a.py")
    assert not matches_pattern(pattern, tmp_path, tmp_path / "src" / "tests.py")


def test_configuration_nearer_to_the_files_decides_there(tree):
    root = tree("a/skip.py", "b/skip.py")
    (root / "b" / "gradlint.toml").write_text('extend-exclude = ["skip.py"]\n')
    assert found(root) == ["a/skip.py"]


def test_each_file_once(tree):
    root = tree("a/b.py")
    assert found(root, "a", ".", "a/b.py") == ["a/b.py"]


def test_missing_paths_are_reported(tmp_path):
    configs = Configs(tmp_path, Overrides())
    assert discover([tmp_path / "no"], configs.for_folder).missing == [tmp_path / "no"]


def test_links_to_folders_are_not_followed(tree):
    root = tree("a/b.py")
    (root / "a" / "loop").symlink_to(root, target_is_directory=True)
    assert found(root) == ["a/b.py"]


def test_folder_that_looks_like_a_file_is_walked(tree):
    root = tree("pkg.py/inner.py")
    assert found(root) == ["pkg.py/inner.py"]
    assert Path(root, "pkg.py").is_dir()


def test_links_to_files_are_followed_and_those_that_lead_nowhere_are_passed_over(tree):
    root = tree("a.py", "folder/b.py")
    (root / "link.py").symlink_to("a.py")
    (root / "linked").symlink_to("folder")
    (root / "gone.py").symlink_to("nowhere.py")
    (root / "one.py").symlink_to("two.py")
    (root / "two.py").symlink_to("one.py")
    assert found(root) == ["a.py", "folder/b.py", "link.py"]


def test_lines_of_ignore_files_that_are_no_patterns_are_passed_over_as_git_does(tree):
    root = tree(".git/HEAD", "a.py", "gen.py")
    (root / ".gitignore").write_text("!\n[z-a]\ngen.py\n\\\n")
    assert found(root) == ["a.py"]


def test_a_wrong_pattern_of_the_configuration_is_named(tree):
    with pytest.raises(ConfigError, match=r"exclude: '\[z-a\]' is not a pattern"):
        found(tree("a.py"), overrides={"extend_exclude": ("[z-a]",)})


def test_a_folder_that_may_not_be_entered_does_not_end_the_walk(tree, monkeypatch):
    root = tree("closed/b.py", "open/a.py")
    stat = os.stat

    def forbidden(path, *rest, **options):
        if str(path).startswith(f"{root / 'closed'}{os.sep}"):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *rest, **options)

    monkeypatch.setattr(os, "stat", forbidden)
    assert "open/a.py" in found(root, "closed", "open")
