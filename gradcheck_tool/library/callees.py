"""The object models of what is called by name alone: library objects, their methods, unknown callees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Dict, Instance, List
from gradcheck_tool.domain.values import LibraryObject, Method, Ref, Symbol, Value, unknown
from gradcheck_tool.engine import optable
from gradcheck_tool.engine.cuts import inherit_deep
from gradcheck_tool.interp import attributes, registry
from gradcheck_tool.interp.havoc import forget_groups
from gradcheck_tool.interp.models import ObjectModel, models
from gradcheck_tool.library.effects import CERTAIN, HARMLESS, SAFE, SAFE_METHODS, TENSOR_ONLY, is_inert
from gradcheck_tool.library.python.passthrough import may_have_graph
from gradcheck_tool.library.torch.dtypes import DtypeModel
from gradcheck_tool.library.torch.tensor_numbers import write_array
from gradcheck_tool.library.torch.tensor_values import adopt

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes

FUNCTION = "torch.autograd.Function"


@models(LibraryObject)
class LibraryObjectModel(DtypeModel):
    """Modules, functions and classes of libraries."""

    def call(self, m: Interpreter, s: State, obj: LibraryObject, call: Call) -> Outcomes | None:
        """A function that only computes or reports, and that the model does not know otherwise."""
        if not is_inert(obj.name):
            return None
        given = [*call.args, *call.kwargs.values()]
        if may_have_graph(s, obj.name, given):
            return [(s, unknown())]
        return [(s, inherit_deep(s, _stable(obj, call), given))]

    def is_certain(self, s: State, obj: LibraryObject) -> bool:
        if obj.name in SAFE:
            return True
        executed = obj.name in registry.FUNCTIONS and obj.name.startswith(CERTAIN)
        return executed or optable.find(obj.name) is not None


@models(Method)
class MethodModel(ObjectModel[Method]):
    """Methods of library objects and of values."""

    def is_certain(self, s: State, obj: Method) -> bool:
        if obj.name == "apply" and FUNCTION in attributes.lib_bases(s, obj.receiver):
            return True
        owner = s.heap.get(obj.receiver.id) if isinstance(obj.receiver, Ref) else None
        if isinstance(owner, Instance):
            return isinstance(owner.cls, LibraryObject) and owner.cls.name.startswith(CERTAIN)
        return isinstance(owner, Tensor) or (isinstance(owner, (List, Dict)) and obj.name in SAFE_METHODS)


@models(Symbol)
class SymbolModel(DtypeModel):
    """Values of which nothing is known."""

    def set_item(
        self,
        m: Interpreter,
        s: State,
        obj: Symbol,
        index: Value,
        value: Value,
        site: Any,
        text: Any,
        augmented: bool,
    ) -> None:
        write_array(s, obj, site, text)

    def inplace(
        self, m: Interpreter, s: State, op: str, left: Symbol, right: Value, site: Any, text: Any
    ) -> None:
        write_array(s, left, site, text)

    def call(self, m: Interpreter, s: State, obj: Symbol, call: Call) -> Outcomes | None:
        """A method of something unknown: only tensors have some of them, others leave gradients alone."""
        key = obj.key
        if not (isinstance(key, tuple) and key[0] == "attr" and isinstance(key[1], (Symbol, Ref))):
            return [(s, unknown("data"))] if obj.kind == "data" else None
        name = str(key[2])
        if name in TENSOR_ONLY and isinstance(key[1], Symbol):
            receiver = adopt(m, s, key[1], call.site)
            return m.call_method(s, receiver, name, call.args, call.kwargs, call.site, call.text)
        if obj.kind == "data":
            return [(s, unknown("data"))]
        if name not in HARMLESS:
            forget_groups(s)
        return None


def _stable(func: LibraryObject, call: Call) -> Value:
    """What an inert function returns: the same for the same arguments, unless it draws or reads."""
    leaf = func.name.rpartition(".")[2]
    values = [*call.args, *call.kwargs.values()]
    if func.name.startswith(
        ("random.", "numpy.random.", "time.", "builtins.input", "queue.", "builtins.next")
    ):
        return unknown("data")
    if leaf.startswith(("is_", "has", "get_", "exists", "isfile", "isdir", "getenv")) or leaf in (
        "len",
        "hasattr",
    ):
        return Symbol(("call", func.name, tuple(values)), "data")
    return unknown("data")
