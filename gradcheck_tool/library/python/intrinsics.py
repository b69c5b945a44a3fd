"""Intrinsics: what models of libraries import from `gradlint_model`, a module that exists only there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain.events import NoGraph
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Dict, Func, Instance
from gradcheck_tool.domain.values import NONE, Bound, Const, LibraryObject, Symbol, Tup, unknown
from gradcheck_tool.interp.draining import drain
from gradcheck_tool.interp.havoc import forget_groups, havoc, reachable
from gradcheck_tool.interp.packs import DRIVER
from gradcheck_tool.interp.registry import Result, function, method
from gradcheck_tool.library.torch.function_text import return_of

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes

ROUNDS = 3


@function("gradlint_model.unknown")
def unknown_(m: Interpreter, s: State, call: Call) -> Result:
    """A value of which nothing is known."""
    return unknown()


@function("gradlint_model.size")
def size(m: Interpreter, s: State, call: Call) -> Result:
    """A number of elements."""
    return unknown("int")


@function("gradlint_model.data")
def data(m: Interpreter, s: State, call: Call) -> Result:
    """Numbers without a graph: a tensor that requires no gradients, an array, text, or several of these."""
    return unknown("data")


@function("gradlint_model.either")
def either(m: Interpreter, s: State, call: Call) -> Result:
    """One of the arguments: the program continues with each."""
    states = [s, *[s.fork() for _ in call.args[1:]]]
    return list(zip(states, call.args, strict=False)) or unknown()


@function("gradlint_model.view_of")
def view_of(m: Interpreter, s: State, call: Call) -> Result:
    """A view of a tensor, of sizes that are not known, or a copy where the tensor cannot be viewed so."""
    tensor = call.get(0, "tensor") or unknown()
    return m.call_method(s, tensor, "reshape", [unknown()], {}, call.site, call.text)


@function("gradlint_model.saves")
def saves(m: Interpreter, s: State, call: Call) -> Result:
    """A tensor computed from tensors that are all saved for the backward pass."""
    return _computed(m, s, "torch.square", call)


@function("gradlint_model.computes")
def computes(m: Interpreter, s: State, call: Call) -> Result:
    """A tensor computed from tensors of which none is saved for the backward pass."""
    return _computed(m, s, "torch.neg", call)


def _computed(m: Interpreter, s: State, operation: str, call: Call) -> Result:
    """The sum of what an operation makes of each argument, in a shape that is not known."""
    pairs: Outcomes = [(s, NONE)]
    for value in call.args:
        after: Outcomes = []
        for state, total in pairs:
            for st, part in m.call(state, LibraryObject(operation), [value], {}, call.site, call.text):
                more = LibraryObject("operator.add")
                together = total == NONE or st.exc is not None
                after += (
                    [(st, part)] if together else m.call(st, more, [total, part], {}, call.site, call.text)
                )
        pairs = after
    for state, value in pairs:
        if state.exc is None and state.get(value, Tensor) is not None:
            state.edit(value).shape = None  # type: ignore[arg-type]
    return pairs


@function("gradlint_model.writes")
def writes(m: Interpreter, s: State, call: Call) -> Result:
    """Other numbers in tensors, or in the tensors of containers, put there unseen by autograd."""
    for ref in reachable(s, call.args):
        tensor = s.get(ref, Tensor)
        if tensor is not None:
            s.edit(tensor.storage).unsure = True
    return NONE


@function("gradlint_model.touches")
def touches(m: Interpreter, s: State, call: Call) -> Result:
    """Anything at all happens to the arguments, as where a library is not modelled."""
    havoc(s, call.args)
    forget_groups(s)
    return unknown()


@function("gradlint_model.module")
def module(m: Interpreter, s: State, call: Call) -> Result:
    """An `nn.Module` of which nothing is known but that it has parameters which require gradients."""
    name = f"the parameters of {call.text}"
    ref = engine.new_tensor(s, call.site, requires_grad=True, leaf=True, name=name)
    group: Tensor = s[ref]
    group.is_summary = group.is_param = True
    group.grad_state = "none"
    return s.new(Instance(LibraryObject("torch.nn.Module"), {"#group": ref}, open=True))


# -- frameworks that own the loop -----------------------------------------------------------------


@function("gradlint_model.rounds")
def rounds(m: Interpreter, s: State, call: Call) -> Result:
    """The elements of a few rounds of a loop: those of an iterable, as far as they are known."""
    out: Outcomes = []
    for state, items, _ in drain(m, s, call.args[0], call.site) if call.args else [(s, [], True)]:
        missing = [unknown("data") for _ in range(ROUNDS - len(items))]
        out.append((state, Tup((*items[:ROUNDS], *missing))))
    return out


@function("gradlint_model.driver")
def driver(m: Interpreter, s: State, call: Call) -> Result:
    """`@driver("training_step")`: the framework calls this method of objects whose class has that one."""
    return s.new(Instance(LibraryObject("gradlint_model.driver"), {"#names": Tup(tuple(call.args))}))


@method("gradlint_model.driver", "__call__")
def mark_driver(m: Interpreter, s: State, call: Call) -> Result:
    func = call.get(0, "method") or NONE
    if s.get(func, Func) is not None:
        s.edit(func).attrs[DRIVER] = s[call.self].attrs["#names"]  # type: ignore[arg-type]
    return func


@function("gradlint_model.complete")
def complete(m: Interpreter, s: State, call: Call) -> Result:
    """A class that has no more attributes and parameters than its model."""
    cls = call.get(0, "cls") or NONE
    if s.get(cls, Class) is not None:
        s.edit(cls).open = False  # type: ignore[arg-type]
    return cls


@function("gradlint_model.differentiate")
def differentiate(m: Interpreter, s: State, call: Call) -> Result:
    """The backward pass of what a method has returned: a loss, the first of several, or the entry `loss`.

    What goes wrong is reported at the method's `return`.
    """
    returned_by, value = call.get(0, "method") or NONE, call.get(1, "result") or NONE
    func = s.get(returned_by.func if isinstance(returned_by, Bound) else returned_by, Func)
    table = s.get(value, Dict)
    if table is not None:
        value = table.items.get(Const("loss"), unknown())
    elif isinstance(value, Tup) and value.items:
        value = value.items[0]
    site = None if func is None else return_of(func)
    if func is None or func.env.is_model or site is None or value == NONE:
        return NONE
    text = f"backward of what {func.function.name} returns"
    if isinstance(value, Symbol) and s.severed.get(value):
        m.raise_exception(s, "TypeError", NoGraph(site=site, text="", root="loss", reason="item", call=text))
        return NONE
    if s.get(value, Tensor) is None:
        return NONE
    return m.call_method(s, value, "backward", [], {}, site, text)


@function("gradlint_model.clear_gradients")
def clear_gradients(m: Interpreter, s: State, call: Call) -> Result:
    """The framework clears the gradients of everything that it trains, in its own way."""
    for ref, tensor in s.records(Tensor):
        if tensor.grad_state != "none":
            mine = s.edit(ref)
            mine.grad, mine.grad_state = NONE, "none"
    return NONE
