"""Frameworks that call `backward` and `step` for the program: which of their calls stand for which, as data.

What is not in the tables is a call of something unknown. A framework that owns the loop (Lightning, Ignite,
the Trainer of Transformers) is a loop of a few rounds around the function that it calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import NoGraph
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Dict, Func, Instance, List
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Const,
    LibraryObject,
    Ref,
    Symbol,
    Tup,
    Value,
    fresh,
    unknown,
)
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.registry import Result, function, method
from gradcheck_tool.library.torch.function_text import return_of
from gradcheck_tool.library.torch.grad_scaler import plain_manager
from gradcheck_tool.library.torch.model_names import LIGHTNING
from gradcheck_tool.library.torch.module_tree import TRAINERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes

ROUNDS = 3
MAX_STATES = 4


@dataclass(frozen=True, slots=True)
class Protocol:
    """What the methods of an object of a framework do.

    Attributes:
        names: qualified names of its class; the first stands for all.
        backward: methods that differentiate their first argument, with the arguments of `Tensor.backward`.
        hands_back: methods that return their arguments, wrapped in ways that autograd does not see.
        managers: methods that return a context manager without an effect on what is recorded.
        clips: methods that clip gradients, with the arguments of the functions of `torch.nn.utils`.
    """

    names: tuple[str, ...]
    backward: tuple[str, ...]
    hands_back: tuple[str, ...] = ()
    managers: tuple[str, ...] = ()
    clips: tuple[str, ...] = ()


PROTOCOLS = (
    Protocol(
        ("accelerate.Accelerator", "accelerate.accelerator.Accelerator"),
        backward=("backward",),
        hands_back=("prepare", "prepare_data_loader", "prepare_model", "prepare_optimizer", "unwrap_model"),
        managers=("accumulate", "autocast", "no_sync"),
        clips=("clip_grad_norm_", "clip_grad_value_"),
    ),
    Protocol(
        (
            "lightning.fabric.Fabric",
            "lightning.Fabric",
            "lightning_fabric.Fabric",
            "lightning.fabric.fabric.Fabric",
        ),
        backward=("backward",),
        hands_back=("setup", "setup_dataloaders", "setup_module", "setup_optimizers"),
        managers=("autocast", "init_module", "init_tensor", "no_backward_sync"),
    ),
    Protocol(tuple(sorted(LIGHTNING)), backward=("manual_backward",)),
    Protocol(("deepspeed.DeepSpeedEngine",), backward=("backward",), managers=("no_sync",)),
)
SCALERS = (
    "timm.utils.NativeScaler",
    "timm.utils.ApexScaler",
    "timm.utils.cuda.NativeScaler",
    "timm.utils.cuda.ApexScaler",
)
LOOPS = ("lightning.Trainer", "lightning.pytorch.Trainer", "pytorch_lightning.Trainer")
ENGINE = "deepspeed.DeepSpeedEngine"


# -- calls that stand for others ------------------------------------------------------------------


def make(m: Interpreter, s: State, call: Call) -> Result:
    """An object of a framework; it has attributes that are not known."""
    return s.new(Instance(call.func, open=True))


def differentiate(m: Interpreter, s: State, call: Call) -> Result:
    """`accelerator.backward(loss)` and its like: `loss.backward()`."""
    loss = call.get(0, "tensor" if "tensor" in call.kwargs else "loss") or unknown()
    options = {name: value for name, value in call.kwargs.items() if name in ("retain_graph", "create_graph")}
    return m.call_method(s, loss, "backward", call.args[1:], options, call.site, call.text)


def hand_back(m: Interpreter, s: State, call: Call) -> Result:
    """The arguments: one as it is, several as a tuple."""
    given = [*call.args, *call.kwargs.values()]
    return given[0] if len(given) == 1 else Tup(tuple(given), open=call.unsure)


def clip(m: Interpreter, s: State, call: Call) -> Result:
    """Clipping by the function of `torch.nn.utils` that has this name."""
    name = getattr(call.func, "name", "clip_grad_norm_")
    func = LibraryObject(f"torch.nn.utils.{name}")
    return m.call(s, func, call.args, call.kwargs, call.site, call.text, call.unsure)


for _protocol in PROTOCOLS:
    for _name in _protocol.names:
        if _name not in LIGHTNING and _name != ENGINE:
            function(_name)(make)
        method(_name, *_protocol.backward)(differentiate)
        method(_name, *_protocol.hands_back)(hand_back)
        method(_name, *_protocol.managers)(plain_manager)
        method(_name, *_protocol.clips)(clip)


@function("apex.amp.initialize")
def initialize(m: Interpreter, s: State, call: Call) -> Result:
    """Models and optimizers, patched in place."""
    given = [value for value in (call.get(0, "models"), call.get(1, "optimizers")) if value is not None]
    return given[0] if len(given) == 1 else Tup(tuple(given))


@function("apex.amp.scale_loss")
def scale_loss(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(Instance(LibraryObject("apex.amp.scale_loss"), {"#loss": call.get(0, "loss") or unknown()}))


@method("apex.amp.scale_loss", "__enter__")
def scaled(m: Interpreter, s: State, call: Call) -> Result:
    """The loss times a number, which leaving the block takes off the gradients again."""
    from gradcheck_tool.interp import operators

    loss = s[call.self].attrs["#loss"]
    return operators.binary(m, s, "*", loss, Symbol(fresh(), "float"), call.site, call.text)


@method("apex.amp.scale_loss", "__exit__")
def unscaled(m: Interpreter, s: State, call: Call) -> Result:
    return FALSE


function(*SCALERS)(make)


def scale_and_step(m: Interpreter, s: State, call: Call) -> Result:
    """`loss_scaler(loss, optimizer, ...)`: backward, clipping and, unless it is put off, a step."""
    loss, optimizer = call.get(0, "loss") or unknown(), call.get(1, "optimizer") or unknown()
    create = call.get(5, "create_graph") or FALSE
    out: Outcomes = []
    for state, _ in m.call_method(s, loss, "backward", [], {"create_graph": create}, call.site, call.text):
        if state.exc is None and call.flag(6, "need_update", True):
            out += m.call_method(state, optimizer, "step", [], {}, call.site, call.text)
        else:
            out.append((state, NONE))
    return out


for _name in SCALERS:
    method(_name, "__call__")(scale_and_step)


@function("deepspeed.initialize")
def engine(m: Interpreter, s: State, call: Call) -> Result:
    """An engine that calls the module, the optimizer, and what else it was given."""
    module, optimizer = call.get(1, "model") or unknown(), call.get(2, "optimizer") or unknown()
    held = {"module": module, "training": TRUE, "#optimizer": optimizer}
    made = s.new(Instance(LibraryObject(ENGINE), held, open=s.get(module, Instance) is None))
    return Tup((made, optimizer, unknown(), unknown()))


@method(ENGINE, "step")
def engine_step(m: Interpreter, s: State, call: Call) -> Result:
    """A step that clears the gradients, too. (Its own optimizer is not known by its parameters.)"""
    _clear(s)
    return NONE


# -- frameworks that own the loop -----------------------------------------------------------------


@method("ignite.engine.Engine", "run")
def run_engine(m: Interpreter, s: State, call: Call) -> Result:
    """The process function, called with one batch after the other."""
    process = s[call.self].attrs["#process"]
    return _rounds(s, lambda state: m.call(state, process, [call.self, unknown()], {}, call.site, call.text))


@function("ignite.engine.Engine", "ignite.engine.engine.Engine")
def make_engine(m: Interpreter, s: State, call: Call) -> Result:
    process = call.get(0, "process_function") or unknown()
    return s.new(Instance(LibraryObject("ignite.engine.Engine"), {"#process": process}, open=True))


function(*LOOPS)(make)


def fit_module(m: Interpreter, s: State, call: Call) -> Result:
    """`Trainer.fit(module, ...)`."""
    module = call.get(0, "model") or unknown()
    return train(m, s, module) if isinstance(module, Ref) else unknown()


for _name in LOOPS:
    method(_name, "fit")(fit_module)


def owned(s: State, cls: Ref) -> bool:
    """Is it a class whose loop a framework owns, with a method that the loop calls?"""
    return _called_by_loop(s, cls) is not None


def train(m: Interpreter, s: State, receiver: Value) -> Outcomes:
    """What the framework does with an object of such a class: rounds of a call, backward and clearing."""
    record = s.get(receiver, Instance)
    func = _called_by_loop(s, record.cls) if record is not None and isinstance(record.cls, Ref) else None
    if record is None or func is None:
        return [(s, NONE)]
    name, count = func.function.name, len(func.function.params) - 1 - len(func.defaults)
    automatic = record.attrs.get("automatic_optimization", TRUE) == TRUE

    def one(state: State) -> Outcomes:
        out: Outcomes = []
        given: list[Value] = [unknown("data" if name == "training_step" else None) for _ in range(count)]
        site = m.site(state, func.function.node)
        for after, value in m.call_method(state, receiver, name, given, {}, site):
            done = after.exc is not None or not automatic
            out += [(after, NONE)] if done else _differentiate_loss(m, after, func, value)
        return out

    return _rounds(s, one)


def _called_by_loop(s: State, cls: Value) -> Func | None:
    bases = attributes.lib_bases(s, cls)
    for names, method_name in ((LIGHTNING, "training_step"), (TRAINERS, "compute_loss")):
        if any(base in names for base in bases):
            return s.get(attributes.in_class(s, cls, method_name) or NONE, Func)
    return None


def _differentiate_loss(m: Interpreter, s: State, func: Func, value: Value) -> Outcomes:
    """Backward of what the method returned: a loss, the first of several, or the entry `loss`."""
    table = s.get(value, Dict)
    if table is not None:
        value = table.items.get(Const("loss"), unknown())
    elif isinstance(value, Tup) and value.items:
        value = value.items[0]
    site = return_of(func)
    if site is None or value == NONE:
        return [(s, NONE)]
    text = f"backward of what {func.function.name} returns"
    if isinstance(value, Symbol) and m.ledger.numbers.get(value):
        m.raise_exception(s, "TypeError", NoGraph(site=site, text="", root="loss", reason="item", call=text))
        return [(s, NONE)]
    if s.get(value, Tensor) is None:
        return [(s, NONE)]
    out = m.call_method(s, value, "backward", [], {}, site, text)
    for state, _ in out:
        _clear(state)
    return out


def _clear(s: State) -> None:
    """The loop applies and clears gradients in its own way."""
    for ref, tensor in s.records(Tensor):
        if tensor.grad_state != "none":
            mine = s.edit(ref)
            mine.grad, mine.grad_state = NONE, "none"


def _rounds(s: State, one: Callable[[State], Outcomes]) -> Outcomes:
    """A few rounds of a loop, as long as nothing is raised."""
    states, ended = [s], []
    for _ in range(ROUNDS):
        after = [state for running in states for state, _ in one(running)]
        ended += [state for state in after if state.exc is not None]
        states = [state for state in after if state.exc is None][:MAX_STATES]
    return [(state, unknown()) for state in (*states, *ended)]


# -- Lightning's optimizers -----------------------------------------------------------------------


def optimizers(m: Interpreter, s: State, call: Call) -> Result:
    """What `configure_optimizers` returned, as the module gets it back: one optimizer, or a list."""
    held = s[call.self].attrs.get("#optimizers")
    if held is not None:
        return held  # type: ignore[no-any-return]
    out: Outcomes = []
    for state, value in m.call_method(s, call.self, "configure_optimizers", [], {}, call.site):
        found = _configured(state, value)
        result: Value = unknown()
        if found:
            result = found[0] if len(found) == 1 else state.new(List(found))
            state.edit(call.self).attrs["#optimizers"] = result
        out.append((state, result))
    return out


def _configured(s: State, value: Value) -> list[Value]:
    """The optimizers in what `configure_optimizers` returned; none where that is not known."""
    table, listed = s.get(value, Dict), s.get(value, List)
    if table is not None:
        return _configured(s, table.items.get(Const("optimizer"), NONE))
    items: list[Value] = [value]
    if isinstance(value, Tup) or listed is not None:
        items = list(value.items if isinstance(value, Tup) else listed.items)  # type: ignore[union-attr]
    if len(items) == 2 and s.get(items[0], List) is not None:
        return _configured(s, items[0])  # ([optimizers], [schedulers])
    made = [s.get(item, Instance) for item in items]
    return items if made and all(each is not None and "#params" in each.attrs for each in made) else []


for _name in sorted(LIGHTNING):
    method(_name, "optimizers")(optimizers)
