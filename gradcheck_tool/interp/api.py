"""What the rest of the package sees of the interpreter: calls, outcomes, and its methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import FALSE, NONE, TRUE, Ref, Text, Value
from gradcheck_tool.ir.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gradcheck_tool.domain.events import Event, Site
    from gradcheck_tool.interp.budget import Budget
    from gradcheck_tool.interp.places import Places
    from gradcheck_tool.interp.program import Program
    from gradcheck_tool.ir import nodes as ir


@dataclass(slots=True)
class Env:
    """What all functions of one module share: the parsed module and the frame of its body.

    `is_model` tells that the module is a model of a library: no code of the user's.
    """

    module: ir.ModuleIR
    globals: Ref
    dotted: str = "__main__"
    is_model: bool = False


@dataclass(slots=True)
class FrameExit:
    """One way out of a frame: `kind` is `return`, `raise` or `yield` (which resumes at block, index)."""

    state: State
    kind: str
    value: Value
    block: int = 0
    index: int = 0


class Label:
    """The source text of a node, made when a message needs it."""

    __slots__ = ("_text", "module", "node")

    def __init__(self, module: ir.ModuleIR, node: Any) -> None:
        self.module = module
        self.node = node
        self._text: str | None = None

    def __str__(self) -> str:
        if self._text is None:
            text = one_line(self.module.spans.text(self.node))
            self._text = text if len(text) <= 60 else text[:57] + "..."
        return self._text

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


Outcomes = list[tuple[State, Value]]


class MissingArgument(Exception):
    """A model asks for an argument by its position that a call does not give in this way."""


class Arguments(list[Value]):
    """The arguments of a call that have no names."""

    def __getitem__(self, index: Any) -> Any:
        try:
            return super().__getitem__(index)
        except IndexError:
            raise MissingArgument from None


@dataclass(slots=True)
class Call:
    """The arguments of one call. `unsure` means that a star-argument may add more."""

    func: Value
    args: list[Value]
    kwargs: dict[str, Value]
    site: Any
    text: Text
    receiver: Value = NONE
    unsure: bool = False

    def __post_init__(self) -> None:
        if type(self.args) is not Arguments:
            self.args = Arguments(self.args)

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


class Fact:
    """Base of all facts."""

    __slots__ = ()


class Interpreter(Protocol):
    """The running interpreter, as the models of libraries and the trackers use it."""

    noticed: int
    listeners: dict[type[Fact], list[Callable[[Interpreter, State, Any], None]]]
    copying: list[Callable[[Mapping[int, int]], None]]
    places: Places
    budget: Budget
    program: Program
    raised: dict[int, Event]

    def call(
        self,
        s: State,
        func: Value,
        args: list[Value],
        kwargs: dict[str, Value],
        site: Any,
        text: Any = None,
        unsure: bool = False,
    ) -> Outcomes: ...
    def call_method(
        self,
        s: State,
        obj: Value,
        name: str,
        args: list[Value],
        kwargs: dict[str, Value],
        site: Any,
        text: Any = None,
    ) -> Outcomes: ...
    def call_unknown(self, s: State, call: Call) -> Outcomes: ...
    def enter(self, s: State, manager: Value, site: Any) -> Outcomes: ...
    def leave(self, s: State, manager: Value, exc: Value | None, site: Any) -> Outcomes: ...
    def emit(self, event: Event) -> None: ...
    def tell(self, s: State, fact: Fact) -> None: ...
    def site(self, s: State, node: Any) -> Site: ...
    def label(self, s: State, node: Any) -> Label: ...
    def run_frame(self, s: State, block: int, index: int = 0) -> list[FrameExit]: ...
    def get(self, s: State, reg: int) -> Value: ...
    def set(self, s: State, reg: int, value: Value) -> None: ...
    def decide(self, s: State, value: Value) -> list[tuple[State, bool]]: ...
    def raise_exception(self, s: State, kind: str, event: Event | None = None) -> None: ...
