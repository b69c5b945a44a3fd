"""What the rewritings of programs share: how they are listed, and how they change the nodes of a kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

Rewriting = Callable[[cst.Module], cst.Module]
# Every rewriting by its name: a function that makes another program of a program, which means the same.
REWRITINGS: dict[str, Rewriting] = {}
# Those in which findings may be at other statements than before.
MOVING: set[str] = set()

FUNCTION_SCOPES = (cst.FunctionDef, cst.Lambda)


def rewriting(change: Rewriting) -> Rewriting:
    """Enter a rewriting into the list."""
    REWRITINGS[change.__name__] = change
    return change


def moving(change: Rewriting) -> Rewriting:
    """The same for one after which a finding may be at another statement."""
    MOVING.add(change.__name__)
    return rewriting(change)


Change = Callable[[Any, Sequence[cst.CSTNode]], Any]


def with_imports(old: cst.Module, changed: cst.Module, *lines: str) -> cst.Module:
    """The changed program with imports; the old one where it is no other."""
    return old if old.code == changed.code else imported(changed, *lines)


class _Each(cst.CSTTransformer):
    def __init__(self, kinds: tuple[type[cst.CSTNode], ...], change: Change, skip: Callable[[Any], bool]):
        super().__init__()
        self._kinds, self._change, self._skip = kinds, change, skip
        self._around: list[cst.CSTNode] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        self._around.append(node)
        return not self._skip(node)

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        self._around.pop()
        if isinstance(original_node, self._kinds) and not self._skip(original_node):
            return self._change(updated_node, self._around)
        return updated_node


def each(
    tree: Any,
    kinds: type[cst.CSTNode] | tuple[type[cst.CSTNode], ...],
    change: Change,
    skip: Callable[[Any], bool] = lambda node: False,
) -> Any:
    """Change every node of some kinds, inner ones first; `change` gets the node and those around it.

    What is in nodes to `skip` stays as it is.
    """
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    return tree.visit(_Each(kinds, change, skip))


def text(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def expression(code: str) -> cst.BaseExpression:
    return cst.parse_expression(code)


def statements(code: str) -> list[Any]:
    return list(cst.parse_module(code).body)


def statement(code: str) -> Any:
    return statements(code)[0]


def call_of(name: str, args: Sequence[cst.Arg]) -> cst.Call:
    return cst.Call(expression(name), [arg.with_changes(comma=cst.MaybeSentinel.DEFAULT) for arg in args])


def sole(line: Any, kind: type[cst.CSTNode]) -> Any:
    """The only small statement of a line, if it is of this kind."""
    if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 and isinstance(line.body[0], kind):
        return line.body[0]
    return None


def assigned_name(line: Any) -> tuple[str, cst.BaseExpression] | None:
    """Name and value of a line that does nothing but assign to one variable."""
    assign = sole(line, cst.Assign)
    if assign is None or len(assign.targets) != 1 or not isinstance(assign.targets[0].target, cst.Name):
        return None
    return assign.targets[0].target.value, assign.value


def with_value(line: cst.SimpleStatementLine, value: cst.BaseExpression) -> cst.SimpleStatementLine:
    """A line of one small statement that has another value."""
    return line.with_changes(body=[line.body[0].with_changes(value=value)])


def before(lines: Sequence[Any], line: Any) -> cst.FlattenSentinel[Any]:
    """Lines and the one that they stand before."""
    return cst.FlattenSentinel([*lines, line])


def is_docstring(line: Any) -> bool:
    shown = sole(line, cst.Expr)
    return shown is not None and isinstance(shown.value, (cst.SimpleString, cst.ConcatenatedString))


def is_import(line: Any) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and all(
        isinstance(each, (cst.Import, cst.ImportFrom)) for each in line.body
    )


def parted(module: cst.Module) -> tuple[list[Any], list[Any]]:
    """The docstring and imports at the start of a program, and what follows."""
    body = list(module.body)
    count = next((i for i, line in enumerate(body) if not (is_docstring(line) or is_import(line))), len(body))
    return body[:count], body[count:]


def after_imports(module: cst.Module, lines: Sequence[Any]) -> cst.Module:
    """Put lines between the imports at the start and the rest."""
    first, rest = parted(module)
    return module.with_changes(body=[*first, *lines, *rest])


def imported(module: cst.Module, *lines: str) -> cst.Module:
    """Add imports, after `from __future__`."""
    if not lines:
        return module
    body = list(module.body)
    at = next(
        (i for i, line in enumerate(body) if not is_docstring(line) and not _is_future(line)), len(body)
    )
    added = [one for line in lines for one in statements(line)]
    return module.with_changes(body=[*body[:at], *added, *body[at:]])


def _is_future(line: Any) -> bool:
    found = sole(line, cst.ImportFrom)
    return found is not None and found.module is not None and text(found.module) == "__future__"


def has(module: cst.CSTNode, *kinds: type[cst.CSTNode]) -> bool:
    """Is a node of one of these kinds anywhere in it?"""
    return isinstance(module, kinds) or any(has(child, *kinds) for child in module.children)


def nodes(tree: cst.CSTNode, *kinds: type[Any]) -> list[Any]:
    """All nodes of these kinds, outer ones first."""
    found = [tree] if isinstance(tree, kinds) else []
    return found + [node for child in tree.children for node in nodes(child, *kinds)]


def in_class_body(around: Sequence[cst.CSTNode]) -> bool:
    """Is the innermost scope that of a class?"""
    for node in reversed(around):
        if isinstance(node, FUNCTION_SCOPES):
            return False
        if isinstance(node, cst.ClassDef):
            return True
    return False


def in_function(around: Sequence[cst.CSTNode]) -> bool:
    return any(isinstance(node, FUNCTION_SCOPES) for node in around)
