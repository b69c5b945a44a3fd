"""`backward`, `torch.autograd.grad`, hooks, and custom `autograd.Function`s."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import (
    BackwardCall,
    FreedGraph,
    FunctionDefect,
    FunctionError,
    HookMisuse,
    InvalidTensorUse,
)
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.records import Class, Func, Instance, List
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Const,
    LibraryObject,
    Method,
    NoGradient,
    Ref,
    Super,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.engine import backward as graph
from gradcheck_tool.engine import operations as engine
from gradcheck_tool.engine.operations import Raised, story
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.iteration import elements
from gradcheck_tool.interp.registry import Result, function, method
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch import function_text as contracts
from gradcheck_tool.library.torch.function_results import Applied, check, takes
from gradcheck_tool.library.torch.gradient_edges import tensor_of
from gradcheck_tool.library.torch.tensors import as_tensor, receiver
from gradcheck_tool.trackers import distributed, inner_updates, losses
from gradcheck_tool.trackers import gradient_reach as breaks
from gradcheck_tool.trackers import retained_graphs as kept
from gradcheck_tool.trackers.freed_graph_cause import cause_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes


# -- backward ---------------------------------------------------------------------------------------


@method("tensor", "backward")
def backward(m: Interpreter, s: State, call: Call) -> Result:
    root = receiver(m, s, call)
    gradient = call.get(0, "gradient")
    return _backward(m, s, [root], [gradient or NONE], call, offset=1)


@function("torch.autograd.backward")
def backward_function(m: Interpreter, s: State, call: Call) -> Result:
    roots = _tensors(m, s, call.get(0, "tensors") or NONE, call.site)
    if not roots:
        return _opaque_backward(s, call.site)
    gradients = call.get(1, "grad_tensors")
    given = _cotangents(s, gradients, len(roots))
    _check_count(s, roots, gradients, call)
    return _backward(m, s, roots, given, call, offset=2)


def _tensors(m: Interpreter, s: State, value: Value, site: Any) -> list[Ref]:
    one = as_tensor(m, s, tensor_of(s, value), site)
    if one is not None:
        return [one]
    found = [as_tensor(m, s, tensor_of(s, item), site) for item in elements(s, value)[0]]
    return [ref for ref in found if ref is not None]


def _cotangents(s: State, value: Value | None, count: int) -> list[Value]:
    if value is None or value == NONE:
        return [NONE] * count
    if s.get(value, Tensor) is not None:
        return [value] * count
    items, is_open = elements(s, value)
    return [items[i] if i < len(items) else (unknown() if is_open else NONE) for i in range(count)]


def _check_count(s: State, roots: Sequence[Ref], gradients: Value | None, call: Call) -> None:
    """There is a gradient (or None) for each of the differentiated tensors.

    Raises:
        Raised: where there are certainly fewer.
    """
    if gradients is None or gradients == NONE:
        return
    items, is_open = elements(s, gradients) if s.get(gradients, Tensor) is None else ([gradients], False)
    if len(items) < len(roots) and not is_open:
        raise Raised(
            InvalidTensorUse(
                site=call.site,
                text=f"got {len(roots)} tensors and {len(items)} gradients",
                kind="grad-count",
                tensor=str(s[roots[0]].name),
                call=str(call.text),
            )
        )


def _empty_inputs(call: Call, name: str) -> Raised:
    return Raised(
        InvalidTensorUse(
            site=call.site,
            text=f"`inputs` argument to `{name}()` cannot be empty.",
            kind="empty-inputs",
            tensor="",
            call=str(call.text),
        )
    )


def _backward(
    m: Interpreter, s: State, roots: list[Ref], given: list[Value], call: Call, offset: int
) -> Result:
    create = call.flag(offset + 1, "create_graph", False)
    old = call.flag(-1, "retain_variables", create)  # its name before PyTorch 0.3
    retain = create if call.get(offset, "retain_graph") == NONE else call.flag(offset, "retain_graph", old)
    inputs = call.get(offset + 2, "inputs")
    p = graph.Pass(
        roots,
        [g != NONE for g in given],
        retain,
        create,
        call.site,
        call.text,
        cotangents=given,
        inputs=None if inputs is None or inputs == NONE else _tensors(m, s, inputs, call.site),
    )
    if p.inputs is not None and not p.inputs and not elements(s, inputs or NONE)[1]:
        raise _empty_inputs(call, "backward")
    run_pass(m, s, p)
    retained = _retained(s, p)
    targets = p.leaves if p.inputs is None else [r for r in p.inputs if r in p.leaves or p.opaque]
    scaled = any(Symbol(("scaled", root)) in s.memory for root in roots)
    for leaf in targets:
        only_scaled = scaled and s[leaf].grad_state in ("none", "zeroed", "scaled")
        graph.accumulate(s, p, leaf)
        if only_scaled:
            s.edit(leaf).grad_state = "scaled"
    for ref in retained:
        graph.accumulate(s, p, ref)
    if p.opaque or any(s[r].requires_grad is None for r in roots):
        _fill_groups(s, p)
    for root in roots:
        if s[root].requires_grad is None:
            s.edit(root).requires_grad = True
    cuts, terms = breaks.judge(m, s, p)
    zero = breaks.zero_gradient(s, p, m.ledger)
    if zero is not None:
        m.emit(zero)
    made = next((str(s[r].made_leaf) for r in roots if s[r].leaf and s[r].made_leaf), "")
    m.emit(
        BackwardCall(
            site=call.site,
            root=str(s[roots[0]].name),
            retain_graph=bool(retain),
            create_graph=bool(create),
            breaks=cuts,
            constant_terms=terms,
            made_leaf=made,
        )
    )
    states = _run_functions(m, s, p)
    return [(st, NONE) for state in states for st in _run_hooks(m, state, p)]


def run_pass(m: Interpreter, s: State, p: graph.Pass) -> None:
    """Run a pass; complete the story of what it raises, report what is silently wrong.

    Raises:
        Raised: where the engine would.
    """
    try:
        graph.run(s, p)
    except Raised as error:
        if isinstance(error.event, FreedGraph):
            freed = dataclasses.replace(cause_of(s, error.event), carrier=breaks.carrier(s, p))
            raise Raised(freed, error.kind) from error
        raise
    breaks.note_pass(m, p)
    kept.note_pass(m, p)
    losses.note_pass(m, p)
    inner_updates.note_pass(m, p)
    distributed.note_pass(m, s, p)
    for event in p.silent[:1]:
        m.emit(event)


def _opaque_backward(s: State, site: Any) -> Value:
    for ref, tensor in s.records(Tensor):
        if tensor.leaf is not False:
            mine = s.edit(ref)
            mine.grad_state, mine.grad = "unknown", unknown()
    return NONE


def _fill_groups(s: State, p: graph.Pass) -> None:
    """A graph that goes on unseen reaches parameters that are not known one by one, perhaps others."""
    reached = {leaf.id for leaf in p.leaves}
    for ref, tensor in s.records(Tensor):
        if tensor.is_summary:
            mine = s.edit(ref)
            mine.grad_state = graph.ADDED.get(tensor.grad_state, "unknown")
            mine.backward_site = p.site
            mine.grad = unknown()
        elif (
            tensor.requires_grad is not False
            and tensor.leaf
            and ref.id not in reached
            and tensor.grad_state != "fresh"
        ):
            mine = s.edit(ref)
            mine.grad_state, mine.grad = "unknown", unknown()


def _retained(s: State, p: graph.Pass) -> list[Ref]:
    ran = {r.id for r in p.ran}
    return [
        ref
        for ref, t in s.records(Tensor)
        if t.retains_grad and t.grad_fn is not None and t.grad_fn.id in ran
    ]


def _run_hooks(m: Interpreter, s: State, p: graph.Pass) -> list[State]:
    """Call the hooks of the tensors that received a gradient."""
    ran = {r.id for r in p.ran} | {r.id for r in p.leaves}
    states = [s]
    for ref, tensor in list(s.records(Tensor)):
        if not tensor.hooks or not (
            ref.id in ran or (tensor.grad_fn is not None and tensor.grad_fn.id in ran)
        ):
            continue
        for hook in tensor.hooks:
            kind, func = hook.items  # type: ignore[union-attr]
            after: list[State] = []
            for state in states:
                if state.exc is not None:
                    after.append(state)
                    continue
                post = kind == Const("register_post_accumulate_grad_hook")
                before, state.grad = state.grad, p.create is True
                given = ref if post else _incoming(state, p, ref)
                version = state[state[given].storage].version
                shared = not post and _is_shared(state, p, engine.edge(state, ref))
                for st, answer in m.call(state, func, [given], {}, p.site):
                    st.grad = before
                    storage = st[st[given].storage]
                    if shared and storage.version != version and not storage.unsure:
                        m.emit(
                            HookMisuse(
                                site=storage.site,
                                kind="mutates-gradient",
                                subject=str(tensor.name),
                                call=str(storage.how),
                            )
                        )
                    if st.exc is None:
                        _check_answer(m, st, p, tensor, answer, post)
                    after.append(st)
            states = after[:4]
    return states


def _check_answer(m: Interpreter, s: State, p: graph.Pass, tensor: Tensor, answer: Value, post: bool) -> None:
    """What a hook may return: nothing, or (not after accumulation) a gradient of the same size."""
    given = s.get(answer, Tensor)
    kind, text, error = "hook-return", "Tensor post accumulate grad hooks should return None.", "RuntimeError"
    if not post:
        kind = "hook-result"
        text = "has changed the size of value"
        if isinstance(answer, (Const, Tup)) and answer != NONE:
            error, name = "TypeError", type(getattr(answer, "value", ())).__name__
            text = f"expected Variable, but hook returned '{name}'"
        elif given is None or not engine.sizes_differ(given.shape, tensor.shape):
            return
    elif given is None:
        return
    m.raise_exception(
        s,
        error,
        InvalidTensorUse(site=p.site, text=text, kind=kind, tensor=str(tensor.name), call=str(p.text)),
    )


def _is_shared(s: State, p: graph.Pass, at: Value) -> bool:
    """Does the gradient that arrives here certainly belong to the caller or go to another operand too?"""
    for root, given in zip(p.roots, p.given, strict=True):
        if given and engine.edge(s, root) == at:
            return True
    users = [s[r] for r in p.ran if at in s[r].inputs]
    return (
        len(users) == 1
        and users[0].op in ("+", "add")
        and sum(isinstance(e, Ref) for e in users[0].inputs) > 1
    )


def _incoming(s: State, p: graph.Pass, ref: Ref) -> Ref:
    """The gradient that a hook gets. Where it comes from a plain `sum` alone, its elements share memory."""
    grad = engine.new_tensor(s, p.site, shape=s[ref].shape, name="grad")
    s[grad].overlaps = graph.expanded(s, p, engine.edge(s, ref), s[ref].shape)
    return grad


@function("torch.autograd.graph.register_multi_grad_hook")
def multi_grad_hook(m: Interpreter, s: State, call: Call) -> Result:
    """One hook for several tensors, all of which must require grad unless any of them is enough."""
    for ref in _tensors(m, s, call.get(0, "tensors") or NONE, call.site):
        engine.refresh_view(s, ref)
        tensor: Tensor = s[ref]
        if (
            tensor.requires_grad is False
            and not tensor.unsure_graph
            and call.kwargs.get("mode") != Const("any")
        ):
            why = f"`{tensor.name}` does not require grad"
            text, name = "Expected gradient function to be set", "register_multi_grad_hook()"
            raise engine.refused(call.site, tensor, why, text, "hook-on-constant", name, "AssertionError")
    return unknown("data")


# -- autograd.grad ----------------------------------------------------------------------------------


@function("torch.autograd.grad")
def grad(m: Interpreter, s: State, call: Call) -> Result:
    roots = _tensors(m, s, call.get(0, "outputs") or NONE, call.site)
    wanted = call.get(1, "inputs") or NONE
    one = s.get(tensor_of(s, wanted), Tensor) is not None
    inputs = _tensors(m, s, wanted, call.site)
    for ref in inputs:
        engine.follow_base(s, ref)
    m.suspicions.clear(ref.id for ref in inputs)
    complete = one or not elements(s, wanted)[1]
    place = ("empty-inputs", id(call.site.node))
    if complete and not inputs and (wanted == Tup(()) or s.get(wanted, List) is not None):
        # A list that a loop fills where a test says so is empty on one of many paths only.
        refused = _empty_inputs(call, "grad")
        if refused.event is not None:
            m.suspicions.hold(place, refused.event)
        raise Raised(None)
    m.suspicions.drop(place)
    if not roots or not inputs or not complete:
        _forget_graphs(s, roots, call)
        return Tup((), open=True) if not one else Tup((unknown(),))
    create = call.flag(4, "create_graph", False)
    retain = create if call.get(3, "retain_graph") == NONE else call.flag(3, "retain_graph", create)
    given = _cotangents(s, call.get(2, "grad_outputs"), len(roots))
    _check_count(s, roots, call.get(2, "grad_outputs"), call)
    p = graph.Pass(
        roots,
        [g != NONE for g in given],
        retain,
        create,
        call.site,
        call.text,
        call="grad",
        inputs=inputs,
        cotangents=given if call.flag(6, "is_grads_batched", False) is False else (),
    )
    run_pass(m, s, p)
    results = _asked_for(s, p, inputs, call, create)
    states = _run_functions(m, s, p)
    return [(st, Tup(tuple(results))) for st in states]


def _asked_for(s: State, p: graph.Pass, inputs: list[Ref], call: Call, create: bool | None) -> list[Value]:
    """What a pass gives for each of its inputs.

    Raises:
        Raised: for an input that is certainly not used, where that is not allowed.
    """
    zeros = call.flag(7, "materialize_grads", False)
    allow = call.flag(5, "allow_unused", zeros)
    results: list[Value] = []
    for ref in inputs:
        error = graph.unused(s, p, ref)
        if error is not None and allow is False:
            raise Raised(error)
        if error is not None:
            results.append(NoGradient(None, str(s[ref].name)) if allow and zeros is False else unknown())
            continue
        at = engine.edge(s, ref)
        history = p.flows.get(at, ()) if isinstance(at, Ref) else (unknown(),)
        results.append(graph.gradient(s, p, ref, history if create else ()))
        s.edit(results[-1]).overlaps = graph.expanded(s, p, at, s[ref].shape)  # type: ignore[arg-type]
        if not isinstance(at, Ref):
            made = s.edit(results[-1])  # type: ignore[arg-type]
            if create is not False:
                made.requires_grad, made.leaf, made.unsure_graph = None, None, True
    return results


def _forget_graphs(s: State, roots: Sequence[Ref], call: Call) -> None:
    if call.flag(3, "retain_graph", False) is True or call.flag(4, "create_graph", False) is True:
        return
    for root in roots:
        node = s[root].grad_fn
        if node is not None:
            s.edit(node).unsure_freed = True


# -- custom Functions -------------------------------------------------------------------------------


@method("class torch.autograd.Function", "apply")
def apply(m: Interpreter, s: State, call: Call) -> Result:
    """`MyFunction.apply(...)`: forward without grad, then a node that runs `backward`."""
    cls = call.receiver if not isinstance(call.receiver, Super) else call.receiver.cls
    forward = attributes.in_class(s, cls, "forward")
    if forward is None:
        return unknown()
    contracts.applied(m, s, cls, call)
    args = [*call.args, *call.kwargs.values()]
    tensors = [a for a in args if isinstance(a, Ref) and s.get(a, Tensor) is not None]
    versions = {ref: s[s[ref].storage].version for ref in tensors if s[ref].requires_grad and s.grad}
    setup = attributes.in_class(s, cls, "setup_context")
    ctx = s.new(
        Instance(
            LibraryObject("#ctx"),
            {
                "needs_input_grad": Tup(tuple(_needs(s, a) for a in args)),
                "#class": cls,
                "#inputs": Tup(tuple(args), open=call.unsure),
                "#outputs": Tup((), open=True),
            },
            open=True,
        )
    )
    needed = engine.requires(s, tensors)
    if needed is False and any(
        isinstance(a, Symbol) and a.kind not in ("int", "float", "bool", "str") for a in args
    ):
        needed = None
    before, s.grad = s.grad, False
    given = list(call.args) if setup is not None else [ctx, *call.args]
    out: Outcomes = []
    unbound = _function_of(s, forward)
    for state, value in m.call(s, unbound, given, call.kwargs, call.site):
        pairs: Outcomes = [(state, value)]
        if setup is not None and state.exc is None:
            pairs = [
                (st, value)
                for st, _ in m.call(
                    state, _function_of(state, setup), [ctx, Tup(tuple(call.args)), value], {}, call.site
                )
            ]
        for st, result in pairs:
            st.grad = before
            if st.exc is None:
                _unmarked_writes(m, st, cls, ctx, versions)
                out += m.guard(
                    st, lambda st=st, result=result: _wrap(m, st, cls, ctx, tensors, needed, result, call)
                )
            else:
                out.append((st, NONE))
    return out


def _unmarked_writes(m: Interpreter, s: State, cls: Value, ctx: Ref, versions: dict[Ref, Value]) -> None:
    """Report inputs that forward has written and not marked as dirty."""
    dirty = s[ctx].attrs.get("#dirty", Tup(())).items
    for ref, version in versions.items():
        storage = s[s[ref].storage]
        if (
            storage.version != version
            and not storage.unsure
            and ref not in dirty
            and storage.site is not None
        ):
            m.emit(
                FunctionDefect(
                    site=storage.site, function=_name(s, cls), kind="unmarked-write", detail=str(s[ref].name)
                )
            )


def _needs(s: State, value: Value) -> Value:
    tensor = s.get(value, Tensor)
    if tensor is None:
        return FALSE if not isinstance(value, type(unknown())) else unknown("bool")
    return Const(tensor.requires_grad) if tensor.requires_grad is not None else unknown("bool")


def _function_of(s: State, value: Value) -> Value:
    wrapper = s.get(value, Instance)
    return wrapper.attrs["#func"] if wrapper is not None and "#func" in wrapper.attrs else value


def _wrap(
    m: Interpreter,
    s: State,
    cls: Value,
    ctx: Ref,
    tensors: list[Ref],
    needed: bool | None,
    result: Value,
    call: Call,
) -> Value:
    """Give the outputs of a custom Function their history.

    Raises:
        Raised: for a dirty input that is not returned, and dirty views that forbid writes.
    """
    record = s[ctx]
    dirty = [v for v in record.attrs.get("#dirty", Tup(())).items if s.get(v, Tensor) is not None]
    outputs: list[Value] = list(result.items) if isinstance(result, Tup) else [result]
    for ref in dirty:
        if ref not in outputs and not isinstance(result, type(unknown())):
            tensor: Tensor = s[ref]
            marked = record.attrs.get("#dirty_site")
            steps = (
                (story(marked.value, f"`{tensor.name}` is marked dirty here, and not returned"),)
                if isinstance(marked, Const)
                else ()
            )
            raise Raised(
                FunctionError(
                    site=call.site,
                    story=steps,
                    text="Some elements marked as dirty during the forward method were not returned "
                    "as output.",
                    kind="dirty-not-returned",
                    function=_name(s, cls),
                    detail=str(tensor.name),
                )
            )
    if isinstance(result, Ref) and s.get(result, Tensor) is None:
        _list_output(m, s, cls, result, needed)
        return result
    requires_grad = False if s.grad is False or s.inference else needed if s.grad else None
    node = _function_node(m, s, cls, ctx, tensors, call) if requires_grad is not False else None
    passive = record.attrs.get("#non_differentiable", Tup(())).items
    wrapped = [
        _wrap_output(m, s, out, node, requires_grad if out not in passive else False, tensors, dirty, call)
        for out in outputs
    ]
    if node is not None:
        s.edit(ctx).attrs["#outputs"] = Tup(tuple(outputs), open=isinstance(result, Tup) and result.open)
        _save_outputs(s, record, node, outputs, wrapped, call)
        s.edit(ctx).attrs["#node"] = node
    return Tup(tuple(wrapped)) if isinstance(result, Tup) else wrapped[0]


def _list_output(m: Interpreter, s: State, cls: Value, result: Ref, needed: bool | None) -> None:
    """Tensors that forward returns in a list come out without a history."""
    record, func = (
        s.get(result, List),
        s.get(_function_of(s, attributes.in_class(s, cls, "forward") or NONE), Func),
    )
    if record is None or func is None or not needed or s.grad is not True:
        return
    where = contracts.return_of(func, kind=ir.BuildList)
    if where is not None and any(s.get(item, Tensor) is not None for item in record.items):
        m.emit(FunctionError(site=where, text="", kind="list-output", function=_name(s, cls)))


def _name(s: State, cls: Value) -> str:
    record = s.get(cls, Class)
    return record.name if record is not None else "Function"


def _function_node(m: Interpreter, s: State, cls: Value, ctx: Ref, tensors: list[Ref], call: Call) -> Ref:
    node = Node(f"{_name(s, cls)}Backward", call.text, call.site)
    node.inputs = tuple(engine.edge(s, ref) for ref in tensors)
    # A gradient that is computed without a graph depends on nothing but the one that comes in.
    once = _is_once_differentiable(s.get(_backward_of(s, cls), Func))
    node.needs = tuple(() for _ in tensors) if once else None
    node.function = ctx
    saved = s[ctx].attrs.get("#saved", Tup(()))
    reads = _reads_saved(s, cls)
    slots = [
        engine.saved(s, value, engine.edge(s, value), "self", call.site, itself=True)
        for value in saved.items
        if isinstance(value, Ref) and s.get(value, Tensor) is not None and reads
    ]
    node.saved_tensors = tuple(slots)
    node.frees = bool(slots) if reads is not None else None
    return s.new(node)


def _backward_of(s: State, cls: Value) -> Value:
    return _function_of(s, attributes.in_class(s, cls, "backward") or NONE)


@function("torch.autograd.function.once_differentiable")
def once_differentiable(m: Interpreter, s: State, call: Call) -> Result:
    """Marks a backward: it runs under no_grad, whatever create_graph says."""
    func = call.args[0] if call.args else NONE
    if s.get(func, Func) is not None:
        s.edit(func).attrs["#once"] = TRUE  # type: ignore[arg-type]
    return func


def _is_once_differentiable(backward: Func | None) -> bool:
    return backward is not None and "#once" in backward.attrs


def _reads_saved(s: State, cls: Value) -> bool | None:
    """Does `backward` read `ctx.saved_tensors`?"""
    func = s.get(_backward_of(s, cls), Func)
    if func is None:
        return None
    names = {i.name for b in func.function.blocks.values() for i in b.instrs if isinstance(i, ir.GetAttr)}
    return bool(names & {"saved_tensors", "saved_variables"})


def _wrap_output(
    m: Interpreter,
    s: State,
    out: Value,
    node: Ref | None,
    requires_grad: bool | None,
    tensors: list[Ref],
    dirty: Sequence[Value],
    call: Call,
) -> Value:
    tensor = s.get(out, Tensor)
    if tensor is None or not isinstance(out, Ref):
        return out
    if out in dirty:
        others = [t for t in tensors if t != out]
        engine.check_write(s, out, others, call.site, call.text)
        engine.rebase(s, out, node, requires_grad)
        return out
    out = engine.function_output(s, out, tensors, call.site, call.text)
    made = s.edit(out)
    if made.dtype in ("int", "bool") or requires_grad is False:
        made.requires_grad, made.leaf, made.grad_fn = False, True, None
        return out
    made.requires_grad, made.leaf, made.grad_fn = requires_grad, (False if requires_grad else None), node
    return out


def _save_outputs(
    s: State, record: Instance, node: Ref, outputs: list[Value], wrapped: list[Value], call: Call
) -> None:
    """Slots that hold this call's own outputs: their history is the node itself."""
    mine = s.edit(node)
    storages = {s[o].storage for o in outputs if s.get(o, Tensor) is not None}  # type: ignore[index]
    mine.saved_tensors = tuple(
        dataclasses.replace(x, edge=node, role="out", holder=None)
        if x.storage in storages and x.edge == NONE
        else x
        for x in mine.saved_tensors
    )


