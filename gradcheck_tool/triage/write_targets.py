"""What the in-place writes of a function may reach, judged by names alone."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from gradcheck_tool.triage.syntax import nodes_in, statements_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A write through these reaches no memory that autograd watches.
_HARMLESS = frozenset({"init", "data"})


# Methods and functions whose result may share its argument's memory, or hold it.
_ALIASING = (
    {
        "view",
        "reshape",
        "transpose",
        "t",
        "permute",
        "squeeze",
        "unsqueeze",
        "flatten",
        "unflatten",
        "view_as",
    }
    | {
        "reshape_as",
        "expand",
        "expand_as",
        "narrow",
        "select",
        "diagonal",
        "chunk",
        "split",
        "unbind",
        "hsplit",
    }
    | {"tensor_split", "vsplit", "dsplit", "split_with_sizes", "unfold", "swapaxes", "movedim", "contiguous"}
    | {"to", "float", "rearrange", "zip", "enumerate", "reversed", "list", "tuple", "iter", "next", "sorted"}
    | {"getattr", "items", "values", "get", "pop", "requires_grad_"}
)


def may_write_to(
    function: ast.AST, names: frozenset[str], functions: frozenset[str], *, by_calls: bool = True
) -> bool:
    """Does a function write in place to something that is, as far as is written here, made of these names?

    What a variable is made of are the names in all values it is bound to that may share memory with it.

    Args:
        function: a function's syntax tree.
        names: of attributes, methods and functions.
        functions: the functions of the file that write to what they are given.
        by_calls: whether it has calls of in-place operations or assignments in expressions. Without, there
            is less to look at.
    """
    made_of, targets = _assignments(nodes_in(function) if by_calls else statements_in(function), functions)
    return any(names & _history(target, made_of) for target in targets)


def _history(target: ast.expr, made_of: dict[str, set[str]]) -> set[str]:
    seen = set(_sources(target))
    if seen & _HARMLESS:
        return set()
    waiting = list(seen)
    while waiting:
        new = made_of.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return seen


def _assignments(
    nodes: Iterable[ast.AST], functions: frozenset[str]
) -> tuple[dict[str, set[str]], list[ast.expr]]:
    """What each variable is made of, and the expressions that are written to in place."""
    made_of: dict[str, set[str]] = defaultdict(set)
    written: list[ast.expr] = []
    for node in nodes:
        if isinstance(node, ast.Assign):
            written += [target.value for target in node.targets if isinstance(target, ast.Subscript)]
            for target in node.targets:
                _bind(made_of, target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            _bind(made_of, node.target, node.value)
        elif isinstance(node, ast.For | ast.comprehension):
            _bind(made_of, node.target, node.iter)
        elif isinstance(node, ast.AugAssign):
            written.append(node.target.value if isinstance(node.target, ast.Subscript) else node.target)
        elif isinstance(node, ast.Call):
            written += _written_by(node, functions)
        elif isinstance(node, ast.Attribute):
            written += _written_through(node)
    return made_of, written


def _bind(made_of: dict[str, set[str]], target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Name):
        made_of[target.id].update(_sources(value))
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            _bind(made_of, element, value)
    elif isinstance(target, ast.Starred):
        _bind(made_of, target.value, value)


def _written_by(call: ast.Call, functions: frozenset[str]) -> Iterator[ast.expr]:
    """The tensors that a call of an in-place operation, or of a function that writes, may write to."""
    func = call.func
    name = _last_name(func)
    if name in functions:
        yield from call.args
        yield from (keyword.value for keyword in call.keywords)
    if isinstance(func, ast.Attribute) and any(_written_through(func)):
        yield from call.args[:1]


def _written_through(method: ast.Attribute) -> Iterator[ast.expr]:
    """The owner of an in-place operation. It may be called later, by another name."""
    name = method.attr
    is_in_place = name.endswith("_") and not name.endswith("__") and name != "requires_grad_"
    if is_in_place and "init" not in _sources(method.value):
        yield method.value


def writes_to_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Does a function write in place to something that it is given?"""
    args = function.args
    names = frozenset(arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs))
    return may_write_to(function, names - {"self"}, frozenset())


def _sources(value: ast.AST) -> Iterator[str]:
    """Names of what may share memory with a value, and of the calls that return it."""
    if isinstance(value, ast.Name):
        yield value.id
    elif isinstance(value, ast.Attribute):
        yield value.attr
        if isinstance(value.value, ast.Attribute | ast.Name):
            yield _last_name(value.value)
    elif isinstance(value, ast.Call):
        name = _last_name(value.func)
        yield name
        if name in _ALIASING:
            for part in (*value.args, *([value.func.value] if isinstance(value.func, ast.Attribute) else ())):
                yield from _sources(part)
    elif isinstance(value, ast.Subscript | ast.Starred | ast.NamedExpr):
        yield from _sources(value.value)
    elif isinstance(value, ast.IfExp | ast.BoolOp | ast.Tuple | ast.List):
        for part in ast.iter_child_nodes(value):
            yield from _sources(part)


def _last_name(expression: ast.AST) -> str:
    return str(getattr(expression, "attr", getattr(expression, "id", "")))
