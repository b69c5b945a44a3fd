"""The roles of what unknown calls return, and of what the functions of a repository are given by others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.analysis.class_fit import is_option
from gradcheck_tool.analysis.evidence import Evidence, Place
from gradcheck_tool.analysis.loop_data import is_loop_data, is_loop_element
from gradcheck_tool.analysis.optimizer_roles import is_optimizer
from gradcheck_tool.analysis.ordinary_use import is_module_class
from gradcheck_tool.analysis.roles import Casting
from gradcheck_tool.analysis.wrapped_modules import made_from
from gradcheck_tool.domain.records import Class, Frame, Instance
from gradcheck_tool.domain.values import TRUE, Ref, Symbol, Value
from gradcheck_tool.library.torch.module_tree import is_module
from gradcheck_tool.library.torch.opaque_modules import AMONG_MODULES
from gradcheck_tool.library.torch.settings import note_settings
from gradcheck_tool.library.torch.unknown_layers import note_layer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gradcheck_tool.analysis.given import Given, Surroundings
    from gradcheck_tool.analysis.usage import Usage
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter


class Refinement:
    """Gives what an unknown call returned the role that its uses show, when it is stored under a name."""

    def __init__(self, m: Interpreter, elsewhere: Surroundings | None = None) -> None:
        self._m = m
        self._elsewhere = elsewhere
        self.evidence = Evidence(m)

    def given(self, s: State, place: Place, params: Sequence[str]) -> Mapping[str, Given]:
        """What other files of the repository pass to a function or to the constructor of a class."""
        name = place.function.qualname
        owner = s.get(place.cls, Class)
        if owner is not None and place.function.name == "__init__":
            name = owner.name
        if self._elsewhere is None or "." in name or place.module is None:
            return {}
        return self._elsewhere.given(s[place.module].env.module.filename, name, params)

    def outside_networks(self, s: State, place: Place) -> bool:
        """Do other files call a function in methods of classes that are no modules, and nowhere else?"""
        if self._elsewhere is None or place.module is None:
            return False
        filename = s[place.module].env.module.filename
        return self._elsewhere.outside_networks(filename, place.function.qualname)

    def having(self, s: State, place: Place, names: Iterable[str]) -> Given | None:
        """The one class of modules in other files that has all these members."""
        if self._elsewhere is None or place.module is None:
            return None
        return self._elsewhere.having(s[place.module].env.module.filename, names)

    def variable(self, s: State, name: str, value: Symbol, node: Any) -> tuple[State, Value]:
        """The value of a variable that the running function stores."""
        frame: Frame = s[s.frames[-1]]
        cls = frame.cls if isinstance(frame.cls, Ref) else None
        place = Place(frame.function, cls, frame.env.globals, s.frames[-1])
        usage = self.evidence.variable(s, place, name)
        if is_loop_data(frame.function, name, node, usage):
            return s, Symbol(value.key, "data")
        if is_loop_element(frame.function, node) and _follows_module(s, frame.locals.get(name), value):
            return s, value
        return self._refined(s, place, name, usage, value, node)

    def attribute(self, s: State, owner: Ref, name: str, value: Symbol, node: Any) -> tuple[State, Value]:
        """The value of an attribute that is stored in an object of the repository."""
        cls = s[owner].cls
        record = s.get(cls, Class)
        if record is None:
            return s, value
        place = Place(s[s.frames[-1]].function, cls, record.env.globals, s.frames[-1])
        usage = self.evidence.attribute(s, place, name)
        state, refined = self._refined(s, place, name, usage, value, node)
        if usage is not None and usage.called and is_module_class(s, cls):
            note_layer(state, refined, name)
        return state, refined

    def _refined(
        self, s: State, place: Place, name: str, usage: Usage | None, value: Symbol, node: Any
    ) -> tuple[State, Value]:
        if usage is not None and is_option(name, usage):
            note_settings(s, value, name)
        if usage is None or not (usage.called or usage.methods or usage.iterated):
            return s, value
        casting = Casting(self._m, s, place, 1)
        given = made_from(s, value)
        if is_optimizer(name, usage, trains=lambda: casting.trains):
            made = casting.optimizer_of(name, given.items)
        else:
            made = casting.result(name, usage, node, given)
        out = casting.out
        if isinstance(made, Symbol) and made.kind is None:
            return s, value
        self._m.program.assume(*out.assumes)
        return out.state, made


def _follows_module(s: State, before: Value | None, value: Symbol) -> bool:
    """Has a loop gone through a module that is known? Others may be parts of it (`model.modules()`)."""
    record = s.get(before, Instance)
    if (record is None or not is_module(s, record)) and Symbol((AMONG_MODULES, before)) not in s.memory:
        return False
    s.memory[Symbol((AMONG_MODULES, value))] = TRUE
    return True
