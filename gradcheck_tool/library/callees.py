"""The object models of what is called by name alone: library objects, their methods, unknown callees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Dict, Instance, List
from gradcheck_tool.domain.values import (
    FALSE,
    GRAPH,
    NONE,
    TRUE,
    Const,
    LibraryObject,
    Method,
    Ref,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.engine import optable
from gradcheck_tool.engine.cuts import inherit, inherit_deep
from gradcheck_tool.interp import attributes, registry, subscripts
from gradcheck_tool.interp.attributes import COUNTS
from gradcheck_tool.interp.conditions import known
from gradcheck_tool.interp.constants import is_marked, mark, unsure_graph
from gradcheck_tool.interp.facts import Used
from gradcheck_tool.interp.havoc import forget_gradients, forget_groups, forget_missing
from gradcheck_tool.interp.models import ObjectModel, models
from gradcheck_tool.interp.places import receiver_text
from gradcheck_tool.library.effects import CERTAIN, HARMLESS, SAFE, SAFE_METHODS, TENSOR_ONLY, is_inert
from gradcheck_tool.library.python.passthrough import may_have_graph
from gradcheck_tool.library.torch.dtypes import DtypeModel
from gradcheck_tool.library.torch.graph_symbols import graph_symbol, node_of
from gradcheck_tool.library.torch.handed_losses import back_propagated
from gradcheck_tool.library.torch.handed_optimizers import stepped_elsewhere
from gradcheck_tool.library.torch.module_tree import is_module
from gradcheck_tool.library.torch.opaque_modules import (
    AMONG_MODULES,
    HAS_PARAMETERS,
    USES_PARAMETERS,
    call_opaque_function,
    call_opaque_module,
    callee_text,
    computes,
    is_named_function,
    is_role,
    may_compute,
    opaque_module,
)
from gradcheck_tool.library.torch.operator_calls import OPERAND
from gradcheck_tool.library.torch.tensor_model import TensorModel
from gradcheck_tool.library.torch.tensor_numbers import write_array
from gradcheck_tool.library.torch.tensor_values import adopt, as_tensor
from gradcheck_tool.library.torch.unknown_layers import call_inherited, call_layer, one_of_layers

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
            return stepped_elsewhere(m, s, [], obj.name.rpartition(".")[2], call)
        given = [*call.args, *call.kwargs.values()]
        if may_have_graph(s, obj.name, given):
            return [(s, unknown())]
        return [(s, inherit_deep(s, _stable(obj, call), given))]

    def is_certain(self, s: State, obj: LibraryObject) -> bool:
        if obj.name in SAFE:
            return True
        executed = obj.name.startswith(CERTAIN) and registry.find(obj.name) is not None
        return executed or optable.find(obj.name) is not None


@models(Method)
class MethodModel(ObjectModel[Method]):
    """Methods of library objects and of values."""

    def is_certain(self, s: State, obj: Method) -> bool:
        if obj.name == "apply" and FUNCTION in attributes.lib_bases(s, obj.receiver):
            return True
        owner = s.heap.get(obj.receiver.id) if isinstance(obj.receiver, Ref) else None
        if isinstance(owner, Instance):
            cls = s.get(owner.cls, Class)
            bases = attributes.lib_bases(s, owner.cls) if cls is None or not cls.open else []
            # What is loaded may not fit.
            return obj.name != "load_state_dict" and any(name.startswith(CERTAIN) for name in bases)
        return isinstance(owner, Tensor) or (isinstance(owner, (List, Dict)) and obj.name in SAFE_METHODS)


@models(Symbol)
class SymbolModel(DtypeModel):
    """Values of which nothing is known."""

    def element(self, s: State, obj: Symbol, site: Any) -> Value | None:
        """What a module goes through to call it are layers."""
        return one_of_layers(s, obj)

    def get_item(self, m: Interpreter, s: State, obj: Symbol, index: Value, site: Any) -> Outcomes | None:
        """A part of a module's result that has several indices (`logits[:, 0]`) is one of a tensor."""
        if not _is_graph(obj) or not _are_positions(index):
            return None
        ref = as_tensor(m, s, obj, site)
        return None if ref is None else _TENSOR.get_item(m, s, ref, index, site)

    def set_attribute(
        self, m: Interpreter, s: State, obj: Symbol, name: str, value: Value, site: Any, augmented: bool
    ) -> list[State] | None:
        """What has its `requires_grad` set to True is a leaf: PyTorch refuses it for others.

        What has its gradient cleared may be any parameter.
        """
        if name in ("grad", "_grad") and value == NONE:
            forget_gradients(s)
        if name != "requires_grad" or known(s, value) is not True:
            return None
        ref = adopt(m, s, obj, site)
        s.edit(ref).leaf = True
        return _TENSOR.set_attribute(m, s, ref, name, value, site, augmented)

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
    ) -> list[State] | None:
        """What an operation has taken for a tensor is one, else an array perhaps.

        What an object gets into a table of its own (`graph.ndata["h"] = x`), its other tables may be computed
        from.
        """
        if obj.kind == "data" and (_is_unknown(value) or _may_have_graph(s, value)):
            mark(s, obj)
        ref = _taken_for_tensor(s, obj)
        if ref is not None:
            return _TENSOR.set_item(m, s, ref, index, value, site, text, augmented)
        write_array(s, obj, site, text)
        return None

    def binary(
        self, m: Interpreter, s: State, op: str, left: Value, right: Value, site: Any, text: Any
    ) -> Outcomes | None:
        """What an opaque module returned is a tensor where it is an operand."""
        a, b = (as_tensor(m, s, v, site) if _is_graph(v) else None for v in (left, right))
        if a is None and b is None:
            return None
        return _TENSOR.binary(m, s, op, a or left, b or right, site, text)

    def unary(self, m: Interpreter, s: State, op: str, obj: Symbol, site: Any, text: Any) -> Outcomes | None:
        ref = as_tensor(m, s, obj, site) if _is_graph(obj) else None
        return None if ref is None else _TENSOR.unary(m, s, op, ref, site, text)

    def inplace(
        self, m: Interpreter, s: State, op: str, left: Symbol, right: Value, site: Any, text: Any
    ) -> Outcomes | None:
        may_be_number = Symbol((OPERAND, left)) in s.memory and s.get(right, Tensor) is None
        taken = None if may_be_number else _taken_for_tensor(s, left)
        ref = as_tensor(m, s, left, site) if _is_graph(left) else taken
        if ref is not None:
            return _TENSOR.inplace(m, s, op, ref, right, site, text)
        write_array(s, left, site, text)
        return None

    def call(self, m: Interpreter, s: State, obj: Symbol, call: Call) -> Outcomes | None:
        """A method of something unknown: only tensors have some of them, others leave gradients alone."""
        key = obj.key
        computed = call_layer(m, s, call) if obj.kind is None else None
        if computed is not None:
            return [(s, computed)]
        if obj.kind == "data" and any(_is_object(s, value) for value in (*call.args, *call.kwargs.values())):
            forget_groups(s)
            return None
        if obj.kind is None and is_named_function(s, call):
            m.program.assume(f"`{callee_text(call)}` is a model, which saves what its backward needs")
            return [(s, call_opaque_function(s, call))]
        if not (isinstance(key, tuple) and key[0] == "attr" and isinstance(key[1], (Symbol, Ref))):
            is_data = obj.kind == "data" and not any(_is_unknown(value) for value in call.args)
            return [(s, _of_data(s, call))] if is_data else None
        return _call_method(m, s, obj, key[1], str(key[2]), call)


