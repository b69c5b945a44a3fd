"""Modules and criteria of which only the role is known: what they return has a graph of unknown structure.

An opaque module has parameters that require a gradient, which it saves for backward, as all layers do but
the first; what else it saves is not known. Its result is a symbol of the kind `GRAPH`: whatever is read out
of it (an attribute, an item, a part of a tuple) is of that kind, too, and becomes a tensor with a graph
through the parameters where it is used as one; one without a graph, where grad mode was off.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import ConstantInput, Node, Tensor
from gradcheck_tool.domain.records import Dict, Instance, List
from gradcheck_tool.domain.values import (
    ELSEWHERE,
    GRAPH,
    NONE,
    TRUE,
    Const,
    LibraryObject,
    Ref,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.engine import edges
from gradcheck_tool.engine.cuts import cuts_of, cuts_of_result
from gradcheck_tool.engine.operations import saved
from gradcheck_tool.engine.tensors import new_tensor
from gradcheck_tool.interp.constants import is_from_arguments, unsure_graph
from gradcheck_tool.interp.havoc import forget_filled
from gradcheck_tool.interp.places import receiver_text
from gradcheck_tool.interp.registry import Result, method
from gradcheck_tool.library.torch.graph_symbols import (
    constant_symbol,
    cuts_behind,
    graph_symbol,
    node_of,
)
from gradcheck_tool.library.torch.module_tree import SEQUENTIAL, named_parameters
from gradcheck_tool.library.torch.tensor_values import as_tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes

CRITERION = "#criterion"
# Marks what a loop goes through after a module that is known: it may be a part of that.
AMONG_MODULES = "among modules"
# What is assumed of an object whose class is not known and whose uses show a module.
HAS_PARAMETERS = "has parameters that require a gradient"
# What is assumed of a method of one whose class does not show it.
USES_PARAMETERS = "computes with the parameters of"
# What a callee writes down in for others to read.
_LOG = re.compile(r"^(?:records?|logs?|logger|metrics?|stats?|infos?|meters?|history|writer)$")
# How deep tensors are looked for in what a module is given.
_DEPTH = 4
# Methods of modules that compute with their parameters as `forward` does, and what is done without a graph.
_COMPUTES = re.compile(
    r"forward|encode|decode|evaluat|log_?prob|logit|embed|feature|extract|score|energy|value|critic|actor|policy|"
    r"classif|head|reconstruct|project|denois|judge|loss|nll|predict"
)
_WITHOUT_GRAPH = re.compile(
    r"^_|^(?:get|set|load|save|init|reset|is|has|num|add|remove|register|log|print|make|create|build|eval|train)(?:_|$)"
    r"(?!prob|loss(?:$|_(?:for|of|on)_)|nll|elbo|logits?$)|"
    r"backward|step|update|optim|action$"
)
# Functions that stand for a model.
_FUNCTION = re.compile(
    r"(?:^|[._])(?:model|net|network|score|energy|potential|classifier|predict|forward|logits?)_?"
    r"(?:fn|func|function)$"
)


def opaque_module(s: State, name: str, site: Site) -> Ref:
    """A module of which only the role is known."""
    record = Instance(LibraryObject("torch.nn.Module"), {"#group": _group(s, name, site)}, open=True)
    record.name = name
    return s.new(record)


def fill_unknown(m: Interpreter, s: State, ref: Ref, site: Site) -> None:
    """The parameters of a Sequential are asked for of which no part is known: it is a module all the same."""
    record: Instance = s[ref]
    parts = [value for name, value in record.attrs.items() if name.isdecimal()]
    is_unknown = all(
        isinstance(part, Symbol) and part.kind is None and part not in s.memory for part in parts
    )
    is_sequential = isinstance(record.cls, LibraryObject) and record.cls.name in SEQUENTIAL
    if not is_sequential or not parts or not is_unknown or "#group" in record.attrs:
        return
    mine = s.edit(ref)
    mine.name = receiver_text(site) or mine.name
    mine.attrs["#group"], mine.open = _group(s, str(mine.name), site), True
    m.program.assume(f"`{mine.name}` {HAS_PARAMETERS}")


def made_in_short(m: Interpreter, s: State, call: Call) -> Result:
    """A constructor that takes too much work to be executed: its module has parameters, and more."""
    out: Outcomes = []
    for state, _ in m.call_unknown(s, call):
        mine: Instance = state.edit(call.self)
        if "#group" not in mine.attrs:
            name = str(mine.name or state[mine.cls].name)  # type: ignore[index]
            mine.attrs["#group"], mine.open = _group(state, name, call.site), True
            m.program.assume(f"`{name}` {HAS_PARAMETERS}")
        out.append((state, NONE))
    return out


def _group(s: State, name: str, site: Site) -> Ref:
    """What stands for all parameters of a module."""
    group = new_tensor(s, site, requires_grad=True, leaf=True, name=f"{name}'s parameters")
    tensor: Tensor = s[group]
    tensor.is_summary = tensor.is_param = True
    tensor.grad_state = "unknown"
    return group


def is_role(s: State, ref: Ref) -> bool:
    """Is it a module of which only the role is known?"""
    record = s.get(ref, Instance)
    return record is not None and "#group" in record.attrs and record.cls == LibraryObject("torch.nn.Module")


def computes(name: str, call: Call) -> bool:
    """Does a method of a module, by its name and what it gets, compute with the module's parameters?"""
    return _COMPUTES.search(name) is not None and may_compute(name, call)


