"""Modules and parameters that a module keeps in attributes without registering them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import Site
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.records import Class, Dict, Instance, Iter, List
from gradcheck_tool.domain.values import NONE, Const, LibraryObject, Ref, Symbol, Tup, Value
from gradcheck_tool.interp.places import text_of
from gradcheck_tool.library.torch.module_tree import (
    is_modal,
    is_module,
    modules,
    named_parameters,
    parameters_in,
)
from gradcheck_tool.trackers.events import ModuleAttribute
from gradcheck_tool.trackers.notes import StoryNote
from gradcheck_tool.trackers.plain_lists import (
    handed_out,
    is_for_others,
    listed_with_parameters,
    looped_over,
    registered_later,
)
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import AttributeWritten, ObjectMade, OptimizerMade, Taken


_SEQUENCE = LibraryObject("torch.nn.Sequential")


class Unregistered(Tracker):
    """What does a module keep, once it is made, that it has not registered?

    Only what the constructor made itself is looked at, also where it gave that to a module that it made:
    an object from outside may be kept in a list just to keep it from being registered. What something else
    then takes is excused, and what another method registers, whoever calls that.
    """

    derives = (ModuleAttribute,)
    # Where tensors and containers were stored, by object and attribute.
    stores = StoryNote[tuple[Ref, str], Site]()

    def on_attribute_written(self, m: Interpreter, s: State, fact: AttributeWritten) -> None:
        """Remember where a tensor or a container is stored."""
        if s.get(fact.object, Instance) is not None and is_kept(s, fact.value):
            self.stores.set(s, (fact.object, fact.name), fact.site)  # type: ignore[arg-type]

    def on_taken(self, m: Interpreter, s: State, fact: Taken) -> None:
        """What the program handles itself is no mistake; new ones are only filled, thawed or put together."""
        if fact.by not in ("container", "data", "thawed") or not _is_in_constructor(s):
            self.clear(ref.id for ref in fact.records)

    def on_optimizer_made(self, m: Interpreter, s: State, fact: OptimizerMade) -> None:
        """What an optimizer gets is no mistake."""
        self.clear(p.id for p in fact.parameters)

    def on_object_made(self, m: Interpreter, s: State, fact: ObjectMade) -> None:
        """Look at the attributes of a module whose constructor has ended, and of modules that it made."""
        ref = fact.object
        if s.exc is not None or not self._is_known(s, ref):
            return
        inside = [(at, self._stored(s, at)) for _, at in modules(s, ref) if at.id >= ref.id]
        inside = [(at, stored) for at, stored in inside if stored and self._is_known(s, at)]
        if not inside:
            return
        known = {at.id for _, at in modules(s, ref)} | {p.id for _, p in named_parameters(s, ref)[0]}
        for at, stored in inside:
            self._look_at(s, ref, at, stored, known)

    def _is_known(self, s: State, ref: Ref) -> bool:
        """Is it a module of the repository of which nothing is out of sight?"""
        record = s.get(ref, Instance)
        cls = s.get(record.cls, Class) if record is not None and not record.open else None
        return cls is not None and not cls.open and is_module(s, s[ref])

    def _look_at(
        self, s: State, ref: Ref, at: Ref, stored: list[tuple[str, Value, Site]], known: set[int]
    ) -> None:
        """What has a module not registered that was made by the constructor of `ref`, which made it, too?"""
        makers: list[Class] = [s[s[one].cls] for one in (ref, at)]
        cls = makers[-1]
        for name, value, site in stored:
            if _is_list_of_one(site) and not looped_over(s, cls, name):
                continue
            kind, about = _unregistered(s, value, lambda r: r.id > ref.id and r.id not in known)
            if "list" in kind and is_for_others(s, cls, name):
                continue
            if kind and not any(_is_excused(s, maker, name, kind) for maker in makers):
                call = text_of(site, getattr(site.node, "value", site.node))
                unless = ((cls.name, name),) if kind == "tensor" else ()
                event = ModuleAttribute(
                    site=site, module=cls.name, attribute=name, kind=kind, call=call, unless=unless
                )
                self.hold(id(site.node), event, about)

    def _stored(self, s: State, ref: Ref) -> list[tuple[str, Value, Site]]:
        """The tensors and containers that attributes hold which are no buffers."""
        record: Instance = s[ref]
        buffers = record.attrs.get("#buffers", Tup(()))
        return [
            (name, value, site)
            for name, value in record.attrs.items()
            if not name.startswith("#")
            and Const(name) not in buffers.items  # type: ignore[union-attr]
            and (site := self.stores.get(s, (ref, name))) is not None
        ]


def _is_in_constructor(s: State) -> bool:
    """Is an object on its way to be made?"""
    return any(s[frame].function.name == "__init__" for frame in s.frames)


def is_kept(s: State, value: Value) -> bool:
    """Is it a tensor or a container, so that it matters where it is stored?"""
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    return isinstance(value, Tup) or isinstance(record, (Tensor, List, Dict, Iter))


def _is_excused(s: State, cls: Class, name: str, kind: str) -> bool:
    """Does another method register what an attribute holds, or give it to be trained?"""
    is_given = listed_with_parameters(s, cls, name) or (kind == "tensor" and handed_out(s, cls, name))
    return is_given or registered_later(s, cls, name)


def _unregistered(s: State, value: Value, is_own: Any) -> tuple[str, set[int]]:
    tensor = s.get(value, Tensor)
    if tensor is not None:
        return _unregistered_tensor(s, value, tensor, is_own)  # type: ignore[arg-type]
    # Numbers and names beside what is to be trained are settings of it.
    items = [item for item in _elements(s, value) if not isinstance(item, Const)]
    if not items or not all(is_own(i) for i in items if isinstance(i, Ref)):
        return "", set()
    params = [parameters_in(s, item) for item in items]
    about = {p.id for found in params for p in found} | {item.id for item in items if isinstance(item, Ref)}
    if not all(is_own(p) for found in params for p in found):
        return "", set()
    has_state = any(params) or any(_has_buffers(s, item) or _is_sequence(s, item) for item in items)
    if not has_state and not any(_switches(s, item) for item in items):
        return "", set()
    if all(s.get(item, Tensor) is not None for item in items):
        return ("parameter-list", about) if all(params) else ("", set())
    kind = f"{'module' if has_state else 'mode'}-{'dict' if s.get(value, Dict) is not None else 'list'}"
    return (kind, about) if all(_may_be_module(s, item) for item in items) else ("", set())


def _has_buffers(s: State, item: Value) -> bool:
    """Has a module, or one inside of it, a buffer that is no None?"""
    record = s.get(item, Instance)
    inside = modules(s, item) if record is not None and is_module(s, record) else []  # type: ignore[arg-type]
    held: list[tuple[Instance, Value]] = [(s[at], s[at].attrs.get("#buffers", Tup(()))) for _, at in inside]
    return any(
        owner.attrs.get(name.value, NONE) != NONE  # type: ignore[union-attr]
        for owner, names in held
        for name in names.items  # type: ignore[union-attr]
    )


def _switches(s: State, item: Value) -> bool:
    """Is it a module that drops something while it is trained, as `eval()` would have to tell it?"""
    record = s.get(item, Instance)
    if record is None or not is_module(s, record):
        return False
    inside: list[Ref] = [at for _, at in modules(s, item)]  # type: ignore[arg-type]
    return any(is_modal(s, at) and s[at].attrs.get("p") != Const(0.0) for at in inside)


def _is_sequence(s: State, item: Value) -> bool:
    """Is it a sequence of layers, some of which are unknown? As far as one can see, it is to be trained."""
    record = s.get(item, Instance)
    if record is None or record.cls != _SEQUENCE:
        return False
    return record.open or any(isinstance(value, Symbol) for value in record.attrs.values())


def _may_be_module(s: State, item: Value) -> bool:
    """Is it a module, or may it be one: the result of an unknown call beside modules that are known?"""
    record = s.get(item, Instance)
    return is_module(s, record) if record is not None else isinstance(item, Symbol)


def _unregistered_tensor(s: State, ref: Ref, tensor: Tensor, is_own: Any) -> tuple[str, set[int]]:
    if tensor.is_param or not tensor.requires_grad or not is_own(ref):
        return "", set()
    if tensor.leaf:
        return "tensor", {ref.id}
    sources = _leaves(s, tensor)
    if not sources or not all(s[r].requires_grad and is_own(r) for r in sources):
        return "", set()
    if len(sources) != 1:  # what a layer has computed, for example
        return "", set()
    return "moved-parameter" if s[sources[0]].is_param else "tensor", {ref.id}


def _leaves(s: State, tensor: Tensor) -> list[Ref]:
    """The first two leaves that a result was computed from; none where that is not known.

    A leaf counts as often as there are ways to it. There may be more of these than anyone can follow.
    """
    todo: list[Value] = [tensor.grad_fn] if tensor.grad_fn is not None else []
    found: list[Ref] = []
    while todo and len(found) < 2:
        at = todo.pop()
        node = s.get(at, Node)
        if node is not None:
            todo += node.inputs
        elif s.get(at, Tensor) is not None:
            found.append(at)  # type: ignore[arg-type]
        elif not isinstance(at, Const):
            return []
    return found


def _elements(s: State, value: Value, depth: int = 2) -> list[Value]:
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    items: list[Value] = []
    if isinstance(value, Tup):
        items = list(value.items)
    elif isinstance(record, List):
        items = record.items
    elif isinstance(record, Dict):
        items = list(record.items.values())
    elif isinstance(record, Iter):
        items = list(record.parts)
    if depth == 0 or not items:
        return items
    return [inner for item in items for inner in (_elements(s, item, depth - 1) or [item])]


def _is_list_of_one(site: Site) -> bool:
    """Is the assigned value written as `[x]`? That is how a module is kept from being registered.

    What is kept so is read by its index: a loop takes it for one of several.
    """
    value = getattr(site.node, "value", None)
    return type(value).__name__ in ("List", "Tuple") and len(value.elements) == 1  # type: ignore[union-attr]