def _call_method(
    m: Interpreter, s: State, obj: Symbol, receiver: Symbol | Ref, name: str, call: Call
) -> Outcomes | None:
    """A method of something unknown, or one that is not known of something that is."""
    if name.startswith("register_") and name.endswith("hook") and call.args:
        m.tell(s, Used(call.args[0], name, call.site))
    if name.startswith("clip_grad") and call.args:
        m.tell(s, Used(call.args[0], "clip", call.site))
    if name in COUNTS and obj.kind in (None, GRAPH):
        return [(s, Symbol(("call", obj, tuple(call.args)), "int"))]
    if name in _OF_MODULES and _is_part(receiver) and Symbol((AMONG_MODULES, receiver)) not in s.memory:
        s.memory[receiver] = learned = opaque_module(s, receiver_text(call.site), call.site)
        m.program.assume(f"`{s[learned].name}` {HAS_PARAMETERS}")
        return m.call_method(s, learned, name, call.args, call.kwargs, call.site, call.text)
    handed = back_propagated(m, s, receiver, name, call) or stepped_elsewhere(m, s, [receiver], name, call)
    if handed is not None:
        return handed
    if isinstance(receiver, Ref):
        return _call_unseen(m, s, obj, receiver, name, call)
    if name == "backward" and any(_may_have_graph(s, value) for value in call.args):
        forget_groups(s)
        forget_missing(s)
    elif _is_tensors(s, obj, receiver, name, call):
        if name == "zero_" and _is_gradient(receiver):
            forget_gradients(s)
        tensor = adopt(m, s, receiver, call.site)
        return m.call(s, Method(tensor, name), call.args, call.kwargs, call.site, call.text, call.unsure)
    part = _part_of(s, receiver, name, call) if obj.kind == GRAPH else None
    if part is None and name == "get" and _is_entry(call):
        return subscripts.get(m, s, receiver, call.args[0], call.site)
    return [(s, part)] if part is not None else _call_other(s, obj, receiver, name, call)