@method("#ctx", "save_for_backward", "save_for_forward")
def save_for_backward(m: Interpreter, s: State, call: Call) -> Result:
    for value in call.args:
        if isinstance(value, Tup) or (isinstance(value, Const) and value != NONE):
            raise Raised(
                FunctionError(
                    site=call.site,
                    text="save_for_backward can only save variables, but argument",
                    kind="save-non-tensor",
                    function=_name(s, s[call.self].attrs["#class"]),
                    detail=str(call.text),
                ),
                "TypeError",
            )
    mine = s.edit(call.self)
    before = mine.attrs.get("#saved")
    if isinstance(before, Tup) and any(value not in call.args for value in before.items):
        m.emit(FunctionDefect(site=call.site, function=_name(s, mine.attrs["#class"]), kind="save-twice"))
    mine.attrs["#saved"] = Tup(tuple(call.args), open=call.unsure)
    mine.attrs["#saved_site"] = Const(call.site)
    return NONE


@method("#ctx", "mark_dirty", "mark_non_differentiable", "set_materialize_grads")
def mark(m: Interpreter, s: State, call: Call) -> Result:
    name = call.func.name if isinstance(call.func, Method) else ""
    key = {"mark_dirty": "#dirty", "mark_non_differentiable": "#non_differentiable"}.get(name, "#materialize")
    s.edit(call.self).attrs[key] = Tup(tuple(call.args))
    if key == "#dirty":
        s.edit(call.self).attrs["#dirty_site"] = Const(call.site)
    return NONE


