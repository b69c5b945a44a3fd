"""What an unknown call makes of a module: a wrapper trains the parameters of what it wraps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import LibraryObject, Ref, Symbol, Tup
from gradcheck_tool.interp import attributes
from gradcheck_tool.library.torch.module_tree import SEQUENTIAL, is_module, modules, named_parameters

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State


def made_from(s: State, value: Symbol) -> Tup:
    """What the unknown call that returned a value was given."""
    given = s.memory.get(Symbol(("made-from", value)))
    return given if isinstance(given, Tup) else Tup(())


def is_bare(s: State, given: Tup) -> bool:
    """Is a result made from one module alone, which has no parameters?"""
    inner = given.items[0] if len(given.items) == 1 and not given.open else None
    record = s.get(inner, Instance)
    if not isinstance(inner, Ref) or record is None or not is_module(s, record):
        return False
    parts = [at for _, at in modules(s, inner)]
    known = len(parts) > 1 or attributes.lib_bases(s, record.cls)[:1] != [*SEQUENTIAL]
    return known and not named_parameters(s, inner)[0] and all(_is_layer(s[at]) for at in parts)


def _is_layer(module: Instance) -> bool:
    """Is a module of a class of the library, and not one of which only the role is known?"""
    return isinstance(module.cls, LibraryObject) and module.cls.name != "torch.nn.Module"


def wrap(s: State, given: Tup, name: str) -> Ref | None:
    """A module that takes the place of the given one of this name, and holds it."""
    for inner in given.items:
        record = s.get(inner, Instance)
        if record is not None and record.name == name and is_module(s, record):
            wrapper = Instance(LibraryObject("torch.nn.Module"), {"module": inner}, open=True)
            wrapper.name = name
            return s.new(wrapper)
    return None
