"""What the source of a function tells of its parameters, read from its syntax."""

from __future__ import annotations

import ast
import inspect
import re
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.gradcheck.parsed import parsed
from gradcheck_tool.harness.inputs.synthesised.written_shapes import written_shapes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_DEPTH = 2
"""Functions that call functions that call functions."""
_SHAPES = ("shape", "size")
_SPARSE = re.compile(r"(?:\w+\.)*(?:sparse_coo_tensor|sparse\.\w*Tensor)")
"""What makes a sparse matrix of indices, values and a shape."""
_TENSOR_METHODS = frozenset(
    name
    for line in (
        "shape size dim ndim numel t T mT view reshape permute transpose contiguous clone detach new",
        "new_empty new_ones new_zeros unsqueeze squeeze sum mean abs clamp exp log sqrt pow dtype device",
        "requires_grad bmm masked_fill sign round floor ge gt le lt item expand flatten gather scatter",
        "softmax sigmoid tanh type to float double half long data is_contiguous element_size data_ptr",
        "type_as is_complex is_cuda matmul mm max min",
    )
    for name in line.split()
)


@dataclass(slots=True)
class Usage:
    """How one parameter is used.

    Attributes:
        rank: number of axes, where the code takes its shape apart.
        least: number of axes that it must have at least.
        shape: its shape, where a docstring or a comment tells it.
        tensor: it has a tensor's methods called, or is saved for backward.
        called: it is called.
        iterated: it is unpacked, iterated or its length is taken.
        number: it is used as a whole number (`range(n)`).
        flag: it decides a branch by itself.
        none: it is compared with None.
        words: strings that it is compared with.
        attributes: what is read of it that no tensor has.
        items: what is read of the things in it.
        sparse: which argument of a sparse matrix it is: indices, values or shape.
    """

    rank: int | None = None
    least: int = 0
    shape: tuple[int, ...] | None = None
    tensor: bool = False
    called: bool = False
    iterated: bool = False
    number: bool = False
    flag: bool = False
    none: bool = False
    words: list[str] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    items: set[str] = field(default_factory=set)
    sparse: str | None = None


