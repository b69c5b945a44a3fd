"""The entry to this package: one file of source text becomes one `ModuleIR`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.ir import (
    convert_expressions,
    convert_statements,
    definitions,
    exits,
    patterns,
    statements,
)
from gradcheck_tool.ir.builder import FunctionBuilder
from gradcheck_tool.ir.conversion import Converter
from gradcheck_tool.ir.deferred import Bodies
from gradcheck_tool.ir.needed import needed
from gradcheck_tool.ir.nodes import Function, FunctionKind, ModuleIR
from gradcheck_tool.ir.recursion import with_deep_recursion
from gradcheck_tool.ir.scopes import resolve
from gradcheck_tool.ir.tree_spans import TreeSpans

if TYPE_CHECKING:
    from collections.abc import Collection

    import libcst as cst

    from gradcheck_tool.ir.outline import Outline
    from gradcheck_tool.ir.spans import Spans

# These register how to convert and to lower what they are named after.
_PARTS = (convert_expressions, convert_statements, definitions, exits, patterns, statements)


def lower_module(source: str, filename: str) -> ModuleIR:
    """Parse and lower one file.

    Raises:
        libcst.ParserSyntaxError: `source` is not valid Python, or newer than the parser knows.
        LoweringError: it is nested too deeply.
    """
    from gradcheck_tool.ir.parsing import parse

    tree = parse(source)
    return _lower_tree(tree, source, filename, TreeSpans(tree, source, filename))


def lower_outline(outline: Outline, filename: str, wanted: Collection[str] | None = None) -> ModuleIR:
    """Lower what a file does when it is imported, as Python's own parser has read it; bodies on demand.

    Args:
        outline: the file.
        filename: where it is.
        wanted: of the rest of the file only what these functions depend on is lowered, by qualified name.

    Returns:
        A light module.

    Raises:
        LoweringError: the file is nested too deeply. A body may raise it later.
    """
    converter = Converter(outline)
    bodies = Bodies(outline, converter, [])
    statements = outline.body if wanted is None else needed(outline, wanted)
    tree = with_deep_recursion(lambda: converter.module(statements), filename)
    body, functions = with_deep_recursion(lambda: _lower(tree, bodies), filename)
    bodies.lowered += functions
    body.captured = body.local_names  # bodies that are not known yet may read any of them
    return ModuleIR(filename, tree, body, bodies.lowered, outline.source, converter.spans)


def lower_light(outline: Outline, filename: str) -> ModuleIR:
    """Lower a whole file as Python's own parser has read it.

    Returns:
        A light module.

    Raises:
        LoweringError: the file is nested too deeply.
    """
    converter = Converter(outline, whole=True)
    tree = with_deep_recursion(lambda: converter.module(outline.body), filename)
    return _lower_tree(tree, outline.source, filename, converter.spans)


def _lower_tree(tree: cst.Module, source: str, filename: str, spans: Spans) -> ModuleIR:
    body, functions = with_deep_recursion(lambda: _lower(tree, None), filename)
    return ModuleIR(filename, tree, body, functions, source, spans)


def _lower(tree: cst.Module, bodies: Bodies | None) -> tuple[Function, list[Function]]:
    body = Function("<module>", "<module>", FunctionKind.MODULE, tree)
    b = FunctionBuilder(body, None)
    b.bodies = bodies
    definitions.lower_body(b, tree)
    b.finish()
    resolve(b.scope)
    return body, definitions.finished(body)[1:]
