"""Optimizers: which parameters they hold, stepping, clearing, closures; schedulers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool import engine
from gradcheck_tool.domain.events import InvalidTensorUse
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Dict, Instance, Iter, List
from gradcheck_tool.domain.values import NONE, TRUE, Const, LibraryObject, Method, Ref, Tup, Value, unknown
from gradcheck_tool.engine.errors import Raised
from gradcheck_tool.interp import registry
from gradcheck_tool.interp.draining import exhaust
from gradcheck_tool.interp.facts import GradientsApplied, OptimizerMade, SchedulerStepped, Stepped, Taken
from gradcheck_tool.interp.iteration import elements
from gradcheck_tool.interp.places import receiver_text
from gradcheck_tool.interp.registry import Result, function, method
from gradcheck_tool.library.torch.held_parameters import held_by, hold, put_in
from gradcheck_tool.library.torch.module_tree import parameters_of, whole_groups
from gradcheck_tool.library.torch.modules import clear, write_zeros
from gradcheck_tool.library.torch.parameters import gone_through

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes

OPTIMIZERS = (
    "SGD",
    "Adam",
    "AdamW",
    "Adagrad",
    "Adadelta",
    "Adamax",
    "ASGD",
    "LBFGS",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "Adafactor",
    "Muon",
)
# The hooks of an optimizer's steps.
_BEFORE, _AFTER = "#before_step", "#after_step"
NON_LEAF = "can't optimize a non-leaf Tensor"
CLOSURE = "step() missing 1 required positional argument: 'closure'"


@function(*(f"torch.optim.{name}" for name in OPTIMIZERS))
def make(m: Interpreter, s: State, call: Call) -> Result:
    ref = s.new(Instance(call.func))
    _fill(m, s, ref, call)
    return ref


@method("torch.optim.Optimizer", "__init__")
def init(m: Interpreter, s: State, call: Call) -> Result:
    """`super().__init__(params, ...)` of an optimizer of the repository or a subclass of a known one."""
    _fill(m, s, call.self, call)
    return NONE


def _fill(m: Interpreter, s: State, ref: Ref, call: Call) -> None:
    given = gone_through(m, s, call.get(0, "params") or NONE, call.site)
    params, is_open = parameters_of(s, given)
    if not call.unsure:
        _check_given(s, given, call)
    exhaust(s, given)
    for p in params:
        engine.refresh_view(s, p)
        tensor: Tensor = s[p]
        if tensor.leaf is False and tensor.requires_grad:
            made = f"`{tensor.name}` is computed here, so it is not a leaf"
            raise engine.refused(
                call.site, tensor, made, NON_LEAF, "non-leaf-optimizer", str(call.text), "ValueError"
            )
    is_whole = bool(params) and {p.id for p in params} <= whole_groups(s)
    is_open = (is_open and not is_whole) or call.unsure
    if is_open:
        params = [*params, unknown_group(s, call.site)]
    hold(s, ref, params, is_open=is_open)
    mine = s.edit(ref)
    mine.attrs["#fused"] = call.kwargs.get("fused", Const(False))
    mine.attrs["#again"] = Const(registry.const(call.get(2, "max_iter")) != 1)
    mine.site = call.site
    listed = elements(s, call.args[0])[0] if call.args else []
    groups = [group for group in (s.get(item, Dict) for item in listed) if group is not None]
    m.tell(s, OptimizerMade(ref, params, is_open, call, groups))
    for p in params:
        if s[p].leaf is None:  # PyTorch has taken it, so it has no graph.
            taken = s.edit(p)
            taken.leaf, taken.grad_fn = True, None


def _check_given(s: State, given: Value, call: Call) -> None:
    """An optimizer takes an iterable of parameters, or of groups of them, that is not empty.

    A list may be empty on one of many paths only, so that just what `parameters()` returns is judged.

    Raises:
        Raised: for nothing, for one tensor, for numbers, and for an iterator that certainly holds nothing.
    """
    iterator = s.get(given, Iter)
    is_made = isinstance(call.func, LibraryObject)
    is_missing = is_made and not call.args and "params" not in call.kwargs
    listed = iterator is not None and iterator.kind in ("items", "drained")
    if is_missing:
        text, error = "missing 1 required positional argument: 'params'", "TypeError"
    elif s.get(given, Tensor) is not None:
        text, error = (
            "params argument given to the optimizer should be an iterable of Tensors or dicts",
            "TypeError",
        )
    elif listed and elements(s, given) == ([], False):
        text, error = "optimizer got an empty parameter list", "ValueError"
    elif s.get(given, List) is not None and any(_is_number(item) for item in elements(s, given)[0]):
        text, error = "optimizer can only optimize Tensors, but one of the params is ...", "TypeError"
    else:
        return
    raise Raised(
        InvalidTensorUse(
            site=call.site, text=text, kind="optimizer-parameters", tensor="", call=str(call.text)
        ),
        error,
    )


def _is_number(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, (int, float))


def unknown_group(s: State, site: Any) -> Ref:
    """A stand-in for the parameters that an optimizer got from something unknown."""
    ref = engine.new_tensor(s, site, requires_grad=True, leaf=True, name="its parameters")
    tensor: Tensor = s[ref]
    tensor.is_summary = tensor.is_param = True
    return ref


def params_of(s: State, ref: Ref) -> tuple[list[Ref], bool]:
    """The parameters that an optimizer holds, and whether there may be more."""
    held = held_by(s, s[ref])
    if held is None:
        return [], True
    return [p for p in held.items if isinstance(p, Ref)], held.open


def step_parameters(
    m: Interpreter,
    s: State,
    params: Sequence[Ref],
    is_open: bool,
    site: Any,
    text: Any,
    fused: bool,
    owner: str,
) -> None:
    """Apply and mark as used the gradients of parameters; writes to those that have one."""
    is_assumed = engine.adopt_expected(s, params)
    m.tell(s, GradientsApplied(params, site, owner, text, is_assumed))
    for p in params:
        tensor = s.edit(p)
        state = tensor.grad_state
        if state == "added":
            tensor.grad_state, tensor.step_site = "used", site
        elif state in ("fresh", "mixed", "used", "assigned", "scaled"):
            tensor.grad_state = "unknown" if state == "assigned" else "used"
            tensor.step_site = site
            if tensor.grad != NONE:
                engine.bump(s, p, site, str(text), "optimizer", versioned=not fused)
        elif state == "zeroed" and tensor.grad != NONE:
            # Gradients of zero are applied as well: the parameter is written, and momentum moves it on.
            engine.bump(s, p, site, str(text), "optimizer", versioned=not fused)


@method("torch.optim.Optimizer", "step")
def step(m: Interpreter, s: State, call: Call) -> Result:
    record = s[call.self]
    name = registry.lib_name(record.cls)
    closure = call.get(0, "closure")
    if name.endswith(".LBFGS") and closure is None and not call.unsure:
        raise Raised(
            InvalidTensorUse(
                site=call.site, text=CLOSURE, kind="closure-missing", tensor=record.name, call=str(call.text)
            ),
            "TypeError",
        )
    pairs = _run_hooks(m, [(s, NONE)], call, _BEFORE)
    if closure is not None and closure != NONE:
        rounds = 2 if name.endswith(".LBFGS") and record.attrs.get("#again") == TRUE else 1
        for number in range(rounds):
            after: Outcomes = []
            for state, value in pairs:
                if state.exc is not None or (number and not _moves(state, call.self)):
                    after.append((state, value))
                    continue
                before, state.grad = state.grad, True
                for st, v in m.call(state, closure, [], {}, call.site):
                    st.grad = before
                    if number + 1 < rounds and st.exc is None:
                        _apply(
                            m, st, call.self, call.site, call.text, receiver_text(call.site, str(record.name))
                        )
                    after.append((st, v))
            pairs = after
    for state, _ in pairs:
        if state.exc is None:
            apply_step(m, state, call.self, call.site, call.text)
    return _run_hooks(m, pairs, call, _AFTER)


def _moves(s: State, ref: Ref) -> bool:
    """Has a parameter of the optimizer a gradient? LBFGS ends after the first call of the closure if not."""
    params, is_open = params_of(s, ref)
    return is_open or any(s[param].grad_state != "none" for param in params)


def apply_step(
    m: Interpreter, s: State, ref: Ref, site: Any, text: Any, scaler: str = "", *, is_handed: bool = False
) -> None:
    """One optimizer step on the state; `is_handed`: the call is one of something else that is given it."""
    params, _ = params_of(s, ref)
    record = s[ref]
    put = put_in(s, record)
    if put is not None:
        m.tell(s, Taken([ref, *(p for p in put.items if isinstance(p, Ref))], "optimizer", site))
    name = (receiver_text(site) if not (scaler or is_handed) else "") or str(record.name) or str(text)
    m.tell(s, Stepped(ref, params, site, name, scaler))
    _apply(m, s, ref, site, text, name)


def _apply(m: Interpreter, s: State, ref: Ref, site: Any, text: Any, owner: str) -> None:
    """Move the parameters by their gradients. (LBFGS does so after every call of the closure.)"""
    params, is_open = params_of(s, ref)
    step_parameters(m, s, params, is_open, site, text, s[ref].attrs.get("#fused") == TRUE, owner)


@method("torch.optim.Optimizer", "zero_grad")
def zero_grad(m: Interpreter, s: State, call: Call) -> Result:
    params, is_open = params_of(s, call.self)
    to_zero = write_zeros(m, s, params, call)
    clear(m, s, params, is_open, call.site, receiver_text(call.site, str(s[call.self].name)), to_zero)
    return NONE


@method("torch.optim.Optimizer", "add_param_group")
def add_param_group(m: Interpreter, s: State, call: Call) -> Result:
    group = s.get(call.args[0], Dict) if call.args else None
    more, is_open = (
        parameters_of(s, group.items.get(Const("params"), NONE)) if group is not None else ([], True)
    )
    mine = s.edit(call.self)
    held = mine.attrs.get("#params", Tup((), open=True))
    m.tell(s, Taken(more, "optimizer", call.site))
    mine.attrs["#params"] = Tup((*held.items, *more), open=held.open or is_open)
    return NONE


@method("torch.optim.Optimizer", "register_step_pre_hook", "register_step_post_hook")
def register_step_hook(m: Interpreter, s: State, call: Call) -> Result:
    hook = call.get(0, "hook")
    key = _BEFORE if isinstance(call.func, Method) and "pre" in call.func.name else _AFTER
    if hook is not None:
        mine = s.edit(call.self)
        mine.attrs[key] = Tup((*_hooks(mine, key), hook))
    return unknown("data")


def _hooks(optimizer: Instance, key: str) -> tuple[Value, ...]:
    held = optimizer.attrs.get(key)
    return held.items if isinstance(held, Tup) else ()


def _run_hooks(m: Interpreter, pairs: Outcomes, call: Call, key: str) -> Outcomes:
    """Call the hooks of an optimizer around its step."""
    out: Outcomes = []
    for state, result in pairs:
        states = [state]
        for hook in _hooks(state[call.self], key):
            given: list[Value] = [call.self, Tup(tuple(call.args)), state.new(Dict({}, open=True))]
            going = [one for one in states if one.exc is None]
            after = [st for one in going for st, _ in m.call(one, hook, [*given], {}, call.site)]
            states = after + [one for one in states if one.exc is not None]
        out += [(one, result) for one in states]
    return out


@method("torch.optim.Optimizer", "state_dict", "load_state_dict")
def bookkeeping(m: Interpreter, s: State, call: Call) -> Result:
    return unknown("data")


@method("torch.optim.Optimizer", ".state", ".defaults")
def state_attribute(m: Interpreter, s: State, call: Call) -> Result:
    return unknown("data")


_SCHEDULERS = [
    "LRScheduler",
    "StepLR",
    "MultiStepLR",
    "ExponentialLR",
    "CosineAnnealingLR",
    "ReduceLROnPlateau",
    "CyclicLR",
    "OneCycleLR",
    "LambdaLR",
    "LinearLR",
    "ConstantLR",
    "PolynomialLR",
    "CosineAnnealingWarmRestarts",
    "MultiplicativeLR",
    "SequentialLR",
    "ChainedScheduler",
]


@function(*(f"torch.optim.lr_scheduler.{name}" for name in _SCHEDULERS))
def make_scheduler(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(Instance(call.func, {"optimizer": call.get(0, "optimizer") or NONE}))


@method("scheduler", "__init__")
def init_scheduler(m: Interpreter, s: State, call: Call) -> Result:
    """`super().__init__(optimizer)` of a scheduler that the repository defines."""
    s.edit(call.self).attrs["optimizer"] = call.get(0, "optimizer") or NONE
    return NONE


@method("scheduler", "step")
def scheduler_step(m: Interpreter, s: State, call: Call) -> Result:
    name = receiver_text(call.site, str(s[call.self].name))
    is_given = (call.get(0, "epoch") or NONE) != NONE
    m.tell(s, SchedulerStepped(call.self, call.site, name, is_given))
    return NONE


@method("scheduler", "load_state_dict")
def restore_scheduler(m: Interpreter, s: State, call: Call) -> Result:
    m.tell(s, Taken((call.self,), "loaded", call.site))
    return NONE


@method("scheduler", "state_dict", "get_last_lr", "get_lr")
def scheduler_other(m: Interpreter, s: State, call: Call) -> Result:
    return unknown("data")