def _is_entry(call: Call) -> bool:
    """Does a call of `get` ask a table for an entry by name? It gives the same one each time."""
    key, *default = (*call.args, *call.kwargs.values()) or (NONE,)
    is_name = isinstance(key, Const) and isinstance(key.value, str)
    return is_name and len(default) <= 1 and all(isinstance(value, Const) for value in default)


def _call_unseen(
    m: Interpreter, s: State, obj: Symbol, receiver: Ref, name: str, call: Call
) -> Outcomes | None:
    """A method of an object that is known, whose class does not show it."""
    if is_role(s, receiver) and (computes(name, call) or (s.grad is False and may_compute(name, call))):
        m.program.assume(f"`{callee_text(call)}` {USES_PARAMETERS} `{s[receiver].name}`")
        return [(s, call_opaque_module(m, s, receiver, call, may_detach=True))]
    inherited = call_inherited(m, s, receiver, name, call)
    if inherited is not None:
        return [(s, inherited)]
    # A module that has such a method may differentiate more than what it is given.
    if name == "backward" and (is_role(s, receiver) or any(_may_have_graph(s, value) for value in call.args)):
        forget_groups(s)
        forget_missing(s)
    return _call_other(s, obj, receiver, name, call)


def _call_other(s: State, obj: Symbol, receiver: Symbol | Ref, name: str, call: Call) -> Outcomes | None:
    """A method that shows nothing of what has it."""
    if name == "clone" and obj.kind is None and not call.args:
        # Modules have no such method.
        copied = unknown()
        s.memory[Symbol(("clone", copied))] = TRUE
        return [(s, copied)]
    if obj.kind == "data":
        counts = name in COUNTS and (name != "size" or call.args)
        number = Symbol(("call", name, (receiver, *call.args)), "int")
        return [(s, number if counts else inherit(s, _of_data(s, call), (receiver, *call.args)))]
    if not (name in HARMLESS or obj.kind == GRAPH or _is_tensor_method(name)):
        forget_groups(s)
    return None


def _is_tensors(s: State, obj: Symbol, receiver: Symbol, name: str, call: Call) -> bool:
    """Does a method show that its receiver is a tensor?"""
    if name in TENSOR_ONLY or _writes_in_place(name) or (obj.kind == GRAPH and _is_tensor_method(name)):
        return True
    if name == "requires_grad_":
        # Modules have this, too; data and sums are none, and have no gradient to turn off.
        is_value = _is_data(receiver) or _is_computed(receiver) or Symbol(("clone", receiver)) in s.memory
        return is_value and FALSE not in (*call.args, *call.kwargs.values())
    return name in _MOVES and _taken_for_tensor(s, receiver) is not None


