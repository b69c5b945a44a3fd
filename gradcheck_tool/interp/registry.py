"""The registry of what the model knows about library functions, classes and methods.

A native gets the machine, a state and the arguments, changes the state in place and returns the
result (or, where it calls back into analysed code, all states with their results). It raises
`Raised` where PyTorch would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from gradcheck_tool.domain.heap import State
from gradcheck_tool.domain.values import FALSE, NONE, TRUE, Const, Lib, Ref, Text, Value

if TYPE_CHECKING:
    from gradcheck_tool.interp.solver import Machine

Result = Union[Value, "list[tuple[State, Value]]"]
Native = Callable[["Machine", State, "Args"], Result]

FUNCTIONS: dict[str, Native] = {}
METHODS: dict[tuple[str, str], Native] = {}


@dataclass(slots=True)
class Args:
    """The arguments of one call. `unsure` means that a star-argument may add more."""

    func: Value
    args: list[Value]
    kwargs: dict[str, Value]
    site: Any
    text: Text
    receiver: Value = NONE
    unsure: bool = False

    def get(self, index: int, name: str) -> Value | None:
        """An argument by position or keyword; None where it is not given."""
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[index] if 0 <= index < len(self.args) else None

    def flag(self, index: int, name: str, default: bool | None) -> bool | None:
        """A boolean argument: its value, the default where it is not given, None where unknown."""
        value = self.get(index, name)
        if value is None:
            return None if self.unsure else default
        if value == TRUE:
            return True
        return False if value in (FALSE, NONE) else None

    @property
    def self(self) -> Ref:
        """The receiver of a method, which is always a record."""
        assert isinstance(self.receiver, Ref)
        return self.receiver


def function(*names: str) -> Callable[[Native], Native]:
    """Register a native for library functions or classes by qualified name."""

    def register(native: Native) -> Native:
        for name in names:
            FUNCTIONS[name] = native
        return native

    return register


def method(kind: str, *names: str) -> Callable[[Native], Native]:
    """Register a native for methods of a kind of receiver."""

    def register(native: Native) -> Native:
        for name in names:
            METHODS[(kind, name)] = native
        return native

    return register


def lib_name(value: Value | None) -> str:
    """The qualified name of a library object, '' for anything else."""
    return value.name if isinstance(value, Lib) else ""


def const(value: Value | None, default: Any = None) -> Any:
    """The Python value of a constant, `default` for anything else."""
    return value.value if isinstance(value, Const) else default