@method("#ctx", ".saved_tensors", ".saved_variables")
def saved_tensors(m: Interpreter, s: State, call: Call) -> Result:
    record = s[call.self]
    saved = record.attrs.get("#saved")
    if saved is None:
        return unknown()
    cls = record.attrs["#class"]
    if attributes.in_class(s, cls, "clear_saved_tensors_on_access") == TRUE:
        if "#read" in record.attrs:
            raise Raised(
                FunctionError(
                    site=call.site,
                    text="Trying to access saved tensors after they were cleared",
                    kind="cleared-saved",
                    function=_name(s, cls),
                )
            )
        s.edit(call.self).attrs["#read"] = TRUE
    return saved  # type: ignore[no-any-return]


def _run_functions(m: Interpreter, s: State, p: graph.Pass) -> list[State]:
    """Run the `backward` of the custom Functions that the pass reached, and check what they return."""
    states = [s]
    for ref in p.ran:
        ctx = s[ref].function
        if ctx == NONE:
            continue
        after: list[State] = []
        for state in states:
            after += [state] if state.exc is not None else _run_function(m, state, ref, ctx, p)
        states = after[:4]
    return states


def _run_function(m: Interpreter, s: State, ref: Ref, ctx: Ref, p: graph.Pass) -> list[State]:
    cls = s[ctx].attrs["#class"]
    func_value = _backward_of(s, cls)
    func = s.get(func_value, Func)
    if func is None:
        _missing_backward(m, s, ref, cls, p)
        return [s]
    _intermediates(m, s, ctx, cls, p)
    applied = Applied(_name(s, cls), func, s[ref].site, p.site, s[ctx].attrs["#inputs"])
    outputs = _known_outputs(s, ctx)
    if outputs is not None and not takes(m, s, applied, len(outputs)):
        return [s]
    before, s.grad = s.grad, p.create is True and not _is_once_differentiable(func)
    cotangents = _gradients(s, p, func, outputs)
    out: list[State] = []
    versions = {c: s[s[c].storage].version for c in cotangents} if _is_shared(s, p, ref) else {}  # type: ignore[index]
    for state, value in m.call(s, func_value, [ctx, *cotangents], {}, p.site):
        state.grad = before
        _written_cotangents(m, state, cls, versions)  # type: ignore[arg-type]
        if state.exc is None:
            check(m, state, applied, value)
        out.append(state)
    return out


