"""GL417: an optimizer keeps the gradient itself in its state, and changes it there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Class,
    Event,
    Func,
    FunctionBody,
    Interpreter,
    LibraryObject,
    Rule,
    Severity,
    Site,
    State,
    Tracker,
    Trigger,
    Violation,
    facts,
    nodes,
)

_IN_PLACE = re.compile(r"[a-z]\w*_")


@dataclass(slots=True, eq=False, kw_only=True)
class GradientInState(Event):
    """`state[key] = p.grad`, and what the state holds under that key is written to in place."""

    triggers = (Trigger("state", r"\.grad\b", in_file=("Optimizer",), callers=False),)

    key: str


class KeptGradients(Tracker):
    """Reads the methods of optimizers when their classes are defined."""

    derives = (GradientInState,)

    def on_object_made(self, m: Interpreter, s: State, fact: facts.ObjectMade) -> None:
        """Read a class that derives from an optimizer of torch."""
        record = s.get(fact.object, Class)
        if record is None or not any(map(_is_optimizer, record.mro)):
            return
        for func in (s.get(value, Func) for value in record.attrs.values()):
            for i, key in _kept(func.function.worked_out(FunctionBody)) if func is not None else ():
                self.report(GradientInState(site=Site(record.env.module, i.node), key=key))


def _is_optimizer(base: object) -> bool:
    return isinstance(base, LibraryObject) and base.name.startswith("torch.optim.")


def _kept(body: FunctionBody) -> Iterator[tuple[nodes.SetItem, str]]:
    """Stores of a gradient under a key of the state that the method changes in place, too."""
    for i in body.instrs:
        if not isinstance(i, nodes.SetItem) or not _is_gradient(body, i.src):
            continue
        key = _key(body, i.index)
        if key is not None and _is_state(body, i.obj) and _is_changed(body, key, i.src):
            yield i, key


def _is_gradient(body: FunctionBody, reg: int, depth: int = 3) -> bool:
    """Is it, on one way at least, `p.grad` or what shares its memory?"""
    made = body.maker(reg)
    if isinstance(made, nodes.LoadName) and depth:
        return any(_is_gradient(body, store.src, depth - 1) for store in body.stores.get(made.name, ()))
    if isinstance(made, nodes.Call) and depth:
        func = body.made.get(made.func)
        is_detached = isinstance(func, nodes.GetAttr) and func.name == "detach"
        return is_detached and _is_gradient(body, func.obj, depth - 1)  # type: ignore[union-attr]
    if isinstance(made, nodes.GetAttr) and made.name == "data" and depth:
        return _is_gradient(body, made.obj, depth - 1)
    return isinstance(made, nodes.GetAttr) and made.name == "grad"


def _key(body: FunctionBody, reg: int) -> str | None:
    made = body.maker(reg)
    return made.value if isinstance(made, nodes.Const) and isinstance(made.value, str) else None


def _is_state(body: FunctionBody, reg: int) -> bool:
    """Is it `self.state[p]`, or a parameter that is called so?"""
    source, made = body.source(reg), body.maker(reg)
    if isinstance(made, nodes.GetItem):
        made = body.maker(made.obj)
    return "state" in source if isinstance(source, str) else getattr(made, "name", "") == "state"


def _is_changed(body: FunctionBody, key: str, gradient: int) -> bool:
    """Is what the state holds under a key written to by a method of it?"""
    source = body.source(gradient)
    names = {
        store.name
        for stores in body.stores.values()
        for store in stores
        if _is_entry(body, body.made.get(store.src), key) or (store.src == gradient and store.src != source)
    }
    for i in body.instrs:
        func = body.made.get(i.func) if isinstance(i, nodes.Call) else None
        if not isinstance(func, nodes.GetAttr) or _IN_PLACE.fullmatch(func.name) is None:
            continue
        owner = body.made.get(func.obj)
        if _is_entry(body, owner, key) or (isinstance(owner, nodes.LoadName) and owner.name in names):
            return True
    return False


def _is_entry(body: FunctionBody, made: nodes.Instr | None, key: str) -> bool:
    return isinstance(made, nodes.GetItem) and _key(body, made.index) == key and _is_state(body, made.obj)


class GradientKeptInState(Rule):
    """An optimizer's state holds the gradient itself, and not a copy.

    ## What it detects

    `state["buffer"] = p.grad` in a method of a class that derives from `torch.optim.Optimizer`, where the
    same method writes to `state["buffer"]` in place.

    ## Why it is wrong

    The buffer and the gradient are one tensor. What is written to the buffer changes the gradient that is
    still to be read in this step; and where gradients are kept and set to zero, or accumulated, the buffer
    changes with them.

    ## Example

    ```python
    import torch


    class Momentum(torch.optim.Optimizer):
        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if "buffer" not in state:
                        state["buffer"] = p.grad  # <- GL417
                    state["buffer"].mul_(0.9).add_(p.grad)
                    p.sub_(group["lr"] * state["buffer"])


    weight = torch.zeros(1, requires_grad=True)
    optimizer = Momentum([weight], {"lr": 1.0})
    weight.sum().backward()
    optimizer.step()
    ```

    ## Use instead

    ```python
    import torch


    class Momentum(torch.optim.Optimizer):
        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if "buffer" not in state:
                        state["buffer"] = p.grad.clone()
                    state["buffer"].mul_(0.9).add_(p.grad)
                    p.sub_(group["lr"] * state["buffer"])


    weight = torch.zeros(1, requires_grad=True)
    optimizer = Momentum([weight], {"lr": 1.0})
    weight.sum().backward()
    optimizer.step()
    ```

    ## Fix safety

    There is no fix: the copy may be meant to be made elsewhere.

    ## References

    - [`torch.Tensor.clone`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.clone.html)
    """

    code = "GL417"
    name = "gradient-in-state"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the buffer and the gradient change each other"
    symptom = "assert weight.item() > -1.85  # a step of 1.9 was asked for"
    trackers = (KeptGradients,)

    def on_gradient_in_state(self, event: GradientInState) -> Iterator[Violation]:
        yield self.finding(
            event,
            f'`state["{event.key}"]` is the gradient itself, so that a write to one changes both',
            "keep a copy: `.clone()`",
        )
