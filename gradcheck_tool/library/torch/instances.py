"""The object models of instances, classes and `super()`: what library classes add to those of the program."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.records import Class, Instance
from gradcheck_tool.domain.values import (
    Bound,
    Const,
    LibraryObject,
    Method,
    Ref,
    Slice,
    Super,
    Symbol,
    Value,
    unknown,
)
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.api import Call
from gradcheck_tool.interp.exceptions import guard
from gradcheck_tool.interp.holders import note_given
from gradcheck_tool.interp.models import ObjectModel, models
from gradcheck_tool.interp.subscripts import item_of
from gradcheck_tool.library.effects import CERTAIN
from gradcheck_tool.library.torch import module_calls, module_tree, opaque_modules
from gradcheck_tool.library.torch.data import batch
from gradcheck_tool.library.torch.model_names import find_method
from gradcheck_tool.library.torch.module_containers import container
from gradcheck_tool.library.torch.module_names import MODULE_METHODS
from gradcheck_tool.library.torch.shown_modules import assume_shown, show
from gradcheck_tool.library.torch.tensor_classes import made_tensor

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes
    from gradcheck_tool.interp.registry import Native, Result

# What stands for methods of modules that take too much work to be executed.
_IN_SHORT = {"__init__": opaque_modules.made_in_short, "forward": module_calls.forward_in_short}
# What classes of the library do when no class of the program does it.
SILENT = ("__init__", "__init_subclass__", "__setattr__", "__enter__", "__exit__", "__setstate__")


@models(Instance)
class InstanceModel(ObjectModel[Ref]):
    """Objects whose class is of a library, or derives from such a class."""

    def method(self, s: State, obj: Ref, name: str) -> Native | None:
        return find_method(s, obj, name)

    def stand_in(self, s: State, obj: Ref, name: str) -> Native | None:
        """A module's constructor gives it parameters, its `forward` a result whose graph leads to them."""
        native = _IN_SHORT.get(name)
        is_known = native is not None and module_tree.is_module(s, s[obj])
        return native if is_known else super().stand_in(s, obj, name)

    def get_attribute(self, m: Interpreter, s: State, obj: Ref, name: str, site: Any) -> Outcomes | None:
        """Attributes of library objects; those that are not methods are registered as `.name`."""
        native = find_method(s, obj, f".{name}")
        if native is not None:
            call = Call(Method(obj, name), [], {}, site, "", obj)
            return guard(m, s, native, m, s, call)
        if _inherits(s, obj, name):
            return [(s, Method(obj, name))]
        record: Instance = s[obj]
        if not isinstance(record.cls, LibraryObject) or record.open:
            return None
        is_data = name.startswith(("in_", "out_", "num_", "hidden_"))
        key = Symbol(("attr", obj, name), "data" if is_data else None)
        return [(s, s.memory.get(key, Method(obj, name)))]

    def get_item(self, m: Interpreter, s: State, obj: Ref, index: Value, site: Any) -> Outcomes | None:
        """Items of namespaces and of containers of modules."""
        record: Instance = s[obj]
        if record.cls == LibraryObject("types.SimpleNamespace") and isinstance(index, Const):
            known = record.attrs.get(str(index.value))
            if known is not None:
                return [(s, known)]
        if module_tree.is_mapping(s, record):
            return [(s, module_tree.mapped(record, index) or unknown())]
        items = module_tree.container_items(s, obj)
        if items is None:
            return None
        value = item_of(s, items, record.open, index, is_list=True)
        if isinstance(index, Slice) and isinstance(value, Ref):
            value = container(s, record.cls, s[value].items, site)
        return [(s, value)]

    def set_item(
        self,
        m: Interpreter,
        s: State,
        obj: Ref,
        index: Value,
        value: Value,
        site: Any,
        text: Any,
        augmented: bool,
    ) -> list[State]:
        module_tree.set_container_item(s, obj, index, value)
        return [s]

    def call(self, m: Interpreter, s: State, obj: Ref, call: Call) -> Outcomes | None:
        record: Instance = s[obj]
        own = attributes.in_class(s, record.cls, "__call__")
        if own is not None:
            return m.call(s, Bound(obj, own), call.args, call.kwargs, call.site, call.text, call.unsure)
        if module_tree.is_module(s, record):
            assume_shown(m, s, record)
            return guard(m, s, module_calls.call_module, m, s, obj, call)
        call.receiver = obj
        native = find_method(s, obj, "__call__")
        return None if native is None else guard(m, s, native, m, s, call)

    def is_certain(self, s: State, obj: Ref) -> bool:
        cls = s[obj].cls
        return isinstance(cls, LibraryObject) and cls.name.startswith(CERTAIN)

    def created(self, s: State, obj: Ref) -> None:
        if module_tree.is_module(s, s[obj]):
            s.edit(obj).attrs.setdefault("training", Const(True))

    def element(self, s: State, obj: Ref, site: Any) -> Value | None:
        return batch(s, obj, site)

    def elements(self, s: State, obj: Ref) -> list[Value] | None:
        return module_tree.container_items(s, obj)


def _inherits(s: State, obj: Ref, name: str) -> bool:
    """Has a class of a library, from which the object's class derives, certainly a method of this name?"""
    if find_method(s, obj, name) is not None:
        return True
    record: Instance = s[obj]
    if isinstance(record.cls, LibraryObject) or record.open:
        return False
    bases = [base for base in attributes.lib_bases(s, record.cls) if base.startswith("builtins.")]
    if any(hasattr(getattr(builtins, base.removeprefix("builtins."), None), name) for base in bases):
        return True
    return name in MODULE_METHODS and module_tree.is_module(s, record)


@models(Class)
class ClassModel(ObjectModel[Ref]):
    """Classes of the program: methods that are called on the class itself, and what is no plain object."""

    def method(self, s: State, obj: Ref, name: str) -> Native | None:
        return find_method(s, obj, name)

    def call(self, m: Interpreter, s: State, obj: Ref, call: Call) -> Outcomes | None:
        return made_tensor(m, s, obj, call)

    def defined(self, m: Interpreter, s: State, obj: Ref, site: Any) -> None:
        show(m, s, obj, site)


@models(Super)
class SuperModel(ObjectModel[Super]):
    """`super()`, where the method is a library class's."""

    def method(self, s: State, obj: Super, name: str) -> Native | None:
        itself = obj.receiver

        def on_receiver(m: Interpreter, st: State, call: Call) -> Result:
            call.receiver = itself
            native = find_method(st, itself, name)
            if native is not None:
                return native(m, st, call)
            inner = st.get(itself, Instance)
            is_module = inner is not None and name == "forward" and module_tree.is_module(st, inner)
            if is_module and isinstance(itself, Ref):
                return module_calls.library_forward(m, st, itself, call)
            if name == "__init__" and inner is not None and inner.open:
                note_given(st, itself, [*call.args, *call.kwargs.values()])
            return Const(None) if name in SILENT else m.call_unknown(st, call)

        return on_receiver
