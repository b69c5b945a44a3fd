"""The schema of cached entries: plain JSON is read as what it has to be, and anything else is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, get_args

from gradcheck_tool.findings import StepKind

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")


class SchemaError(ValueError):
    """Cached data are not what gradlint writes."""


def text(value: Any) -> str:
    """A text, which may hold bytes of a file name that are no characters."""
    if not isinstance(value, str):
        raise SchemaError("not a text")
    value.encode(errors="surrogateescape")
    return value


def optional_text(value: Any) -> str | None:
    """A text, or nothing."""
    return None if value is None else text(value)


def step_kind(value: Any) -> StepKind:
    """The kind of a step of a story."""
    if value not in get_args(StepKind):
        raise SchemaError("not a kind of step")
    return value  # type: ignore[no-any-return]


def number(value: Any) -> int:
    """A whole number from 0 on."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise SchemaError("not a number")
    return value


def optional_number(value: Any) -> int | None:
    """A number, or nothing."""
    return None if value is None else number(value)


def items(value: Any, length: int | None = None) -> list[Any]:
    """A list, of so many items."""
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise SchemaError("not a list of that length")
    return value


def each(value: Any, read: Callable[[Any], _T]) -> tuple[_T, ...]:
    """What is read of each item of a list."""
    return tuple(read(item) for item in items(value))


def table(value: Any, keys: frozenset[str]) -> dict[str, Any]:
    """A table that has these keys and no others."""
    if not isinstance(value, dict) or value.keys() != keys:
        raise SchemaError("not a table of these keys")
    return value