def _known_outputs(s: State, ctx: Ref) -> list[Tensor] | None:
    """What forward returned, where all of that is known to be tensors."""
    outputs: Tup = s[ctx].attrs["#outputs"]
    found = [s.get(output, Tensor) for output in outputs.items]
    known = [tensor for tensor in found if tensor is not None]
    return None if outputs.open or len(known) < len(found) else known


def _gradients(s: State, p: graph.Pass, func: Func, outputs: list[Tensor] | None) -> list[Value]:
    """The gradients that `backward` gets, one for each output."""
    names = [param.name for param in func.function.params[1:]] or ["grad_output"]
    if outputs is None:
        return [engine.new_tensor(s, p.site, name=name) for name in names]
    return [
        engine.new_tensor(s, p.site, shape=like.shape, name=names[min(index, len(names) - 1)])
        for index, like in enumerate(outputs)
    ]


def _written_cotangents(m: Interpreter, s: State, cls: Value, versions: dict[Ref, Value]) -> None:
    for ref, version in versions.items():
        storage = s[s[ref].storage]
        if storage.version != version and not storage.unsure:
            name = str(s[ref].name)
            m.emit(
                FunctionDefect(
                    site=storage.site, function=_name(s, cls), kind="writes-cotangent", detail=name
                )
            )


