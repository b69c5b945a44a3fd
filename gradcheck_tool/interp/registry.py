"""The registry of what the model knows about library functions, classes and methods.

A native gets the machine, a state and the arguments, changes the state in place and returns the
result (or, where it calls back into analysed code, all states with their results). It raises
`Raised` where PyTorch would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Union

from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import Const, LibraryObject, Value

if TYPE_CHECKING:
    from gradcheck_tool.interp.api import Call, Interpreter

Result = Union[Value, "list[tuple[State, Value]]"]
Native = Callable[["Interpreter", State, "Call"], Result]

FUNCTIONS: dict[str, Native] = {}
METHODS: dict[tuple[str, str], Native] = {}
# Classes whose objects are context managers, and which are none themselves: `with torch.no_grad:` raises.
MANAGERS: set[str] = set()
FINDERS: list[Callable[[str], Native | None]] = []


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


def finder(find: Callable[[str], Native | None]) -> Callable[[str], Native | None]:
    """Register what finds models of library functions that are not registered one by one."""
    FINDERS.append(find)
    return find


def find(name: str) -> Native | None:
    """The native for a library function or class, if the model knows it."""
    native = FUNCTIONS.get(name)
    if native is not None:
        return native
    for each in FINDERS:
        native = each(name)
        if native is not None:
            return native
    return None


def lib_name(value: Value | None) -> str:
    """The qualified name of a library object, '' for anything else."""
    return value.name if isinstance(value, LibraryObject) else ""


def const(value: Value | None, default: Any = None) -> Any:
    """The Python value of a constant, `default` for anything else."""
    return value.value if isinstance(value, Const) else default