# What hardly anything has but modules.
_OF_MODULES = frozenset({"named_parameters", "parameters"})
# What tensors and structures of them have, which gives the same elsewhere.
_MOVES = frozenset({"cpu", "cuda", "to"})
# What distributions have, which a policy returns: it is computed from their parameters.
_OF_DISTRIBUTIONS = frozenset({"entropy", "log_prob", "rsample"})
# Methods of tensors that what a module returns may have otherwise.
_OF_OTHERS = frozenset({"cpu", "cuda", "dim", "index", "indices", "names", "sample", "size", "to", "values"})


def _are_positions(index: Value) -> bool:
    """Are there several indices, none of which is a name?"""
    items = index.items if isinstance(index, Tup) else ()
    return len(items) > 1 and not any(isinstance(at, Const) and isinstance(at.value, str) for at in items)


def _part_of(s: State, result: Symbol, name: str, call: Call) -> Value | None:
    """What a method gives that tensors, dictionaries or distributions have, of what a model has returned."""
    if name in _MOVES or name in _OF_DISTRIBUTIONS or name in ("copy", "values"):
        return graph_symbol(s, node_of(s, result) or unknown())
    if name in ("get", "pop") and call.args:
        return Symbol(("item", result, call.args[0]), GRAPH)
    return None


def _is_tensor_method(name: str) -> bool:
    return name not in _OF_OTHERS and optable.find(f"torch.Tensor.{name}") is not None


def _is_gradient(value: Value) -> bool:
    """Is it the `.grad` of something unknown, or its data?"""
    key = value.key if isinstance(value, Symbol) else None
    if not isinstance(key, tuple) or key[0] != "attr":
        return False
    return key[2] in ("grad", "_grad") or (key[2] == "data" and _is_gradient(key[1]))


def _writes_in_place(name: str) -> bool:
    """Is it a method that only tensors have, one that writes? (Modules have `requires_grad_`, too.)"""
    return name.endswith("_") and name != "requires_grad_" and _is_tensor_method(name)


def _of_data(s: State, call: Call) -> Value:
    """What an object of a library returns that only carries data: data, unless it is given a graph."""
    if not any(_may_have_graph(s, value) for value in (*call.args, *call.kwargs.values())):
        return unknown("data")
    return unsure_graph(s)


def _may_have_graph(s: State, value: Value) -> bool:
    tensor = s.get(value, Tensor)
    return is_marked(s, value) if tensor is None else tensor.requires_grad is True


def _is_unknown(value: Value) -> bool:
    return isinstance(value, Symbol) and value.kind is None


def _is_data(value: Value) -> bool:
    return isinstance(value, Symbol) and value.kind == "data"


def _is_computed(value: Value) -> bool:
    """Is it what an operator makes of unknown values?"""
    return isinstance(value, Symbol) and isinstance(value.key, tuple) and value.key[0] == "op"


def _is_part(value: Value) -> bool:
    """Is it read out of something of which nothing is known either?"""
    key = value.key if isinstance(value, Symbol) and value.kind is None else None
    return isinstance(key, tuple) and key[0] in ("attr", "item") and isinstance(key[1], Symbol)


def _is_object(s: State, value: Value) -> bool:
    """Is it a module, or an object of the repository, with which code out of sight may do anything?"""
    record = s.get(value, Instance)
    return record is not None and (isinstance(record.cls, Ref) or is_module(s, record))


def _taken_for_tensor(s: State, value: Value) -> Ref | None:
    """The tensor that an operation has taken a value for."""
    known = s.memory.get(Symbol(("tensor", value)))
    return known if isinstance(known, Ref) else None


def _is_graph(value: Value) -> bool:
    return isinstance(value, Symbol) and value.kind == GRAPH


_TENSOR = TensorModel()


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
