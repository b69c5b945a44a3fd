"""GL211: a function detaches a tensor of its caller in place."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    Frame,
    Interpreter,
    Iter,
    Method,
    Ref,
    Rule,
    Severity,
    State,
    Symbol,
    Tensor,
    Tracker,
    Value,
    Violation,
    facts,
    nodes,
    reachable,
    renamed,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class CallersTensorDetached(Event):
    """A function takes what `detach_()` of its parameter `tensor` returns for a tensor of its own."""

    triggers = (when.DETACH,)

    tensor: str


class CallersTensors(Tracker):
    """`detach_()` of a parameter whose result is used as if it were another tensor."""

    derives = (CallersTensorDetached,)
    callees = frozenset({"detach_"})

    def on_called(self, m: Interpreter, s: State, fact: facts.Called) -> None:
        """Is it `detach_` of what the caller has given?"""
        receiver = _detached(fact.func)
        if receiver is None:
            return
        frame: Frame = s[s.frames[-1]]
        name, tensor = _given_as(s, frame, receiver), s.get(receiver, Tensor)
        if not name or (tensor is not None and not tensor.requires_grad):
            return
        if isinstance(receiver, Ref) and not _is_held_by_callers(s, receiver):
            return
        is_rebound = any(i.src == fact.instr.dst and i.name == name for i in _stores(frame.function))
        used = m.places.is_read(frame.function, fact.instr.dst) and not is_rebound
        if used and self.once(id(fact.instr)):
            self.report(CallersTensorDetached(site=m.site(s, fact.instr.node), tensor=name))


class DetachedForCaller(Rule):
    """A function uses the result of `detach_()` on a parameter as if it were another tensor.

    ## What it detects

    `self.cache = x.detach_()`, `return x.detach_()`, `[x.detach_() for x in tensors]` where `x` is a
    parameter, or an element of one. A statement `x.detach_()`, which says that this is its purpose, and
    `x = x.detach_()` are not reported.

    ## Why it is wrong

    `detach_()` returns the caller's tensor itself, which has lost its history: what the caller
    differentiates afterwards passes no gradient on, or raises. `detach()` leaves it as it is.

    ## Example

    ```python
    import torch


    class Cache:
        def __init__(self, value):
            self.value = value.detach_()  # <- GL211


    weight = torch.ones(2, requires_grad=True)
    output = weight * 2
    cache = Cache(output)
    ```

    ## Use instead

    ```python
    import torch


    class Cache:
        def __init__(self, value):
            self.value = value.detach()


    weight = torch.ones(2, requires_grad=True)
    output = weight * 2
    cache = Cache(output)
    ```

    ## Fix safety

    A caller may count on its tensor being detached, so the fix is unsafe.

    ## References

    - [`torch.Tensor.detach_`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach_.html)
    """

    code = "GL211"
    name = "callers-tensor-detached"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the caller's tensor loses its history"
    symptom = "assert not output.requires_grad"
    trackers = (CallersTensors,)

    def on_callers_tensor_detached(self, event: CallersTensorDetached) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`detach_()` cuts the caller's `{event.tensor}` out of its graph, and returns no other tensor",
            "use `detach()`",
            fix=self.unsafe_fix("Use detach", renamed(event.site, "detach")),
        )


def _detached(func: Value) -> Value | None:
    """What `detach_` is called on."""
    if isinstance(func, Method):
        return func.receiver if func.name == "detach_" else None
    key = func.key if isinstance(func, Symbol) else None
    is_it = isinstance(key, tuple) and len(key) == 3 and key[0] == "attr" and key[2] == "detach_"
    return key[1] if is_it else None  # type: ignore[index]


def _is_held_by_callers(s: State, tensor: Ref) -> bool:
    """Does a variable of a function that waits for this one lead to a tensor?"""
    own = s[s.frames[-1]].site
    waiting = [s[ref] for ref in s.frames[:-1] if s[ref].site is not own]
    variables = [value for frame in waiting for name, value in frame.locals.items() if isinstance(name, str)]
    return tensor in reachable(s, variables)


def _given_as(s: State, frame: Frame, value: Value) -> str:
    """The parameter that has a value, or that a comprehension takes it from; '' where there is none."""
    function: nodes.Function = frame.function
    if function.kind is nodes.FunctionKind.COMPREHENSION and frame.parent is not None:
        source = s.get(frame.locals.get(".0"), Iter)
        return _parameter(s[frame.parent], source.parts[0]) if source is not None and source.parts else ""
    return _parameter(frame, value)


def _parameter(frame: Frame, value: Value) -> str:
    function: nodes.Function = frame.function
    names = [p.name for p in function.params if frame.locals.get(p.name) == value]
    receiver = frame.receiver == value
    return names[0] if names and not receiver and function.kind is nodes.FunctionKind.FUNCTION else ""


def _stores(function: nodes.Function) -> list[nodes.StoreName]:
    return [i for block in function.blocks.values() for i in block.instrs if isinstance(i, nodes.StoreName)]