def may_compute(name: str, call: Call) -> bool:
    """May a method of a module, by its name and what it gets, compute with the module's parameters?"""
    given = [value for value in (*call.args, *call.kwargs.values()) if not isinstance(value, Const)]
    return (bool(given) or call.unsure) and is_computation(name)


def is_computation(name: str) -> bool:
    """May a method that is called so compute a result with a graph?"""
    return _WITHOUT_GRAPH.search(name) is None


def call_opaque_module(m: Interpreter, s: State, ref: Ref, call: Call, *, may_detach: bool = False) -> Value:
    """The result of an opaque module; one that is told how to differentiate may have filled gradients.

    `may_detach`: it may detach what it is given, as methods beside `forward` do (a discriminator's loss).
    """
    forget_filled(s, [*call.args, *call.kwargs.values()], call.kwargs)
    parameters = [parameter for _, parameter in named_parameters(s, ref)[0]]
    trained = [p for p in parameters if s[p].requires_grad]
    if s.grad is False:
        before = [cut for given in _constants(s, call) for cut in given.severed]
        cuts = cuts_of_result(s, "no-grad", trained, before, call.site, call.text)
        return constant_symbol(s, call.site, cuts)
    for value in (*call.args, *call.kwargs.values()):
        if isinstance(value, Symbol) and value.kind == "data":
            s.memory[Symbol(("given", value))] = TRUE
    # What else it reads is unknown: attributes that were set on it, closures, hooks.
    given = [] if may_detach else _histories(s, call, is_recorded=bool(trained))
    if s.grad is None or not (trained or any(isinstance(at, Ref) for at in given)):
        return unsure_graph(s)
    inputs = [*(edges.history(s, p) for p in trained), *given, unknown(ELSEWHERE)]
    node = _node(s, "module", call, inputs)
    mine: Node = s.edit(node)
    mine.saved_tensors = tuple(saved(s, p, NONE, "weight", call.site, itself=True) for p in trained)
    mine.constant_inputs = () if may_detach else tuple(_constants(s, call))
    return graph_symbol(s, node)


def _constants(s: State, call: Call) -> Iterator[ConstantInput]:
    """The arguments that were cut off from something."""
    for value in _parts(s, (*call.args, *call.kwargs.values())):
        tensor = s.get(value, Tensor)
        if tensor is not None and (cuts := cuts_of(s, value)):  # type: ignore[arg-type]
            yield ConstantInput(tensor.name, tensor.shape, cuts, tensor.storage)
        elif isinstance(value, Symbol) and value.kind == GRAPH and (cuts := cuts_behind(s, value)):
            yield ConstantInput("", None, cuts, cuts[-1].storage)


