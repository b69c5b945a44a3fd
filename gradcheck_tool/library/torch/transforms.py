"""Functions that call other code or copy objects: checkpoint, deepcopy, functional calls."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import Node, SavedTensor, Storage, Tensor
from gradcheck_tool.domain.records import Dict, Instance, List
from gradcheck_tool.domain.values import NONE, Const, LibraryObject, Ref, Tup, Value, fresh, unknown
from gradcheck_tool.engine.errors import story
from gradcheck_tool.interp import attributes, registry
from gradcheck_tool.interp.facts import Taken
from gradcheck_tool.interp.registry import Result, function
from gradcheck_tool.library.torch.module_tree import modules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes

DEEPCOPY = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
)


# -- copies -----------------------------------------------------------------------------------------


# Methods by which a class of the program decides itself what a copy has.
_COPIES = ("__deepcopy__", "__getstate__", "__reduce__", "__reduce_ex__")


@function("copy.deepcopy")
def deepcopy(m: Interpreter, s: State, call: Call) -> Result:
    """Copies of leaves are leaves of their own; results of operations cannot be copied.

    What a table of the program's own says is copied already is not known.

    Raises:
        Raised: for tensors that are not leaves.
    """
    if s.get(call.get(1, "memo"), Dict) is not None:
        return unknown()
    done: dict[int, Ref] = {}
    copy = _copy(s, call.args[0] if call.args else NONE, done, call.site, call)
    m.tell(s, Taken(list(done.values()), "copy", call.site))
    return copy


def _copy(s: State, value: Value, done: dict[int, Ref], site: Any, call: Call) -> Value:
    if isinstance(value, Tup):
        return Tup(
            tuple(_copy(s, v, done, site, call) for v in value.items), value.fields, value.cls, value.open
        )
    if not isinstance(value, Ref):
        return value
    if value.id in done:
        return done[value.id]
    record = s.heap[value.id]
    if isinstance(record, Tensor):
        return _copy_tensor(s, value, record, done, site, call)
    if isinstance(record, Instance) and any(attributes.in_class(s, record.cls, name) for name in _COPIES):
        return unknown()
    if isinstance(record, (List, Dict, Instance)):
        new = record.clone(s.owner)
        ref = s.new(new)
        done[value.id] = ref
        _copy_parts(s, new, done, site, call)
        return ref
    return value


def _copy_parts(s: State, new: Any, done: dict[int, Ref], site: Any, call: Call) -> None:
    if isinstance(new, List):
        new.items = [_copy(s, v, done, site, call) for v in new.items]
    elif isinstance(new, Dict):
        new.items = {k: _copy(s, v, done, site, call) for k, v in new.items.items()}
    else:
        keep = isinstance(new.cls, LibraryObject) and new.cls.name.startswith("#")
        new.attrs = {
            k: v if keep or k == "#hook" else _copy(s, v, done, site, call) for k, v in new.attrs.items()
        }


def _copy_tensor(s: State, ref: Ref, tensor: Tensor, done: dict[int, Ref], site: Any, call: Call) -> Ref:
    if tensor.leaf is False and tensor.requires_grad:
        made = f"`{tensor.name}` is computed here, so it is not a leaf"
        raise engine.refused(site, tensor, made, DEEPCOPY, "non-leaf-deepcopy", str(call.text))
    new = tensor.clone(s.owner)
    assert isinstance(new, Tensor)
    new.storage = s.new(Storage())
    new.base, new.view, new.hooks = None, None, ()
    copy = s.new(new)
    done[ref.id] = copy
    return copy


@function("copy.copy")
def shallow(m: Interpreter, s: State, call: Call) -> Result:
    value = call.args[0] if call.args else NONE
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, (List, Dict, Instance)):
        return s.new(record.clone(s.owner))
    return value if not isinstance(record, Tensor) else unknown()


# -- checkpoint -------------------------------------------------------------------------------------


@function("torch.utils.checkpoint.checkpoint")
def checkpoint(m: Interpreter, s: State, call: Call) -> Result:
    """Runs the function now and again in backward, so that what it saves are its inputs alone.

    Reentrant: the result requires grad only if an argument does.
    """
    func = call.get(0, "function") or unknown()
    args = call.args[1:]
    tensors = [a for a in args if isinstance(a, Ref) and s.get(a, Tensor) is not None]
    reentrant = call.flag(-1, "use_reentrant", True)
    kwargs = {
        k: v
        for k, v in call.kwargs.items()
        if k
        not in ("use_reentrant", "preserve_rng_state", "function", "determinism_check", "context_fn", "debug")
    }
    needed = (
        engine.requires(s, tensors)
        if len(tensors) == len([a for a in args if not isinstance(a, Const)])
        else None
    )
    out: Outcomes = []
    before = s.grad
    cut = reentrant is True and needed is False
    if cut:
        s.grad = False
    if before and not s.inference and reentrant is not None and (needed or not reentrant):
        _refuse_inference(s, tensors, call)
    # A checkpoint that is not reentrant passes its arguments on and does not ask for their histories.
    edge = engine.history if reentrant is False else engine.edge
    # What hooks keep, they alone know.
    kept = tensors if s.saving_hooks == NONE else []
    inputs = tuple(engine.saved(s, ref, edge(s, ref), "input", call.site, itself=True) for ref in kept)
    start = fresh()
    for state, value in m.call(s, func, args, kwargs, call.site, call.text):
        state.grad = before
        _recompute(state, start, inputs, reentrant is True)
        if reentrant is True and needed and before and state.exc is None:
            value = _as_one_operation(state, value, tensors, inputs, call)
        if cut and state.exc is None:
            for item in value.items if isinstance(value, Tup) else (value,):
                if state.get(item, Tensor) is not None:
                    made = state.edit(item)  # type: ignore[arg-type]
                    made.detached_because = "checkpoint"
                    made.detached_story = (
                        story(call.site, "reentrant checkpoint of inputs that do not require grad"),
                    )
        out.append((state, value))
    return out


def _refuse_inference(s: State, tensors: Sequence[Ref], call: Call) -> None:
    """The inputs are saved, whatever is computed from them.

    Raises:
        Raised: for a tensor that was made in inference mode.
    """
    for tensor in (s[ref] for ref in tensors):
        if tensor.inference:
            why = f"`{tensor.name}` is made in inference mode here"
            raise engine.refused(
                call.site, tensor, why, engine.INFERENCE_SAVE, "inference-save", str(call.text)
            )


def _recompute(s: State, start: int, inputs: tuple[SavedTensor, ...], reentrant: bool) -> None:
    """The nodes made since compute again what they need, from inputs and parameters as they are then.

    `reentrant`: a pass of their own differentiates them, which backward starts.
    """
    given = {slot.storage for slot in inputs}
    for ref, node in list(s.records(Node)):
        if ref.id > start:
            mine = s.edit(ref)
            mine.reentrant = reentrant
            if node.saved_tensors:
                again = tuple(
                    dataclasses.replace(slot, unchecked="recomputed")
                    for slot in node.saved_tensors
                    if slot.storage not in given and s.get(slot.edge, Tensor) is not None
                )
                mine.saved_tensors, mine.needs = (*inputs, *again), None


def _as_one_operation(
    s: State, value: Value, tensors: Sequence[Ref], inputs: tuple[SavedTensor, ...], call: Call
) -> Value:
    """What a reentrant checkpoint returns: results of one custom Function that saves its inputs.

    What the function itself has recorded is differentiated by a pass of its own behind that. A result
    without a history requires grad, too, if it is of a kind that can: what its backward does is not known.
    """
    items = value.items if isinstance(value, Tup) else (value,)
    for item in items:
        constant = s.get(item, Tensor)
        if constant is not None and constant.requires_grad is False and constant.dtype not in ("int", "bool"):
            made = s.edit(item)  # type: ignore[arg-type]
            made.requires_grad, made.leaf, made.unsure_graph = None, None, True
    refs: list[Ref] = [
        i for i in items if isinstance(i, Ref) and s.get(i, Tensor) is not None and s[i].requires_grad
    ]
    if not refs:
        return value
    node = Node("CheckpointFunctionBackward", call.text, call.site)
    node.inputs = tuple(engine.edge(s, ref) for ref in refs)
    node.saved_tensors, node.needs, node.frees, node.reentrant = inputs, None, True, True
    at = s.new(node)
    wrapped: dict[Value, Value] = {}
    for ref in refs:
        wrapped[ref] = handed = engine.function_output(s, ref, tensors, call.site, call.text)
        made = s.edit(handed)
        made.requires_grad, made.leaf, made.grad_fn = True, False, at
    out = tuple(wrapped.get(item, item) for item in items)
    return dataclasses.replace(value, items=out) if isinstance(value, Tup) else out[0]


@function("torch.utils.checkpoint.checkpoint_sequential")
def checkpoint_sequential(m: Interpreter, s: State, call: Call) -> Result:
    """Every segment but the last is checkpointed: as a direct call of the functions, one after the other.

    With the reentrant variant and an input that does not require grad, only the last segment has a graph.
    """
    funcs, value = call.get(0, "functions") or unknown(), call.get(2, "input") or unknown()
    if call.flag(-1, "use_reentrant", True) is not False or s.get(funcs, Instance) is None:
        return unknown()
    return m.call(s, funcs, [value], {}, call.site, call.text)


# -- functional -------------------------------------------------------------------------------------


@function("torch.func.functional_call", "torch.nn.utils.stateless.functional_call")
def functional_call(m: Interpreter, s: State, call: Call) -> Result:
    """Call a module with other tensors in place of its parameters."""
    module, table = (
        call.get(0, "module") or NONE,
        s.get(call.get(1, "parameter_and_buffer_dicts") or NONE, Dict),
    )
    args = call.get(2, "args") or NONE
    if s.get(module, Instance) is None or table is None or table.open:
        return unknown()
    saved: list[tuple[Ref, str, Value]] = []
    for prefix, at in modules(s, module):  # type: ignore[arg-type]
        for key, value in table.items.items():
            owner, _, leaf = str(registry.const(key, "")).rpartition(".")
            if owner == prefix and leaf in s[at].attrs:
                saved.append((at, leaf, s[at].attrs[leaf]))
                s.edit(at).attrs[leaf] = value
    given: list[Value] = list(args.items) if isinstance(args, Tup) else [args]
    out: Outcomes = []
    for state, value in m.call(s, module, given, {}, call.site, call.text):
        for at, leaf, old in saved:
            state.edit(at).attrs[leaf] = old
        out.append((state, value))
    return out
