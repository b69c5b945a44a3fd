"""The top-level code of a file that functions in it depend on.

Tables of settings, and functions that a decorator registers, are made one after the other when a file is
imported; in a collection of models they are most of what its top-level code executes. Those that nothing
names are left out where only some functions of a file are looked at.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from gradcheck_tool.ir.outline import Outline

_WORD = re.compile(r"[^\W\d]\w*")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def needed(outline: Outline, wanted: Collection[str]) -> list[ast.stmt]:
    """The statements of a file without the assignments and decorated functions that nothing depends on.

    Args:
        outline: the file.
        wanted: qualified names of the functions that are looked at.
    """
    outermost = {name.partition(".")[0] for name in wanted}
    words: set[str] = set(outermost)
    # What counts only where it is named, by the names.
    waiting: dict[ast.stmt, set[str]] = {}
    for statement in outline.body:
        names = _bound(statement)
        if names and names.isdisjoint(outermost):
            waiting[statement] = names
            words.update(_WORD.findall(_head(outline, statement)))
        else:
            words |= _names(outline, statement)
    grew = True
    while grew:
        found = [statement for statement, names in waiting.items() if not names.isdisjoint(words)]
        for statement in found:
            del waiting[statement]
            words |= _names(outline, statement)
        grew = bool(found)
    return [each for each in outline.body if each not in waiting or not _is_optional(outline, each)]


def _bound(statement: ast.stmt) -> set[str]:
    """The names of a function, or of an assignment to nothing else."""
    if isinstance(statement, _FUNCTIONS):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return set(names) if len(names) == len(targets) else set()


def _is_optional(outline: Outline, statement: ast.stmt) -> bool:
    """Does a function or assignment take some execution to make?"""
    if isinstance(statement, _FUNCTIONS):
        return bool(statement.decorator_list)
    return "(" in _text(outline, statement)


def _head(outline: Outline, statement: ast.stmt) -> str:
    """What is executed where a function that is left as it is, is defined: its defaults and annotations."""
    if not isinstance(statement, _FUNCTIONS) or statement.decorator_list:
        return ""
    return "\n".join(outline.lines[statement.lineno - 1 : statement.body[0].lineno])


def _text(outline: Outline, statement: ast.stmt) -> str:
    decorators = getattr(statement, "decorator_list", ())
    first = min((each.lineno for each in decorators), default=statement.lineno)
    return "\n".join(outline.lines[first - 1 : statement.end_lineno])


def _names(outline: Outline, statement: ast.stmt) -> set[str]:
    """The names in a statement; of functions and classes, which are long, the words in their text."""
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        return set(_WORD.findall(_text(outline, statement)))
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
