"""Patterns of files, compared with git itself."""

import os
import subprocess

import pytest

from gradcheck_tool.config import Overrides
from gradcheck_tool.configs import Configs
from gradcheck_tool.sources.discover import discover
from gradcheck_tool.sources.patterns import PatternError, Patterns

FILES = (
    "a.py",
    "b.py",
    "a/keep.py",
    "a/x.py",
    "a/b/a.py",
    "a/b/k.py",
    "a b/x y.py",
    "lib/x.py",
    "lib/sub/y.py",
    "lib/a/b/c/x.py",
    "build/#h.py",
    "build/!n.py",
    "build/[a].py",
)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def seen_by_git(root):
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return {name for name in listed.split("\0") if name.endswith(".py")}


def seen_here(root):
    overrides = Overrides(exclude=("nothing",))
    found = discover([root], Configs(root, overrides).for_folder).files
    return {path.relative_to(root).as_posix() for path in found}


@pytest.mark.parametrize(
    "lines",
    [
        "*\n!*/\n!*.py",
        "*\n!a/\n!a/**",
        "/*\n!/lib\n/lib/*\n!/lib/sub/",
        "a/**\n!a/keep.py",
        "a/**\n!a/b/\n!a/b/**",
        "a/*\n!a/keep.py",
        "a/\n!a/keep.py",
        "*.py\n!lib/\n!lib/x.py",
        "a/**/",
        "**/b/",
        "**/b\n!a/b/k.py",
        "lib/**/x.py",
        "**/**/x.py\n!/**/sub/**/y.py",
        "lib/a/**/**/x.py",
        "/**/k.py",
        "a*/b",
        "**a",
        "?.py",
        "[ab].py\n!b.py",
        "[!a].py",
        "[^a-z].py",
        "\\#h.py\n\\!n.py\n\\[a\\].py",
        "# a.py\n\n!\n/\n[\n\\\nb.py",
        "a.py \nx\\ y.py",
        "a b/",
        "/x.py\nsub",
        "lib/sub",
    ],
)
def test_decide_as_git_does(repository, lines):
    (repository / ".gitignore").write_text(f"{lines}\n")
    assert seen_here(repository) == seen_by_git(repository)


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("*.py", "!sub/"),
        ("*.py", "!/sub"),
        ("y.py", "!/**"),
        ("sub/", "!y.py"),
        ("!y.py", "*"),
        ("x.py", "!x.py\na/b/"),
    ],
)
def test_the_inner_of_two_files_decides_as_in_git(repository, outer, inner):
    (repository / ".gitignore").write_text(f"{outer}\n")
    (repository / "lib" / ".gitignore").write_text(f"{inner}\n")
    assert seen_here(repository) == seen_by_git(repository)


def test_what_lies_in_a_folder_that_is_left_out_is_covered():
    patterns = Patterns.of(["lib/", "!lib/a/", "*.pyi"])
    assert patterns.covers("lib/a/b.py", is_folder=False)
    assert patterns.covers("b.pyi", is_folder=False)
    assert not patterns.covers("a/lib.py", is_folder=False)
    assert patterns.decides("lib/a", is_folder=True) is False


@pytest.mark.parametrize("text", ["[z-a]", "[a", "a\\"])
def test_what_is_no_pattern_is_an_error(text):
    with pytest.raises(PatternError, match="is not a pattern"):
        Patterns.of([text])


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 30 + "*b", "a" * 250),
        ("[!b]*" * 30 + "b", "a" * 250),
        ("?*" * 30 + "b", "a" * 250),
        ("**/a/" * 30 + "b", "a/" * 1000 + "a"),
        ("**/*a*a*a*/" * 10 + "b", "aaaaaaaa/" * 200 + "aaa"),
    ],
)
def test_wildcards_do_not_try_all_ways_to_share_a_name_out(pattern, path):
    """Without end, one line of an ignore file hangs the check of the tree that it came with."""
    assert Patterns.of((pattern,)).decides(path, True) is None
    assert Patterns.of((pattern,)).decides(f"{path}/b" if "/" in path else f"{path}b", True) is True
