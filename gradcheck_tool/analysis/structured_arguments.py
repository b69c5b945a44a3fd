"""Arguments that a loss takes apart: `outputs["boxes"]`, `output.logits`, `pred[b]`.

The parts that are used as tensors have a history as a whole argument has, but for targets and the like.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.ordinary_use import is_given_with_data, is_set, operands
from gradcheck_tool.analysis.written_rows import OF_TENSORS
from gradcheck_tool.domain.values import Const, Symbol, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import FrameExit

# What holds what a loader gives.
_DATA = re.compile(r"(?:^|_)(?:batch(?:es)?|data|inputs?|samples?|metas?|infos?|kwargs|self)(?:_|\d|$)")


def parts_taken(
    ends: Iterable[FrameExit], given: Mapping[str, Value]
) -> tuple[dict[Symbol, str], dict[Symbol, str]]:
    """The parts of arguments that a loss takes for tensors, each with its text.

    Those to be differentiated, and those that come with the data.
    """
    roots = {value: name for name, value in given.items()}
    trained: dict[Symbol, str] = {}
    constants: dict[Symbol, str] = {}
    for end in ends:
        for tensor in _tensors(end.state):
            part = _whole(tensor)
            names = _path(part, roots)
            if names:
                found = trained if all(map(_is_computed, names)) else constants
                found[part] = names[0] + "".join(names[1:])
    return trained, constants


def _whole(tensor: Symbol) -> Symbol:
    """What a tensor was taken out of by its position, without a name."""
    key = tensor.key
    while isinstance(key, tuple) and key[0] == "item" and not _is_name(key[2]) and isinstance(key[1], Symbol):
        tensor = key[1]
        key = tensor.key
    return tensor


def is_indexed(ends: Iterable[FrameExit], value: Value, attributes: set[str]) -> bool:
    """Is a tensor, going by what is read of it, used by its rows alone?"""
    if attributes.isdisjoint(OF_TENSORS):
        return False
    wholes = {_whole(part) for part in _parts(ends) if part != value}
    return value in wholes and not is_index(ends, value)


def is_index(ends: Iterable[FrameExit], value: Value) -> bool:
    """Is something taken out of a tensor by it: `vertices[faces]`?"""
    return any(value in _indices(part) for part in _parts(ends))


def _parts(ends: Iterable[FrameExit]) -> Iterator[Symbol]:
    """The unknown values that operations take for tensors."""
    for end in ends:
        for part in (*_tensors(end.state), *operands(end.state)):
            if isinstance(part, Symbol):
                yield part


def _indices(part: Value) -> Iterator[Value]:
    """The positions that something is taken out of its whole by."""
    while isinstance(part, Symbol) and isinstance(part.key, tuple) and part.key[0] == "item":
        yield part.key[2]
        part = part.key[1]


def _tensors(s: State) -> Iterator[Symbol]:
    """The unknown values that an operation has taken for tensors."""
    for symbol in s.memory:
        key = symbol.key if isinstance(symbol, Symbol) else None
        if isinstance(key, tuple) and key[0] == "tensor" and isinstance(key[1], Symbol):
            yield key[1]


def _is_computed(name: str) -> bool:
    """Is something that is called so computed by a model?"""
    name = name.strip('."[]')
    return not (_DATA.search(name) or is_given_with_data(name) or is_set(name))


def _is_name(index: Value) -> bool:
    return isinstance(index, Const) and isinstance(index.value, str)


def _path(part: Symbol, roots: Mapping[Value, str]) -> tuple[str, ...]:
    """`("outputs", '["boxes"]')` for a part that has a name; empty for others."""
    if not isinstance(part.key, tuple) or part.key[0] not in ("attr", "item"):
        return ()
    kind, owner, name = part.key[0], part.key[1], part.key[2]
    if not (kind == "attr" or _is_name(name)) or not isinstance(owner, Symbol):
        return ()
    whole = (roots[owner],) if owner in roots else _path(owner, roots)
    return (*whole, f'["{name.value}"]' if kind == "item" else f".{name}") if whole else ()