def _missing_backward(m: Interpreter, s: State, ref: Ref, cls: Value, p: graph.Pass) -> None:
    record = s.get(cls, Class)
    if record is None or record.open or attributes.in_class(s, cls, "vjp") is not None:
        return
    made = (story(s[ref].site, f"`{record.name}` is applied here"),)
    text = "You must implement either the backward or vjp method"
    m.raise_exception(
        s,
        "NotImplementedError",
        FunctionError(site=p.site, story=made, text=text, kind="missing-backward", function=record.name),
    )


def _intermediates(m: Interpreter, s: State, ctx: Ref, cls: Value, p: graph.Pass) -> None:
    """Report what forward computed and kept, where the backward is to be differentiated again."""
    record = s[ctx]
    if p.create is not True:
        return
    saved, place = record.attrs.get("#saved"), record.attrs.get("#saved_site")
    outputs = record.attrs.get("#outputs", Tup(())).items
    kept_here = (
        [(place.value, v) for v in saved.items] if isinstance(saved, Tup) and isinstance(place, Const) else []
    )
    kept_here += [
        (where, v)
        for name, v in record.attrs.items()
        if s.get(v, Tensor) is not None and not name.startswith("#")
        if (where := contracts.place_on_ctx(s, cls, name)) is not None
    ]
    for where, value in kept_here:
        tensor = s.get(value, Tensor)
        if (
            tensor is not None
            and tensor.detached_because == "no-grad"
            and value not in outputs
            and tensor.dtype not in ("int", "bool")
        ):
            m.emit(
                FunctionDefect(
                    site=where, function=_name(s, cls), kind="intermediate-kept", detail=str(tensor.name)
                )
            )


@method("torch.autograd.Function", "__call__")
def instance_call(m: Interpreter, s: State, call: Call) -> Result:
    name = _name(s, s[call.self].cls)
    raise Raised(
        FunctionError(
            site=call.site,
            text="Legacy autograd function with non-static forward method is deprecated.",
            kind="instance-call",
            function=name,
        )
    )
