"""What single instructions make of values, in the concrete interpreter: operators, containers, patterns."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcheck_tool.ir import nodes as ir
    from tests.ir.frames import Frame

BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "@": operator.matmul,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
INPLACE = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
    "@": operator.imatmul,
    "**": operator.ipow,
    "<<": operator.ilshift,
    ">>": operator.irshift,
    "&": operator.iand,
    "|": operator.ior,
    "^": operator.ixor,
}
UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_}
COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is-not": operator.is_not,
    "in": lambda left, right: left in right,
    "not-in": lambda left, right: left not in right,
}
CONVERSIONS = {"r": repr, "s": str, "a": ascii}
# Class patterns with one positional part match these as a whole.
SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def starred(frame: Frame, items: list[tuple[int, bool]]) -> list[Any]:
    values: list[Any] = []
    for reg, is_starred in items:
        values.extend(frame.regs[reg] if is_starred else [frame.regs[reg]])
    return values


def build_dict(frame: Frame, i: ir.BuildDict) -> None:
    built: dict[Any, Any] = {}
    for key, value in i.items:
        if key is None:
            built.update(frame.regs[value])
        else:
            built[frame.regs[key]] = frame.regs[value]
    frame.regs[i.dst] = built


def format_(frame: Frame, i: ir.Format) -> None:
    texts = []
    for index, part in enumerate(i.parts):
        if isinstance(part, str):
            texts.append(part)
            continue
        value = frame.regs[part]
        if index in i.conversions:
            value = CONVERSIONS[i.conversions[index]](value)
        texts.append(format(value, frame.regs[i.specs[index]] if index in i.specs else ""))
    frame.regs[i.dst] = "".join(texts)


def append(frame: Frame, i: ir.Append) -> None:
    container = frame.regs[i.container]
    (container.add if isinstance(container, set) else container.append)(frame.regs[i.value])


def unpack(frame: Frame, i: ir.Unpack) -> None:
    values, wanted = list(frame.regs[i.src]), len(i.dsts)
    if i.star is None:
        if len(values) != wanted:
            raise ValueError("wrong number of values to unpack")
    elif len(values) < wanted - 1:
        raise ValueError("not enough values to unpack")
    else:
        end = len(values) - (wanted - 1 - i.star)
        values[i.star : end] = [values[i.star : end]]
    frame.regs.update(zip(i.dsts, values, strict=True))


def build_slice(frame: Frame, i: ir.BuildSlice) -> None:
    parts = (None if reg is None else frame.regs[reg] for reg in (i.lower, i.upper, i.step))
    frame.regs[i.dst] = slice(*parts)


# Patterns


def match_test(frame: Frame, i: ir.MatchTest) -> None:
    subject = frame.regs[i.subject]
    parts = {"sequence": sequence_parts, "mapping": mapping_parts, "class": class_parts}[i.kind](
        frame, i, subject
    )
    frame.regs[i.dst] = parts is not None
    if parts is not None:
        frame.regs.update(zip(i.captures, parts, strict=True))


def sequence_parts(_: Frame, i: ir.MatchTest, subject: Any) -> list[Any] | None:
    if not isinstance(subject, Sequence) or isinstance(subject, str | bytes | bytearray):
        return None
    values, wanted = list(subject), len(i.captures)
    if i.star is None:
        return values if len(values) == wanted else None
    if len(values) < wanted - 1:
        return None
    end = len(values) - (wanted - 1 - i.star)
    values[i.star : end] = [values[i.star : end]]
    return values


def mapping_parts(frame: Frame, i: ir.MatchTest, subject: Any) -> list[Any] | None:
    if not isinstance(subject, Mapping):
        return None
    keys = [frame.regs[reg] for reg in i.key_regs]
    if any(key not in subject for key in keys):
        return None
    parts = [subject[key] for key in keys]
    if i.star is not None:
        parts.append({key: value for key, value in subject.items() if key not in keys})
    return parts


def class_parts(frame: Frame, i: ir.MatchTest, subject: Any) -> list[Any] | None:
    assert i.cls is not None
    cls = frame.regs[i.cls]
    if not isinstance(subject, cls):
        return None
    if i.keys == [None] and cls in SELF_MATCHING:
        return [subject]
    positions = iter(getattr(cls, "__match_args__", ()))
    names = [next(positions) if key is None else key for key in i.keys]
    if any(not hasattr(subject, name) for name in names):
        return None
    return [getattr(subject, name) for name in names]


def sets(compute: Any) -> Any:
    """An instruction that assigns one register the value that `compute` gives."""

    def perform(frame: Frame, i: Any) -> None:
        frame.regs[i.dst] = compute(frame.regs, i)

    return perform


def matches(error: BaseException, kind: Any) -> bool:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not all(isinstance(each, type) and issubclass(each, BaseException) for each in kinds):
        raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    return isinstance(error, kinds)
