"""The calls to watch: PyTorch's own operator samples, and patterns written down in `patterns.py`."""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F

from .facts import Fact, fact
from .probe import Call, tensors_in
from .signatures import OPERATORS, Signature, resolve, signature

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LARGEST = 20_000
PER_FACTS = 2
PER_OP = 60


def calls_of_database(only: set[str] | None) -> Iterator[tuple[str, list[Call]]]:
    """Calls by qualified name from torch.testing's operator database (needs expecttest)."""
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        names = [name for name in names_of(info) if only is None or name in only]
        if not names:
            continue
        for dtype in (torch.float32, torch.float64, torch.int64):
            if info.supports_dtype(dtype, "cpu"):
                samples = list(info.sample_inputs("cpu", dtype))
                break
        else:
            continue
        for name in names:
            yield name, [c for s in samples if (c := bound(name, (s.input, *s.args), s.kwargs)) is not None]


def names_of(info: Any) -> list[str]:
    """Every public spelling of an operator of the database."""
    names = [f"torch.{info.name}", *(f"torch.{alias.name}" for alias in info.aliases)]
    for owner in (info, *info.aliases):
        for function in (owner.method_variant, owner.inplace_variant):
            if hasattr(function, "__name__"):
                names.append(f"torch.Tensor.{function.__name__}")
    return [name for name in dict.fromkeys(names) if _exists(name)]


def _exists(name: str) -> bool:
    try:
        return callable(resolve(name)) and not any(part.startswith("_") and not part.startswith("__") for part in name.split("."))
    except AttributeError:
        return False


def bound(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
    """The call with its arguments named; None where the signature is not known or does not fit."""
    declared = signature(name)
    if declared is None:
        return None
    try:
        arguments = declared.bind(args, kwargs)
    except TypeError:
        return None
    if not _usable(arguments):
        return None
    return Call(name, functools.partial(_invoke, _target(name), declared), arguments)


def _set_item(tensor: Any, index: Any, value: Any) -> Any:
    tensor[index] = value
    return tensor


def _target(name: str) -> Any:
    if name == "torch.Tensor.__setitem__":
        return _set_item
    return OPERATORS[name.removeprefix("operator.")] if name.startswith("operator.") else resolve(name)


def _invoke(target: Any, declared: Signature, arguments: Mapping[str, Any]) -> Any:
    positional: list[Any] = []
    keyword: dict[str, Any] = {}
    gap = False
    for name in declared.positional:
        if name not in arguments:
            gap = True
        elif name == declared.rest and not gap:
            value = arguments[name]
            positional += value if isinstance(value, list) else [value]
        elif gap:
            keyword[name] = arguments[name]
        else:
            positional.append(arguments[name])
    keyword |= {name: arguments[name] for name in declared.keyword if name in arguments}
    return target(*positional, **keyword)


def _usable(arguments: Mapping[str, Any]) -> bool:
    tensors = list(tensors_in(list(arguments.values())))
    return all(t.layout is torch.strided and 0 < t.numel() <= LARGEST and not t.is_complex() for t in tensors)


def facts_of(call: Call) -> dict[str, Fact]:
    """Facts of all parameters, with the defaults of those that the call leaves out."""
    declared = signature(call.name)
    assert declared is not None
    filled = {**{n: v for n, v in declared.defaults.items() if n in declared.names}, **call.arguments}
    return {name: fact(filled[name], name) for name in declared.names if name in filled}


def thinned(calls: list[Call]) -> list[Call]:
    """At most a few calls with the same facts."""
    kept: list[Call] = []
    count: dict[str, int] = {}
    for call in calls:
        key = repr(sorted((n, f.kind, f.constant if isinstance(f.constant, (bool, str)) else "") for n, f in facts_of(call).items()))
        count[key] = count.get(key, 0) + 1
        if count[key] <= PER_FACTS:
            kept.append(call)
    return kept[:PER_OP]


BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "~"}


class _Subscript:
    def __getitem__(self, index: Any) -> Any:
        return index


def calls_of_source(source: str, variables: Mapping[str, Any]) -> Call | None:
    """The call that one line of Python makes at its outermost level, with its operands evaluated."""
    scope = {"torch": torch, "F": F, "Tensor": torch.Tensor, **variables}
    name, args, kwargs = _outermost(ast.parse(source).body[0], scope)
    call = bound(name, args, kwargs)
    return None if call is None else Call(call.name, call.invoke, call.arguments, source)


def _outermost(statement: ast.stmt, scope: dict[str, Any]) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    def value(node: ast.expr) -> Any:
        return eval(ast.unparse(node), scope)

    if isinstance(statement, ast.AugAssign):
        return f"operator.{BINARY[type(statement.op)]}=", (value(statement.target), value(statement.value)), {}
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        target = statement.targets[0]
        return "torch.Tensor.__setitem__", (value(target.value), _index(target, scope), value(statement.value)), {}
    assert isinstance(statement, ast.Expr)
    node = statement.value
    if isinstance(node, ast.BinOp):
        return f"operator.{BINARY[type(node.op)]}", (value(node.left), value(node.right)), {}
    if isinstance(node, ast.Compare):
        return f"operator.{BINARY[type(node.ops[0])]}", (value(node.left), value(node.comparators[0])), {}
    if isinstance(node, ast.UnaryOp):
        return f"operator.{UNARY[type(node.op)]}", (value(node.operand),), {}
    if isinstance(node, ast.Subscript):
        return "torch.Tensor.__getitem__", (value(node.value), _index(node, scope)), {}
    assert isinstance(node, ast.Call), ast.dump(node)
    return _call(node, value)


def _index(node: ast.Subscript, scope: dict[str, Any]) -> Any:
    same = ast.Subscript(ast.Name("_subscript", ast.Load()), node.slice, ast.Load())
    return eval(ast.unparse(same), {**scope, "_subscript": _Subscript()})


def _call(node: ast.Call, value: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    args = tuple(value(argument) for argument in node.args)
    kwargs = {str(keyword.arg): value(keyword.value) for keyword in node.keywords}
    dotted = ast.unparse(node.func)
    if dotted.split(".")[0] in {"torch", "F"}:
        return ("torch.nn.functional." + dotted[2:] if dotted.startswith("F.") else dotted), args, kwargs
    assert isinstance(node.func, ast.Attribute)
    return f"torch.Tensor.{node.func.attr}", (value(node.func.value), *args), kwargs