class Body:
    """The syntax of one function, and what its names come from."""

    def __init__(self, function: Any, context: str | None = None) -> None:
        """`context` is the name of `ctx`; without it the first parameter is, or the one after `cls`."""
        self.code = getattr(function, "__code__", None)
        self._written, self.first = parsed(function)
        self._context, self._bound = context, inspect.ismethod(function)

    @cached_property
    def tree(self) -> ast.FunctionDef | None:
        """The definition, with names where attributes of `ctx` that are set to them are read."""
        return self._written if self._written is None else self._read_as(self.kept)

    def _read_as(self, kept: Mapping[str, str]) -> ast.FunctionDef:
        assert self._written is not None
        if not kept:
            return self._written
        tree: ast.FunctionDef = _Read(self.context, kept).visit(deepcopy(self._written))
        return tree

    @cached_property
    def origins(self) -> dict[str, frozenset[str]]:
        """For every local name the parameters that its value was computed from."""
        if self.tree is None:
            return {}
        arguments = self.tree.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg]
        found = {item.arg: frozenset([item.arg]) for item in named if item is not None}
        for node in ast.walk(self.tree):
            for target, value in _given(node):
                sources = self._from(value, found)
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        found[name.id] = found.get(name.id, frozenset()) | sources
        return found

    def suspects(self, row: int) -> frozenset[str]:
        """The parameters that the statement at a row of the file works on."""
        if self.tree is None:
            return frozenset()
        best: ast.stmt | None = None
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt) and node is not self.tree:
                inside = node.lineno <= row - self.first + 1 <= (node.end_lineno or node.lineno)
                if inside and (best is None or node.lineno >= best.lineno):
                    best = node
        return frozenset() if best is None else self._from(best, self.origins)

    @cached_property
    def context(self) -> str | None:
        """The name of `ctx` in the methods of a Function."""
        written = self._written
        arguments = written.args.posonlyargs + written.args.args if written is not None else []
        return self._context or next((item.arg for item in arguments[self._bound :]), None)

    @cached_property
    def kept(self) -> dict[str, str]:
        """The attributes of `ctx` that are set to plain names, with these names."""
        found: dict[str, str] = {}
        for node in ast.walk(self._written) if self._written is not None else ():
            for name, value in _pairs(node):
                if not isinstance(name, ast.Attribute) or not isinstance(value, ast.Name):
                    continue
                if isinstance(name.value, ast.Name) and name.value.id == self.context:
                    found[name.attr] = value.id
        return found

    def usages(self, names: Sequence[str], kept: Mapping[str, str] | None = None) -> dict[str, Usage]:
        """How each of the parameters is used, also by way of an attribute of `ctx` that holds it.

        Args:
            names: of the parameters.
            kept: what attributes of `ctx` hold, where another function has set them.
        """
        found = {name: Usage() for name in names}
        if self.tree is not None:
            for node in ast.walk(self.tree if kept is None else self._read_as(kept)):
                for name, change in _facts(node):
                    if name in found:
                        _note(found[name], change)
        return found

    def returns(self) -> Iterator[list[ast.expr]]:
        """The items of every tuple that the function returns; one item where it returns no tuple."""
        for node in ast.walk(self.tree) if self.tree is not None else ():
            if isinstance(node, ast.Return) and node.value is not None:
                yield node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]

    @staticmethod
    def _from(node: ast.AST, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
        parts = (known.get(name.id, frozenset()) for name in ast.walk(node) if isinstance(name, ast.Name))
        return frozenset().union(*parts)


class _Read(ast.NodeTransformer):
    """Puts the names that attributes of `ctx` hold in the place of these attributes where they are read."""

    def __init__(self, context: str | None, kept: Mapping[str, str]) -> None:
        self._context, self._kept = context, kept

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`ctx.name`, read."""
        self.generic_visit(node)
        owner = node.value
        if isinstance(owner, ast.Name) and owner.id == self._context and isinstance(node.ctx, ast.Load):
            held = self._kept.get(node.attr)
            return node if held is None else ast.copy_location(ast.Name(held, ast.Load()), node)
        return node


def _pairs(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What one assignment sets to what: `a, b = c, d` sets two."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=False)
            else:
                yield target, node.value


def add_kept(usages: Mapping[str, Usage], forward: Body, other: Body) -> None:
    """Add how another method uses what forward has kept of its parameters in attributes of `ctx`."""
    for name, usage in other.usages(list(usages), forward.kept).items():
        _merge(usages[name], usage)


def with_context(owner: type, context: str | None) -> Iterator[Body]:
    """The methods of a Function that forward and backward hand `ctx` on to."""
    for name, value in vars(owner).items():
        method = getattr(value, "__func__", value)
        names = getattr(getattr(method, "__code__", None), "co_varnames", ())
        if name not in ("forward", "backward", "setup_context") and context in names[:2]:
            yield Body(method, context)


def usages_of(function: Any, names: Sequence[str], depth: int = _DEPTH) -> dict[str, Usage]:
    """How a function uses its parameters, itself and in the functions of Python that it hands them to."""
    body = Body(function)
    found = body.usages(names)
    for name, shape in written_shapes(function).items():
        if name in found:
            found[name].shape = shape
    for call in ast.walk(body.tree) if body.tree is not None and depth else ():
        callee = _callee(call.func, function) if isinstance(call, ast.Call) else None
        if callee is None or not isinstance(call, ast.Call):
            continue
        handed = {inner: outer for inner, outer in _handed(call, callee) if outer in found}
        for inner, usage in usages_of(callee, list(handed), depth - 1).items():
            _merge(found[handed[inner]], usage)
    return found


def _callee(called: ast.expr, function: Any) -> FunctionType | None:
    """The function that a name, or an attribute of a module, stands for where a function is defined."""
    known = getattr(inspect.unwrap(function), "__globals__", {})
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        owner = known.get(called.value.id)
        found = vars(owner).get(called.attr) if isinstance(owner, ModuleType) else None
    else:
        found = known.get(called.id) if isinstance(called, ast.Name) else None
    return found if isinstance(found, FunctionType) and not found.__module__.startswith("torch.") else None


def _handed(call: ast.Call, callee: FunctionType) -> Iterator[tuple[str, str]]:
    """The parameters of a function that a call gives plain names, with these."""
    code = callee.__code__
    for inner, argument in zip(code.co_varnames[: code.co_argcount], call.args, strict=False):
        if isinstance(argument, ast.Name):
            yield inner, argument.id
    for keyword in call.keywords:
        if keyword.arg is not None and isinstance(keyword.value, ast.Name):
            yield keyword.arg, keyword.value.id


def _merge(usage: Usage, more: Usage) -> None:
    """Add what is known from elsewhere; what is said at the first place counts."""
    usage.rank = more.rank if usage.rank is None else usage.rank
    usage.shape = more.shape if usage.shape is None else usage.shape
    usage.sparse = usage.sparse or more.sparse
    usage.least = max(usage.least, more.least)
    usage.words += [word for word in more.words if word not in usage.words]
    usage.attributes |= more.attributes
    usage.items |= more.items
    for name in ("tensor", "called", "iterated", "number", "flag", "none"):
        setattr(usage, name, getattr(usage, name) or getattr(more, name))


def _note(usage: Usage, change: Mapping[str, Any]) -> None:
    for key, value in change.items():
        if key == "least":
            usage.least = max(usage.least, value)
        elif key in ("attributes", "items"):
            setattr(usage, key, getattr(usage, key) | value)
        elif key == "words":
            usage.words += [word for word in value if word not in usage.words]
        else:
            setattr(usage, key, value)


def _facts(node: ast.AST) -> Iterator[tuple[str, dict[str, Any]]]:
    """Facts about names that one node shows by itself."""
    if isinstance(node, ast.Assign):
        yield from _of_assignment(node)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.attr in _TENSOR_METHODS:
            yield node.value.id, {"tensor": True}
        elif not hasattr(torch.Tensor, node.attr):
            yield node.value.id, {"attributes": {node.attr}}
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Subscript):
        yield from _of_subscript(node)
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield from _of_loop(node)
    elif isinstance(node, ast.Starred) and isinstance(node.value, ast.Name):
        yield node.value.id, {"iterated": True}
    elif isinstance(node, (ast.If, ast.IfExp)):
        for part in (node.test, getattr(node.test, "operand", None), *getattr(node.test, "values", ())):
            if isinstance(part, ast.Name):
                yield part.id, {"flag": True}
    elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
        yield from _of_comparison(node, node.left.id)


def _of_loop(node: ast.For | ast.comprehension) -> Iterator[tuple[str, dict[str, Any]]]:
    """`for block in blocks[::-1]`, `for block, given in zip(blocks, all_given)`."""
    for target, source in _rounds(node):
        whole = _whole(source)
        if whole is None:
            continue
        read = [
            part.attr
            for part in ast.walk(node)
            if isinstance(part, ast.Attribute) and ast.unparse(part.value) == ast.unparse(target)
        ]
        yield whole, {"iterated": True, "items": {name for name in read if not hasattr(torch.Tensor, name)}}


def _given(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """What one statement gives names to, with where that comes from."""
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    return _rounds(node) if isinstance(node, ast.For) else []


def _rounds(node: ast.For | ast.comprehension) -> list[tuple[ast.expr, ast.expr]]:
    """The names that each round of a loop gives something, with what it goes through."""
    how = ast.unparse(node.iter.func) if isinstance(node.iter, ast.Call) else None
    if not isinstance(node.iter, ast.Call) or how not in ("zip", "enumerate"):
        return [(node.target, node.iter)]
    if not isinstance(node.target, ast.Tuple):
        return []
    names = node.target.elts if how == "zip" else node.target.elts[1:]
    return list(zip(names, node.iter.args, strict=False))


def _whole(source: ast.expr) -> str | None:
    """`blocks` for itself, for a part of it and for it in reverse."""
    if isinstance(source, ast.Subscript) and isinstance(source.slice, ast.Slice):
        source = source.value
    if isinstance(source, ast.Call) and ast.unparse(source.func) == "reversed" and source.args:
        source = source.args[0]
    return source.id if isinstance(source, ast.Name) else None


def _of_assignment(node: ast.Assign) -> Iterator[tuple[str, dict[str, Any]]]:
    """`n, c, h, w = x.shape` and `a, b = pair`."""
    target, value = node.targets[0], node.value
    if not isinstance(target, (ast.Tuple, ast.List)) or any(isinstance(e, ast.Starred) for e in target.elts):
        return
    owner = _shape_owner(value)
    if owner is not None:
        yield owner, {"rank": len(target.elts), "tensor": True}
    elif isinstance(value, ast.Name):
        yield value.id, {"iterated": True}


def _of_call(node: ast.Call) -> Iterator[tuple[str, dict[str, Any]]]:
    function, arguments = node.func, node.args
    if isinstance(function, ast.Name):
        yield function.id, {"called": True}
        if function.id == "len" and arguments and isinstance(arguments[0], ast.Name):
            yield arguments[0].id, {"iterated": True}
        if function.id == "range":
            yield from ((item.id, {"number": True}) for item in arguments if isinstance(item, ast.Name))
    if not isinstance(function, ast.Attribute):
        return
    if _SPARSE.fullmatch(ast.unparse(function)):
        pairs = zip(("indices", "values", "shape"), arguments, strict=False)
        yield from ((item.id, {"sparse": part}) for part, item in pairs if isinstance(item, ast.Name))
    if function.attr == "save_for_backward":
        yield from ((item.id, {"tensor": True}) for item in arguments if isinstance(item, ast.Name))
    owner = function.value.id if isinstance(function.value, ast.Name) else None
    if owner is None:
        return
    if function.attr == "size" and arguments:
        yield owner, {"least": _axes(arguments[0])}
    if function.attr == "permute" and len(arguments) > 1:
        yield owner, {"rank": len(arguments)}
    if function.attr in ("t", "mm"):
        yield owner, {"rank": 2}
    if function.attr == "item" and not arguments:
        yield owner, {"rank": 0}


def _of_subscript(node: ast.Subscript) -> Iterator[tuple[str, dict[str, Any]]]:
    """`x.shape[3]` and `x[:, :, 1:]`."""
    owner = _shape_owner(node.value)
    if owner is not None:
        yield owner, {"least": _axes(node.slice), "tensor": True}
    elif isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Tuple):
        items = [e for e in node.slice.elts if not (isinstance(e, ast.Constant) and e.value in (None, ...))]
        yield node.value.id, {"least": len(items)}


def _of_comparison(node: ast.Compare, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for other in node.comparators:
        items = other.elts if isinstance(other, (ast.Tuple, ast.List, ast.Set)) else [other]
        constants = [item.value for item in items if isinstance(item, ast.Constant)]
        words = [value for value in constants if isinstance(value, str)]
        if words:
            yield name, {"words": words}
        if None in constants:
            yield name, {"none": True}


def _shape_owner(node: ast.expr) -> str | None:
    """`x` for `x.shape` and `x.size()`."""
    if isinstance(node, ast.Call) and not node.args:
        node = node.func
    if isinstance(node, ast.Attribute) and node.attr in _SHAPES and isinstance(node.value, ast.Name):
        return node.value.id
    return None


def _axes(node: ast.expr) -> int:
    """How many axes there are at least where this one is asked for."""
    try:
        axis = ast.literal_eval(node)
    except ValueError:
        return 0
    if not isinstance(axis, int):
        return 0
    return axis + 1 if axis >= 0 else -axis