@method(CRITERION, "__call__")
def call_criterion(m: Interpreter, s: State, call: Call) -> Result:
    """A criterion gives a single number that depends on its arguments, or several things that do."""
    record = s.get(call.receiver, Instance)
    gives_parts = record is not None and "#parts" in record.attrs
    inputs = [edge for edge in _histories(s, call) if edge != NONE]
    tensors = [ref for ref in (_tensor(m, s, value, call) for value in call.args) if ref is not None]
    if not inputs and tensors:
        if gives_parts:
            return graph_symbol(s, NONE)
        effect = engine.Effect(node="criterion", frees=True)
        return engine.apply(s, effect, {"args": tensors}, call.site, call.text, [()])[0]
    if s.grad is not True or not inputs:
        return unknown()
    node = _node(s, "criterion", call, inputs)
    if gives_parts:
        return graph_symbol(s, node)
    ref = new_tensor(s, call.site, requires_grad=True, leaf=False, shape=(), name=str(call.text))
    s.edit(ref).grad_fn = node
    return ref


def is_named_function(s: State, call: Call) -> bool:
    """Is it a model that is given as a function, and called with a tensor that requires a gradient?"""
    is_named = _FUNCTION.search(callee_text(call)) is not None
    return is_named and call_is_recorded(s, *call.args, *call.kwargs.values())


def call_is_recorded(s: State, *given: Value) -> bool:
    """Does a call that computes with these values make a graph, as one of them requires a gradient?"""
    if s.grad is not True:
        return False
    tensors = (s.get(value, Tensor) for value in _parts(s, given))
    return any(tensor is not None and tensor.requires_grad for tensor in tensors)


def call_opaque_function(s: State, call: Call) -> Value:
    """The result of an unknown layer or of a model given as a function: its graph leads to the arguments."""
    forget_filled(s, [*call.args, *call.kwargs.values()], call.kwargs)
    return graph_symbol(s, _node(s, "module", call, [*_histories(s, call), unknown()]))


def callee_text(call: Call) -> str:
    """What is called, as the program writes it."""
    return str(call.text).partition("(")[0]


def criterion(s: State, name: str, *, parts: bool) -> Ref:
    """An object that is called with predictions and targets; `parts`: it returns several things."""
    record = Instance(LibraryObject(CRITERION), {"#parts": TRUE} if parts else {}, open=True)
    record.name = name
    return s.new(record)


def _histories(s: State, call: Call, *, is_recorded: bool = False) -> list[Value]:
    """The edges of the arguments that are tensors, or parts of what an opaque module returned."""
    found: list[Value] = []
    tensors: list[Ref] = []
    named = [value for name, value in call.kwargs.items() if _LOG.search(name) is None]
    for value in _parts(s, (*call.args, *named)):
        if isinstance(value, Symbol) and value.kind == GRAPH:
            node = node_of(s, value)
            found += [node] if isinstance(node, Ref) else []
        elif isinstance(value, Symbol) and value.kind is None:
            found.append(unknown(ELSEWHERE) if is_from_arguments(s, value) else unknown())
        elif isinstance(value, Ref) and s.get(value, Tensor) is not None:
            tensors.append(value)
    is_recorded = is_recorded or any(isinstance(at, Ref) for at in found)
    return [*edges.edges_of(s, tensors, is_recorded=is_recorded), *found]


def _parts(s: State, values: Iterable[Value], depth: int = _DEPTH) -> Iterator[Value]:
    """Values, and what tuples, lists and dictionaries among them hold: lists may hold themselves."""
    for value in values:
        row, table = s.get(value, List), s.get(value, Dict)
        if not depth:
            yield value
        elif isinstance(value, Tup) or row is not None:
            yield from _parts(s, value.items if row is None else row.items, depth - 1)  # type: ignore[union-attr]
        elif table is not None:
            yield from _parts(s, table.items.values(), depth - 1)
        else:
            yield value


def _tensor(m: Interpreter, s: State, value: Value, call: Call) -> Ref | None:
    """A tensor, or a part of what an opaque module returned; None for anything else."""
    is_known = isinstance(value, Ref) or (isinstance(value, Symbol) and value.kind == GRAPH)
    return as_tensor(m, s, value, call.site) if is_known else None


def _node(s: State, op: str, call: Call, inputs: list[Value]) -> Ref:
    node = Node(op, call.text, call.site)
    node.inputs, node.frees, node.needs = tuple(inputs), True, None
    return s.new(node)
