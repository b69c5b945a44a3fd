"""Every promise of SECURITY.md has a test, and the test is there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
TESTS = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


@pytest.mark.parametrize(("file", "name"), TESTS, ids=[name for _, name in TESTS])
def test_the_tests_that_prove_promises_are_there(file, name):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_promise_names_a_test():
    promises = re.findall(r"^- (.*?)(?=^- |^#|\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(promises) >= 15
    assert [promise for promise in promises if "`tests/" not in promise] == []


@pytest.mark.parametrize("command", ["gradcheck", "run", "record"])
def test_the_readme_names_the_commands_that_run_code(command):
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    (sentence,) = re.findall(r"[^.:]*run your code: do not use them on code that you do not trust\.", text)
    assert f"`gradlint {command}`" in sentence


@pytest.mark.parametrize("guide", ["ci.md", "pre-commit.md"])
def test_recipes_say_how_a_repository_with_packs_gives_its_consent(guide):
    assert "--trust" in (ROOT / "docs" / "guides" / guide).read_text(encoding="utf-8")
