"""The entry to this package: one file of source text becomes one `ModuleIR`."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import libcst as cst

from gradcheck_tool.ir import definitions, exits, patterns, statements
from gradcheck_tool.ir.builder import FunctionBuilder
from gradcheck_tool.ir.errors import LoweringError
from gradcheck_tool.ir.liveness import mark_liveness
from gradcheck_tool.ir.nodes import Function, FunctionKind, ModuleIR
from gradcheck_tool.ir.scopes import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# These register how to lower what they are named after.
_PARTS = (definitions, exits, patterns, statements)

_DEEP_RECURSION = 20_000

_Result = TypeVar("_Result")


def lower_module(source: str, filename: str) -> ModuleIR:
    """Parse and lower one file.

    Raises:
        libcst.ParserSyntaxError: `source` is not valid Python.
        LoweringError: it is nested too deeply.
    """
    return lower_tree(cst.parse_module(source), filename)


def lower_tree(tree: cst.Module, filename: str) -> ModuleIR:
    """Lower a tree that is parsed already.

    Raises:
        LoweringError: it is nested too deeply.
    """
    return with_deep_recursion(lambda: _lower(tree, filename), filename)


def _lower(tree: cst.Module, filename: str) -> ModuleIR:
    body = Function("<module>", "<module>", FunctionKind.MODULE, tree)
    b = FunctionBuilder(body, None)
    definitions.lower_body(b, tree)
    b.finish()
    resolve(b.scope)
    functions = list(_inner(body))
    for function in (body, *functions):
        mark_liveness(function)
    return ModuleIR(filename, tree, body, functions)


def _inner(function: Function) -> Iterator[Function]:
    for inner in function.inner:
        yield inner
        yield from _inner(inner)


def with_deep_recursion(work: Callable[[], _Result], filename: str) -> _Result:
    """Run `work`, and once more with a higher recursion limit where the usual one does not do."""
    try:
        return work()
    except RecursionError:
        pass
    try:
        with _recursion_limit(_DEEP_RECURSION):
            return work()
    except RecursionError:
        raise LoweringError(f"{filename}: an expression or statement is nested too deeply") from None


@contextmanager
def _recursion_limit(limit: int) -> Iterator[None]:
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, limit))
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)
