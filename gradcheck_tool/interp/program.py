"""The program that is executed: its main module, where its imports lead, and what of it has run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcheck_tool.domain.events import Event
    from gradcheck_tool.domain.values import Value
    from gradcheck_tool.ir import nodes as ir

Imports = Callable[[str, str, int], "ir.ModuleIR | None"]


@dataclass(frozen=True, slots=True)
class AssumedPass:
    """A backward pass that whoever calls a unit makes from what it returns, and that goes well.

    `reached` are the graph nodes that it goes through, by number.
    """

    reached: frozenset[int]
    unit: str
    assumes: tuple[str, ...]


@dataclass(slots=True)
class Program:
    """What one interpreter executes.

    Attributes:
        main: the module that is executed as `__main__`.
        imports: finds another module of the repository by the file that imports it, its dotted name and the
            number of leading dots.
        models: the model packs, which have the modules of libraries.
        entered: the functions whose code was executed, by identity.
        differentiated: the classes of custom Functions whose `backward` a pass has run, by identity of nodes.
        importing: the modules whose bodies are running, by identity.
        resolved_imports: what imports lead to, where that is no record of a state.
        refinement: gives roles to what unknown calls return; None where that stays unknown.
        ordinary: what goes wrong in the ordinary use of units that nothing calls.
        assumed_passes: the backward passes of those who call such units.
        reached: where the parameters are made that a pass from the result of a unit would reach.
        unit: the qualified name of the function that is executed on its own, '' while the top-level code is.
        assumes: in words what the unit that is running takes from ordinary use, for the events it gives.
        kept: the attributes, with their classes, that hold graphs which an earlier call of the unit has made.
        mended: the places, by the identity of their nodes, where what is raised is taken for mended.
        pause: is called before each block; what it raises ends the execution.
    """

    main: ir.ModuleIR | None = None
    imports: Imports | None = None
    models: Any = None
    entered: set[int] = field(default_factory=set)
    differentiated: set[int] = field(default_factory=set)
    importing: set[int] = field(default_factory=set)
    resolved_imports: dict[Value, Value] = field(default_factory=dict)
    refinement: Any = None
    ordinary: list[Event] = field(default_factory=list)
    assumed_passes: list[AssumedPass] = field(default_factory=list)
    reached: set[int] = field(default_factory=set)
    unit: str = ""
    assumes: tuple[str, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    mended: frozenset[int] = frozenset()
    pause: Callable[[], object] = bool

    def assume(self, *told: str) -> None:
        """Take something from ordinary use: the events from now on say so."""
        self.assumes = tuple(dict.fromkeys((*self.assumes, *told)))
