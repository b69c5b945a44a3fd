"""What bases out of sight, or callers of a dataclass, give an object that trains, judged by its use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.analysis.class_fit import members
from gradcheck_tool.analysis.evidence import Place, methods_of
from gradcheck_tool.analysis.optimizer_roles import is_module_object, is_optimizer
from gradcheck_tool.analysis.roles import Casting
from gradcheck_tool.domain.values import Ref, Symbol
from gradcheck_tool.interp.classes import fields_of

if TYPE_CHECKING:
    from gradcheck_tool.analysis.usage import Usage
    from gradcheck_tool.domain.records import Instance
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter


def provide(m: Interpreter, s: State, receiver: Ref) -> tuple[State, list[str]]:
    """Give an object the modules, optimizers and data that its methods use and nothing in sight assigns.

    Only where one of its methods trains: elsewhere too little is done with them. Returned with what that
    assumes.
    """
    record: Instance = s[receiver]
    cls = record.cls
    methods = methods_of(s, cls) if isinstance(cls, Ref) else []
    if not isinstance(cls, Ref) or not methods:
        return s, []
    casting = Casting(m, s, Place(methods[0], cls, s[cls].env.globals), 1)
    if not casting.trains_itself:
        return s, []
    wanted = _missing(m, s, receiver, cls)
    optimizers = [name for name, usage in wanted.items() if is_optimizer(name, usage, trains=lambda: True)]
    values = {name: value for name, value in record.attrs.items() if is_module_object(s, value)}
    for name in [each for each in wanted if each not in optimizers]:
        value = casting.value(name, wanted[name], s[cls].node)
        if not isinstance(value, Symbol) or value.kind is not None:
            values[name] = value
    for name, value in [*values.items(), *casting.optimizers_of(optimizers, values).items()]:
        attrs = casting.out.state.edit(receiver).attrs
        attrs[name] = value if name in wanted else attrs.get(name, value)
    return casting.out.state, casting.out.assumes


def _missing(m: Interpreter, s: State, receiver: Ref, cls: Ref) -> dict[str, Usage]:
    """What the methods of a class use of `self` that none of them assigns, and how."""
    known = {*s[receiver].attrs, *members(s, cls)} - _not_given(s, receiver, cls)
    evidence = m.program.refinement.evidence
    paths = [path for path in evidence.uses_of_class(s, cls) if path.startswith("self.")]
    names = [path.removeprefix("self.") for path in paths]
    place = Place(methods_of(s, cls)[0], cls, s[cls].env.globals)
    uses = {name: evidence.attribute(s, place, name) for name in names if name not in known}
    return {name: usage for name, usage in uses.items() if usage is not None}


def _not_given(s: State, receiver: Ref, cls: Ref) -> set[str]:
    """The fields of a dataclass that has been made without values for them."""
    if "#dataclass" not in s[cls].attrs:
        return set()
    held = s[receiver].attrs
    return {
        name
        for name, _ in fields_of(s, cls)
        if isinstance(held.get(name), Symbol) and held[name].kind is None
    }
