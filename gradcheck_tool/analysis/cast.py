"""The arguments that a unit is called with."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.evidence import REQUIRES_GRADIENT
from gradcheck_tool.domain.values import TRUE, Symbol
from gradcheck_tool.engine.tensors import TAKEN_FOR_CONSTANT, new_tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Ref, Value
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.ir import nodes as ir


@dataclass(slots=True)
class Cast:
    """The arguments of one unit: values by name, the state that has them, and what they assume."""

    state: State
    values: dict[str, Value] = field(default_factory=dict)
    assumes: list[str] = field(default_factory=list)

    def with_history(
        self,
        m: Interpreter,
        s: State,
        names: Iterable[str],
        function: ir.Function,
        constants: Iterable[str] = (),
        parts: Mapping[Symbol, str] = MappingProxyType({}),
        given_parts: Mapping[Symbol, str] = MappingProxyType({}),
    ) -> Cast:
        """The same arguments in the state in which they were made, these of them in the middle of a graph.

        So are these `parts` of arguments. Those that are `constants`, and `given_parts`, have no graph.
        """
        site = m.site(s, function.node)
        given = {name: new_tensor(s, site, requires_grad=True, leaf=False, name=name) for name in names}
        told = [f"`{name}` {REQUIRES_GRADIENT}" for name in (*given, *parts.values())]
        for part, text in parts.items():
            s.memory[part] = new_tensor(s, site, requires_grad=True, leaf=False, name=text)
        for part, text in given_parts.items():
            s.memory[part] = _constant(s, site, text)
        for name in constants:
            given[name] = _constant(s, site, name)
        return Cast(s, {**self.values, **given}, [*self.assumes, *told])


def _constant(s: State, site: Site, name: str) -> Ref:
    """What by its name comes with the data, and has no graph."""
    ref = new_tensor(s, site, name=name)
    s.memory[Symbol((TAKEN_FOR_CONSTANT, ref))] = TRUE
    return ref
