"""What the values in a function come from, judged by names alone."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from gradcheck_tool.triage.syntax import nodes_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What these give is no tensor, or one that back-propagation does not reach.
_CUTS = frozenset(
    {"detach", "item", "tolist", "data", "shape", "size", "dim", "ndim", "numel", "len", "dtype", "device"}
)
_ADDERS = frozenset({"append", "extend", "insert", "add"})
_COPIES = frozenset({"detach", "clone", "to", "cpu", "cuda", "float", "double", "half", "contiguous"})
_BINDING = (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)
_LOOPS = (ast.For, ast.AsyncFor, ast.comprehension)
_TELLING = frozenset({ast.Assign, *_BINDING, *_LOOPS, ast.Call, ast.Expr})
LAYER = "nn."
# What functions and classes are called that give anything but a tensor.
_NO_TENSOR = ("from_", "load", "get", "build", "create", "make", "cls")


class Origins:
    """The names that the variables of a function are made of, and what it does with its values.

    Attributes:
        numpy: what functions of NumPy get, and what `numpy()` is called on.
        copied: what is copied with all that it holds, if it was computed here.
    """

    def __init__(self, function: ast.AST) -> None:
        self.numpy: list[ast.expr] = []
        self.copied: list[ast.expr] = []
        self._discarded: list[ast.expr] = []
        self._tensors: set[str] = set()
        self._made_of: dict[str, set[str]] = defaultdict(set)
        for node in nodes_in(function):
            if node.__class__ in _TELLING:
                self._see(node)

    @property
    def drops(self) -> bool:
        """Is a copy made, which nothing reads, of a variable that was assigned what may be a tensor?"""
        return any(_root(value) in self._tensors for value in self._discarded)

    def reach(self, values: Iterable[ast.expr], names: frozenset[str], *, computed: bool = False) -> bool:
        """Is one of the values made of one of these names? `computed`: by what is written here."""
        return any(
            not names.isdisjoint(self._history(value))
            for value in values
            if not computed or isinstance(value, ast.Call) or _root(value) in self._made_of
        )

    def _history(self, value: ast.expr) -> set[str]:
        seen = set(_names(value))
        waiting = list(seen)
        while waiting:
            new = self._made_of.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        return seen

    def _see(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, _BINDING):
            if node.value is not None:
                self._bind(node.target, node.value)
        elif isinstance(node, _LOOPS):
            self._bind(node.target, node.iter)
        elif isinstance(node, ast.Call):
            self._see_call(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            func = node.value.func
            if isinstance(func, ast.Attribute) and func.attr in _COPIES:
                self._discarded.append(func.value)

    def _see_call(self, call: ast.Call) -> None:
        func = call.func
        name = getattr(func, "attr", getattr(func, "id", ""))
        if name == "deepcopy":
            self.copied += call.args[:1]
        elif isinstance(func, ast.Attribute):
            if name == "numpy":
                self.numpy.append(func.value)
            elif name in _ADDERS:
                for value in call.args:
                    self._bind(func.value, value)
            if _root(func) in {"np", "numpy"}:
                self.numpy += call.args

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self._bind(element, value)
        else:
            root = _root(target)
            self._made_of[root].update(_names(value))
            if _may_be_tensor(value):
                self._tensors.add(root)


def _root(value: ast.expr) -> str:
    """The variable that an expression starts with; of an attribute of `self` its name."""
    while isinstance(value, ast.Attribute | ast.Subscript | ast.Starred):
        if (
            isinstance(value, ast.Attribute)
            and isinstance(value.value, ast.Name)
            and value.value.id == "self"
        ):
            return value.attr
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""


def _names(node: ast.AST) -> Iterator[str]:
    """The names in an expression, less what back-propagation does not follow.

    A layer of `torch.nn` counts as `LAYER`.
    """
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        if node.attr in _CUTS:
            return
        yield node.attr
        around = getattr(node.value, "attr", getattr(node.value, "id", ""))
        if around == "nn" and node.attr[:1].isupper():
            yield LAYER
        yield from _names(node.value)
    elif not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CUTS):
        for part in ast.iter_child_nodes(node):
            yield from _names(part)


def _may_be_tensor(value: ast.expr) -> bool:
    """Is it computed, and not by the name of what makes a module?"""
    if isinstance(value, ast.Call):
        name = str(getattr(value.func, "attr", getattr(value.func, "id", "")))
        return not (name[:1].isupper() or name.startswith(_NO_TENSOR))
    if isinstance(value, ast.IfExp):
        return _may_be_tensor(value.body) or _may_be_tensor(value.orelse)
    return isinstance(value, ast.BinOp | ast.UnaryOp)
