"""What the arguments of a call are named, so that a report says `weight` and not "input 1"."""

from __future__ import annotations

import inspect
import re
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from gradcheck_tool.gradcheck.target import overrides

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gradcheck_tool.gradcheck.target import Target

Names = tuple[str | None, ...]

_ONE = re.compile(r"\b(inputs?|arguments?) (\d+)( and )?(\d+)?\b")
_SEVERAL = re.compile(r"\b(inputs|arguments) \[(\d+(?:, \d+)*)\]")


def argument_names(target: Target, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Names:
    """The names of all leaves of a call, in order; None where a name is not known.

    The third of a list that is passed for `xs` is `xs[2]`, as it is for a parameter `*xs`.
    """
    named = chain(_parameters(target), repeat(None))
    found = [name for value, top in zip(args, named, strict=False) for name in _inside(top, value)]
    return (*found, *(name for key, value in kwargs.items() for name in _inside(key, value)))


def _parameters(target: Target) -> Iterator[str | None]:
    function = target.call if target.cls is None else target.cls.forward
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return
    if target.cls is not None and not overrides(target.cls, "setup_context"):
        parameters = parameters[1:]
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield from (f"{parameter.name}[{k}]" for k in range(1000))
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            yield parameter.name


def _inside(name: str | None, value: Any) -> Iterator[str | None]:
    if isinstance(value, dict):
        items = [(repr(key), part) for key, part in value.items()]
    elif isinstance(value, (tuple, list)):
        items = [(str(k), part) for k, part in enumerate(value)]
    else:
        yield name
        return
    for key, part in items:
        yield from _inside(None if name is None else f"{name}[{key}]", part)


def named(text: str, names: Names, inputs: Sequence[int]) -> str:
    """`text` with names in the place of the numbers of inputs and arguments.

    `inputs` are the positions of the inputs among all arguments.
    """

    def name_of(kind: str, number: str) -> str:
        position = int(number)
        if kind.startswith("input"):
            position = inputs[position] if position < len(inputs) else len(names)
        name = names[position] if position < len(names) else None
        return number if name is None else f"`{name}`"

    def one(match: re.Match[str]) -> str:
        kind, first, joint, second = match.groups()
        more = f"{joint}{name_of(kind, second)}" if joint and second else joint or ""
        return f"{kind} {name_of(kind, first)}{more}"

    def several(match: re.Match[str]) -> str:
        return f"{match[1]} {', '.join(name_of(match[1], number) for number in match[2].split(', '))}"

    return _SEVERAL.sub(several, _ONE.sub(one, text))
