"""Facts about the arguments of a call, and whether they satisfy the guard of a variant.

Facts about arguments (`ArgFact`) are strings that go from general to special, or a known constant:

- `tensor`, `tensor.float`, `tensor.int`, `tensor.bool`, `tensor.complex`; each dtype also with
  `.0d` (no dimensions) or `.nd` (one or more), such as `tensor.int.0d`, and `.nd` with `.1d`, `.2d`, `.3d` or
  `.4d` (four or more), such as `tensor.float.nd.2d`;
- `number`, `number.int`, `number.float`, `bool`, `str`, `none`, `slice`, `dtype.float`, `dtype.int`,
  `dtype.bool`, `dtype.complex`, `device`, `other`;
- `list`, `list.tensor`, `list.bool`, `list.number` (also with `.int` or `.float`), `list.other`;
- for the parameter `index` of a subscript: `basic.all` (only `:` and `...`), `basic.part` (other numbers,
  slices, None, and tuples of them), a tensor's kind, or `advanced` (lists, and tuples with lists or
  tensors in them);
- `('const', value)`: the value itself (None, bool, number, string, or tuple of numbers);
- `absent`: not given (the default is filled in by `resolve` where it is known), `unknown`: anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

ArgFact = str | tuple[str, Any]
Guard = Mapping[str, Sequence[str]]


def guard_holds(guard: Guard, defaults: Mapping[str, Any], kinds: Mapping[str, ArgFact]) -> bool | None:
    """Whether the facts satisfy a guard: True, False, or None for perhaps."""
    result: bool | None = True
    for name, atoms in guard.items():
        fact = kinds.get(name, "absent")
        if fact == "absent" and name in defaults:
            fact = ("const", defaults[name])
        found = [_matches(atom, fact) for atom in atoms]
        if True in found:
            continue
        if None not in found:
            return False
        result = None
    return result


def _matches(atom: str, fact: ArgFact) -> bool | None:
    if fact == "unknown":
        return None
    if not isinstance(fact, str):
        if atom.startswith("="):
            return _equal(json.loads(atom[1:]), fact[1])
        return any(_covers(atom, kind) for kind in _kinds_of(fact[1]))
    if atom.startswith("="):
        return None if any(_covers(fact, kind) for kind in _kinds_of(json.loads(atom[1:]))) else False
    return True if _covers(atom, fact) else None if _covers(fact, atom) else False


def _covers(general: str, special: str) -> bool:
    return special == general or special.startswith(general + ".")


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == (list(other) if isinstance(other, tuple) else other))


def _kinds_of(constant: Any) -> tuple[str, ...]:
    """The kinds that a constant has; a bool may stand for a number."""
    if constant is None:
        return ("none",)
    if isinstance(constant, bool):
        return ("bool", "number.int")
    if isinstance(constant, (int, float, complex)):
        return (_number(constant),)
    if isinstance(constant, str):
        return ("str",)
    if isinstance(constant, (list, tuple)):
        return (_list(constant),)
    return ("other",)


def _number(value: complex) -> str:
    return (
        "number.int" if isinstance(value, int) else "number.float" if isinstance(value, float) else "number"
    )


def _list(values: Sequence[Any]) -> str:
    if not values or not all(isinstance(item, (int, float)) for item in values):
        return "list.other"
    if all(isinstance(item, bool) for item in values):
        return "list.bool"
    kinds = {_number(item) for item in values}
    return f"list.{kinds.pop()}" if len(kinds) == 1 else "list.number"
