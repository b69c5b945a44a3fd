"""The entry to this package: one file of source text becomes one `ModuleIR`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gradcheck_tool.ir import definitions, exits, patterns, statements
from gradcheck_tool.ir.builder import FunctionBuilder
from gradcheck_tool.ir.liveness import mark_liveness
from gradcheck_tool.ir.nodes import Function, FunctionKind, ModuleIR
from gradcheck_tool.ir.recursion import with_deep_recursion
from gradcheck_tool.ir.scopes import resolve
from gradcheck_tool.ir.simplify import simplify

if TYPE_CHECKING:
    from collections.abc import Iterator

# These register how to lower what they are named after.
_PARTS = (definitions, exits, patterns, statements)


def lower_module(source: str, filename: str) -> ModuleIR:
    """Parse and lower one file.

    Raises:
        libcst.ParserSyntaxError: `source` is not valid Python, or newer than the parser knows.
        LoweringError: it is nested too deeply.
    """
    return lower_tree(_parse(source), source, filename)


def _parse(source: str) -> cst.Module:
    try:
        return cst.parse_module(source)
    except (cst.CSTLogicError, cst.CSTValidationError) as error:
        # The parser accepts some new syntax (concatenated template strings) that its nodes refuse.
        lines = source.splitlines(keepends=True)
        raise cst.ParserSyntaxError(
            f"the parser does not support this file: {error}", lines=lines, raw_line=1, raw_column=0
        ) from error


def lower_tree(tree: cst.Module, source: str, filename: str) -> ModuleIR:
    """Lower `source`, parsed already as `tree`.

    Raises:
        LoweringError: it is nested too deeply.
    """
    body, functions = with_deep_recursion(lambda: _lower(tree), filename)
    return ModuleIR(filename, tree, body, functions, source)


def _lower(tree: cst.Module) -> tuple[Function, list[Function]]:
    body = Function("<module>", "<module>", FunctionKind.MODULE, tree)
    b = FunctionBuilder(body, None)
    definitions.lower_body(b, tree)
    b.finish()
    resolve(b.scope)
    functions = list(_inner(body))
    for function in (body, *functions):
        simplify(function)
        mark_liveness(function)
    return body, functions


def _inner(function: Function) -> Iterator[Function]:
    for inner in function.inner:
        yield inner
        yield from _inner(inner)
