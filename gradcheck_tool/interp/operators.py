"""Operators: arithmetic on numbers, tensors and containers, comparisons, boolean `not`."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Dict, Instance, List
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Bound,
    Const,
    LibraryObject,
    Method,
    NoGradient,
    Ref,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.interp import attributes, conditions, sets
from gradcheck_tool.interp import iteration as iterate
from gradcheck_tool.interp.constants import inherit_terms
from gradcheck_tool.interp.facts import ItemWritten
from gradcheck_tool.interp.folding import fold
from gradcheck_tool.interp.models import model_of
from gradcheck_tool.interp.registrations import await_entry
from gradcheck_tool.interp.registry import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes

_BINARY: dict[str, tuple[Callable[[Any, Any], Any], str, str]] = {
    "+": (operator.add, "__add__", "__radd__"),
    "-": (operator.sub, "__sub__", "__rsub__"),
    "*": (operator.mul, "__mul__", "__rmul__"),
    "/": (operator.truediv, "__truediv__", "__rtruediv__"),
    "//": (operator.floordiv, "__floordiv__", "__rfloordiv__"),
    "%": (operator.mod, "__mod__", "__rmod__"),
    "@": (operator.matmul, "__matmul__", "__rmatmul__"),
    "**": (operator.pow, "__pow__", "__rpow__"),
    "<<": (operator.lshift, "__lshift__", "__rlshift__"),
    ">>": (operator.rshift, "__rshift__", "__rrshift__"),
    "&": (operator.and_, "__and__", "__rand__"),
    "|": (operator.or_, "__or__", "__ror__"),
    "^": (operator.xor, "__xor__", "__rxor__"),
}
_UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def is_tensor(s: State, value: Value) -> bool:
    return isinstance(value, Ref) and isinstance(s.heap[value.id], Tensor)


def binary(m: Interpreter, s: State, op: str, left: Value, right: Value, site: Any, text: Any) -> Outcomes:
    """`left op right`."""
    for value, other in ((left, right), (right, left)):
        if isinstance(value, NoGradient) and (is_tensor(s, other) or isinstance(other, Const)):
            attributes.raise_none(m, s, "TypeError", value, site, "unsupported operand type(s) for")
            return [(s, NONE)]
    listed = _with_list(s, op, left, right)
    if listed is not None:
        return [(s, listed)]
    for operand in (left, right):
        known = model_of(s, operand).binary(m, s, op, left, right, site, text)
        if known is not None:
            return known
    if isinstance(left, Const) and isinstance(right, Const):
        if NONE in (left, right):
            m.raise_exception(s, "TypeError")
        return [(s, fold(_BINARY[op][0], left.value, right.value))]
    _, name, reverse = _BINARY[op]
    for receiver, other, method in ((left, right, name), (right, left, reverse)):
        record = s.get(receiver, Instance)
        own = attributes.in_class(s, record.cls, method) if record is not None else None
        if own is not None:
            return m.call(s, Bound(receiver, own), [other], {}, site)
    joined = _containers(s, op, left, right)
    if joined is not None:
        return [(s, joined)]
    return [(s, inherit_terms(s, op, _symbolic(op, left, right), left, right))]


def _symbolic(op: str, left: Value, right: Value) -> Value:
    """An expression over unknown numbers: the same operands give the same symbol."""
    kinds = {v.kind for v in (left, right) if isinstance(v, Symbol)}
    kind = "data" if "data" in kinds else next(iter(kinds)) if len(kinds) == 1 else None
    if None in kinds and "data" in kinds:
        kind = None
    return _counted(op, left, right) or Symbol(("op", op, left, right), kind)


def _counted(op: str, left: Value, right: Value) -> Symbol | None:
    """`(n + 1) + 1` as `n + 2`: a counter of a loop stays an expression that can be compared."""
    key = left.key if isinstance(left, Symbol) else None
    if (
        op != "+"
        or not isinstance(right, Const)
        or type(right.value) is not int
        or not isinstance(key, tuple)
    ):
        return None
    if key[:2] != ("op", "+") or not isinstance(key[3], Const) or type(key[3].value) is not int:
        return None
    return Symbol(("op", "+", key[2], Const(key[3].value + right.value)), left.kind)  # type: ignore[union-attr]


def _with_list(s: State, op: str, left: Value, right: Value) -> Value | None:
    """`x + [y]` where `x` is unknown or was taken for a tensor: a list is added to nothing but a list.

    What objects are added to may be of a class that takes lists, as that of lists of modules is.
    """
    listed = s.get(right, List) if op == "+" else None
    if listed is None or not (isinstance(left, Symbol) or is_tensor(s, left)):
        return None
    has_objects = any(s.get(item, Instance) is not None for item in listed.items)
    return None if has_objects else s.new(List(listed.items, True, listed.kind))


def _containers(s: State, op: str, left: Value, right: Value) -> Value | None:
    a, b = s.get(left, List), s.get(right, List)
    if op == "+" and isinstance(left, Tup) and isinstance(right, Tup):
        (first, before), (second, behind) = iterate.elements(s, left), iterate.elements(s, right)
        return Tup((*first, *second), open=before or behind)
    if op == "+" and a is not None:
        (first, before), (second, behind) = iterate.elements(s, left), iterate.elements(s, right)
        return s.new(List([*first, *second], before or behind, a.kind))
    if op == "*" and (a is not None or isinstance(left, Tup)):
        items, is_open = iterate.elements(s, left)
        count = right.value if isinstance(right, Const) and isinstance(right.value, int) else None
        if count is None or count * len(items) > 64:
            count, is_open = 1, True
        repeated = items * max(count, 0) if items else []
        return Tup(tuple(repeated), open=is_open) if a is None else s.new(List(repeated, is_open))
    if op in sets.OPERATORS and (a is not None or b is not None):
        return sets.combine(s, op, left, right)
    if op == "|":
        x, y = s.get(left, Dict), s.get(right, Dict)
        if x is not None and y is not None:
            return s.new(Dict({**x.items, **y.items}, x.open or y.open))
    return None


def inplace(m: Interpreter, s: State, op: str, left: Value, right: Value, site: Any, text: Any) -> Outcomes:
    """The operation of `left op= right`: lists and tensors change themselves."""
    listed = _with_list(s, op, left, right)
    if listed is not None:
        return [(s, listed)]
    known = model_of(s, left).inplace(m, s, op, left, right, site, text)
    if known is not None:
        return known
    if op == "+" and s.get(left, List) is not None:
        items, is_open = iterate.elements(s, right)
        iterate.add(s.edit(left), items, is_open)  # type: ignore[arg-type]
        for item in items:
            m.tell(s, ItemWritten(left, None, item, site))
        return [(s, left)]
    method = _own_inplace(s, op, left)
    return (
        binary(m, s, op, left, right, site, text) if method is None else m.call(s, method, [right], {}, site)
    )


def _own_inplace(s: State, op: str, left: Value) -> Value | None:
    """The method by which an object changes itself, of its class or of one of the library that is known."""
    record = s.get(left, Instance)
    if record is None:
        return None
    name = _BINARY[op][1].replace("__", "__i", 1)
    own = attributes.in_class(s, record.cls, name)
    if own is not None:
        return Bound(left, own)
    known = any((base, name) in METHODS for base in attributes.lib_bases(s, record.cls))
    return Method(left, name) if known else None


def unary(m: Interpreter, s: State, op: str, value: Value, site: Any, text: Any) -> Outcomes:
    """`-x`, `+x`, `~x` or `not x`."""
    if op == "not":
        answer = conditions.known(s, value)
        if answer is None:
            return [
                (
                    s,
                    Symbol(
                        ("not", value if not isinstance(value, Ref) else Symbol(("truth", value))), "bool"
                    ),
                )
            ]
        return [(s, FALSE if answer else TRUE)]
    known = model_of(s, value).unary(m, s, op, value, site, text)
    if known is not None:
        return known
    if isinstance(value, Const):
        return [(s, fold(_UNARY[op], value.value))]
    return [(s, Symbol(("unary", op, value), value.kind if isinstance(value, Symbol) else None))]


def compare(m: Interpreter, s: State, op: str, left: Value, right: Value, site: Any, text: Any) -> Outcomes:
    """One comparison."""
    if op in ("is", "is-not"):
        return [(s, _identity(s, left, right, op == "is-not"))]
    if op in ("in", "not-in"):
        await_entry(m, s, right, left)
        if isinstance(left, Const) and isinstance(left.value, str) and s.get(right, Tensor) is not None:
            # Tensors hold no text: what is asked so is none of them, or the way ends here.
            m.raise_exception(s, "RuntimeError")
        return [(s, _membership(s, left, right, op == "not-in"))]
    for operand in (left, right):
        known = model_of(s, operand).compare(m, s, op, left, right, site, text)
        if known is not None:
            return known
    if isinstance(left, Const) and isinstance(right, Const):
        return [(s, fold(_COMPARE[op], left.value, right.value))]
    if op in ("==", "!=") and left == right and not isinstance(left, Ref):
        return [(s, TRUE if op == "==" else FALSE)]
    if op in ("==", "!=") and _differ(left, right):
        return [(s, FALSE if op == "==" else TRUE)]
    return [(s, _comparison(op, left, right))]


# What `type` gives for a tensor, and where the classes are that it is compared with.
_TENSOR_CLASSES = (LibraryObject("torch.Tensor"), LibraryObject("torch.nn.Parameter"))
_OTHER_KINDS = ("builtins.", "numpy.")
_NEGATED = {"!=": "==", ">=": "<", "<=": ">"}


def _comparison(op: str, left: Value, right: Value) -> Value:
    """A symbol for the comparison; a comparison and its negation share one."""
    if op in _NEGATED:
        return Symbol(("not", _comparison(_NEGATED[op], left, right)), "bool")
    if op == ">":
        op, left, right = "<", right, left
    return Symbol(("cmp", op, left, right), "bool")


def _differ(left: Value, right: Value) -> bool:
    """Are two values certainly different? None and an object, packages, a version and a name, kinds."""
    if isinstance(left, Tup) and isinstance(right, Tup):
        pairs = zip(left.items, right.items, strict=False)
        is_shorter = len(left.items) != len(right.items) and not left.open and not right.open
        return is_shorter or any(_differ(a, b) for a, b in pairs)
    if isinstance(left, Const) and isinstance(right, Const):
        return fold(_COMPARE["!="], left.value, right.value) == TRUE
    if (
        isinstance(left, LibraryObject)
        and isinstance(right, LibraryObject)
        and "." not in left.name + right.name
    ):
        return left != right
    return any(
        (a == NONE and isinstance(b, (Ref, Tup)))
        or (_is_version(a) and isinstance(b, Const) and not _numbered(b))
        or (a in _TENSOR_CLASSES and isinstance(b, LibraryObject) and b.name.startswith(_OTHER_KINDS))
        for a, b in ((left, right), (right, left))
    )


def _is_version(value: Value) -> bool:
    return isinstance(value, LibraryObject) and value.name.endswith(".__version__")


def _numbered(value: Const) -> bool:
    """Does a text begin as the numbers of versions do? Forks of PyTorch put their name there."""
    return isinstance(value.value, str) and value.value[:1].isdigit()


def _identity(s: State, left: Value, right: Value, negate: bool) -> Value:
    answer: bool | None = None
    if left == right:
        answer = True
    elif not isinstance(left, Symbol) and not isinstance(right, Symbol):
        answer = False
    if answer is None:
        key = _flag(left, right) or Symbol(("cmp", "is", left, right), "bool")
        return Symbol(("not", key), "bool") if negate else key
    return TRUE if answer is not negate else FALSE


def _flag(left: Value, right: Value) -> Symbol | None:
    """`x is True` as `x`, and `x is False` as `not x`: what is asked so is a flag, however it is asked."""
    if not isinstance(left, Symbol) or left.kind in ("int", "float", "str") or right not in (TRUE, FALSE):
        return None
    return left if right == TRUE else Symbol(("not", left), "bool")


def _membership(s: State, item: Value, container: Value, negate: bool) -> Value:
    if isinstance(item, Const) and isinstance(container, Const):
        try:
            found = item.value in container.value
        except TypeError:
            return unknown("bool")
        return TRUE if found is not negate else FALSE
    items, is_open = iterate.elements(s, container)
    if item in items:
        return FALSE if negate else TRUE
    is_listed = not is_open and all(isinstance(v, Const) for v in items)
    is_other = not is_open and all(_differ(item, v) for v in items)
    is_other = is_other or sets.is_without(s, container, item)
    if is_other or (is_listed and isinstance(item, Const)):
        return TRUE if negate else FALSE
    key = Symbol(("in", item, container), "bool")
    return Symbol(("not", key), "bool") if negate else key
