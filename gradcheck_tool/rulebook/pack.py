"""Loading rule packs: folders of Python files, each of which defines rules."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from gradcheck_tool.importing import run_file, run_source
from gradcheck_tool.rulebook.builtin import builtin_pack
from gradcheck_tool.rulebook.rule import Rule
from gradcheck_tool.rulebook.validation import check_rule

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

_numbers = itertools.count()


class RulePackError(Exception):
    """A rule pack cannot be loaded, or a rule of it failed. The text names the file."""


def load_pack(folder: Path) -> list[type[Rule]]:
    """All rule classes that the `*.py` files under `folder` define, in order of code.

    Raises:
        RulePackError: the folder is missing or holds no rule, a file cannot be executed, or a rule
            in it is malformed.
    """
    if not folder.is_dir():
        raise RulePackError(f"rule pack {folder}: no such folder")
    rules = [
        rule for path in sorted(folder.rglob("*.py")) for rule in _rules_of(_execute(path, folder), path)
    ]
    if not rules:
        raise RulePackError(f"rule pack {folder}: no rules in it")
    return sorted(rules, key=lambda rule: rule.code)


def _execute(path: Path, folder: Path) -> ModuleType:
    """Run one file under a module name that nothing else has, so that packs cannot collide."""
    name = f"_gradlint_pack_{next(_numbers)}_{path.stem}"
    try:
        return run_file(path, name) if folder == builtin_pack() else run_source(path, name, folder)
    except Exception as error:
        raise RulePackError(f"{path}: {type(error).__name__}: {error}") from error


def _rules_of(module: ModuleType, path: Path) -> list[type[Rule]]:
    """Rule classes that this file defines itself; imported ones and bases without a code are not."""
    found = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, Rule) and item.__module__ == module.__name__
    ]
    rules = [rule for rule in found if "code" in vars(rule)]
    try:
        for rule in rules:
            check_rule(rule)
    except ValueError as error:
        raise RulePackError(f"{path}: {error}") from error
    return rules
