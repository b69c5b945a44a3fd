"""GL819: each call of a module registers its hooks once more."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gradcheck_tool import (
    NONE,
    Class,
    Event,
    Func,
    FunctionBody,
    Instance,
    Interpreter,
    LibraryObject,
    Method,
    Rule,
    Severity,
    Site,
    State,
    StoryNote,
    Symbol,
    Tensor,
    Tracker,
    Value,
    Violation,
    facts,
    nodes,
    source_text,
    when,
)

_HOOKS = frozenset(
    f"register_{when}_hook"
    for when in ("forward", "forward_pre", "full_backward", "full_backward_pre", "backward")
)


@dataclass(slots=True, eq=False, kw_only=True)
class HookRegisteredAgain(Event):
    """Each call of `method` registers a hook by `call` on what outlives the call; nothing removes it.

    `method` is empty for each iteration of a loop.
    """

    triggers = (when.HOOK,)

    method: str
    call: str


class HooksInForward(Tracker):
    """Reads the forward methods of modules when their classes are defined."""

    derives = (HookRegisteredAgain,)

    def on_object_made(self, m: Interpreter, s: State, fact: facts.ObjectMade) -> None:
        """Read a class that derives from `nn.Module`."""
        record = s.get(fact.object, Class)
        if record is None or LibraryObject("torch.nn.Module") not in record.mro:
            return
        forward, module = s.get(record.attrs.get("forward"), Func), record.env.module
        for node, hook in (
            _registered(forward.function.worked_out(FunctionBody), module.source) if forward else ()
        ):
            site = Site(module, node)
            self.report(HookRegisteredAgain(site=site, method=f"{record.name}.forward", call=hook))


class HooksInLoops(Tracker):
    """Follows the hooks that loops, and methods that train, register on modules and parameters."""

    derives = (HookRegisteredAgain,)
    callees = frozenset({*_HOOKS, "register_hook"})
    registered = StoryNote[tuple[int, Value], bool]()

    def on_called(self, m: Interpreter, s: State, fact: facts.Called) -> None:
        """Has the same call registered a hook on the same object before?"""
        receiver, name = _method(fact.func)
        if name not in _HOOKS and name != "register_hook":
            return
        site = m.site(s, fact.instr.node)
        if not _is_lasting(s, receiver) or _removes(site.module.source):
            return
        key = (id(fact.instr), receiver)
        before = self.registered.get(s, key)
        if before is not None and self._is_again(m, s, site, receiver, before) and self.once(key[0]):
            method = s[s.frames[-1]].function.qualname if s.again else ""
            self.report(HookRegisteredAgain(site=site, method=method, call=name))
        self.registered.set(s, key, s.again if before is None else before)

    def _is_again(self, m: Interpreter, s: State, site: Site, receiver: Value, before: bool) -> bool:
        """Is it a later call of a method that trains, or a later iteration of a loop over batches?

        A loop over hooks or parameters is none; `before` tells whether the first call had come back then.
        """
        if s.again:
            return not before
        loop, tensor = m.places.loop_of(site), s.get(receiver, Tensor)
        if loop is None or (tensor is not None and tensor.is_summary):
            return False
        return "backward(" in source_text(Site(site.module, loop.node))


def _method(func: Value) -> tuple[Value, str]:
    """The object and the name of a method; NONE and empty for other callees."""
    if isinstance(func, Method):
        return func.receiver, func.name
    key = func.key if isinstance(func, Symbol) else None
    is_method = isinstance(key, tuple) and len(key) == 3 and key[0] == "attr"
    return (key[1], str(key[2])) if is_method and isinstance(key, tuple) else (NONE, "")


def _is_lasting(s: State, value: Value) -> bool:
    """Is it a module, an attribute of one, or a parameter: the same in each iteration?"""
    tensor = s.get(value, Tensor)
    if tensor is not None:
        return tensor.leaf is True and tensor.is_param is True
    key = value.key if isinstance(value, Symbol) else None
    if isinstance(key, tuple) and len(key) == 3 and key[0] == "attr":
        return _is_lasting(s, key[1])
    return s.get(value, Instance) is not None


def _removes(source: str) -> bool:
    """Does a file remove hooks, or handle their tables itself?"""
    return ".remove(" in source or "_hooks" in source.replace("register_", "")


class HookInForward(Rule):
    """A module's forward, or a loop, registers the same hook on the same layer again and again.

    ## What it detects

    `self.layer.register_forward_hook(...)` and the like in the `forward` of a module, in a file
    that never calls `remove()` on a handle, and `self.layer.weight.register_hook(...)`; the same in
    a loop that back-propagates, on a module or parameter that is made before the loop, and in a
    method that back-propagates and is called again on the same object.

    ## Why it is wrong

    The hook stays: the second call runs it twice, the third three times. What it adds up or changes
    is then added up or changed several times, and what it holds is never freed.

    ## Example

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.seen = 0

        def count(self, module, args, output):
            self.seen += 1

        def forward(self, x):
            self.layer.register_forward_hook(self.count)  # <- GL819
            return self.layer(x)


    net = Net()
    for _ in range(3):
        net(torch.ones(2, 3)).sum().backward()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.seen = 0
            self.layer.register_forward_hook(self.count)

        def count(self, module, args, output):
            self.seen += 1

        def forward(self, x):
            return self.layer(x)


    net = Net()
    for _ in range(3):
        net(torch.ones(2, 3)).sum().backward()
    ```

    ## References

    - [`torch.nn.Module.register_forward_hook`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook)
    """

    code = "GL819"
    name = "hook-in-forward"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the hook runs once more with each call"
    symptom = "assert net.seen == 6"
    trackers = (HooksInForward, HooksInLoops)

    def on_hook_registered_again(self, event: HookRegisteredAgain) -> Iterator[Violation]:
        each, place = f"call of `{event.method}`", "in the constructor"
        if not event.method:
            each, place = "iteration", "before the loop"
        yield self.finding(
            event,
            f"each {each} registers this hook again, and nothing removes it",
            f"register it {place}, or keep the handle and call its `remove()`",
        )


def _registered(forward: FunctionBody, source: str) -> Iterator[tuple[Any, str]]:
    """Hooks of modules of `self` that every call of forward registers, in a file that removes none."""
    if ".remove(" in source:
        return
    for i in _always(forward):
        func = forward.made.get(i.func) if isinstance(i, nodes.Call) else None
        if not isinstance(func, nodes.GetAttr) or not _is_of_self(forward, func.obj):
            continue
        if func.name in _HOOKS or (func.name == "register_hook" and _is_of_layer(forward, func.obj)):
            yield i.node, func.name


def _always(body: FunctionBody) -> Iterator[nodes.Instr]:
    """The instructions that run before anything is decided."""
    at: int | None = body.function.entry
    while at is not None:
        block = body.function.blocks[at]
        yield from block.instrs
        at = block.terminator.target if isinstance(block.terminator, nodes.Jump) else None


def _is_of_layer(body: FunctionBody, reg: int) -> bool:
    """Is it the weight or the bias of an attribute of `self`?"""
    made = body.maker(reg)
    if not isinstance(made, nodes.GetAttr) or made.name not in ("bias", "weight"):
        return False
    return isinstance(body.maker(made.obj), (nodes.GetAttr, nodes.GetItem))


def _is_of_self(body: FunctionBody, reg: int) -> bool:
    """Is it `self`, or an attribute or item of it, of any depth?"""
    seen: set[int] = set()
    made = body.maker(reg)
    while isinstance(made, (nodes.GetAttr, nodes.GetItem)) and reg not in seen:
        seen.add(reg)
        reg = made.obj
        made = body.maker(reg)
    return body.source(reg) == body.receiver
