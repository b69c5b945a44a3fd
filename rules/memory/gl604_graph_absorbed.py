"""GL604: a buffer or a frozen parameter absorbs the graph of what is written into it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Class,
    Condition,
    Dict,
    Event,
    Func,
    FunctionBody,
    Instance,
    Interpreter,
    Node,
    Ref,
    Rule,
    Severity,
    Site,
    State,
    StoryNote,
    StoryStep,
    Tensor,
    Tracker,
    Trigger,
    Tup,
    Value,
    Violation,
    facts,
    function_of,
    module_tree,
    nodes,
    source_text,
    when,
)

# Nodes of what averages are computed by, and those of operators on values that are not known.
AVERAGING = frozenset(
    {"AddBackward0", "CloneBackward0", "DivBackward0", "LerpBackward0", "MulBackward0", "SubBackward0"}
    | {"+", "-", "*", "/"}
)
# Classes of losses.
_LOSS = re.compile(r"(?:Loss|Criterion|Penalty)(?:[A-Z0-9]|$)")
# What a tensor has beside its values.
WITHOUT_VALUES = frozenset(
    {"device", "dtype", "shape", "size", "ndim", "dim", "numel", "layout", "is_cuda", "new_zeros", "new_ones"}
)

# What gives its values without their graph.
WITHOUT_GRAPH = frozenset({"data", "detach", "item", "numpy", "tolist"})


@dataclass(slots=True, eq=False, kw_only=True)
class GraphAbsorbed(Event):
    """A unit ends while a buffer or parameter of a module has a graph that was written into it.

    `kind` is `buffer`, `parameter`, `attribute` (of a loss) or `average`: one of several that an object keeps
    by name.
    """

    name: str
    kind: str


class Absorbing(Tracker):
    """Tensors that modules keep, and that got a graph by a write."""

    derives = (GraphAbsorbed,)
    writes = StoryNote[Ref, Site]()
    # Without any, there is nothing to look for at the end of a path.
    any_written = False
    # What a function has detached itself: its next call will, too, before it writes.
    detached = StoryNote[Ref, Ref]()

    def on_taken(self, m: Interpreter, s: State, fact: facts.Taken) -> None:
        """Is it detached in place?"""
        if fact.by == "detached":
            for ref in fact.records:
                self.detached.set(s, ref, s.frames[-1])

    def on_written(self, m: Interpreter, s: State, fact: facts.Written) -> None:
        """Is something with a graph written to a tensor?"""
        if s.grad is not True or not any(_has_graph(s, value) for value in fact.operands):
            return
        if self.detached.get(s, fact.tensor) == s.frames[-1]:
            return
        # What had a graph before the write is a result, which a module may keep later on.
        if self.writes.get(s, fact.tensor) is not None or not _had_graph(s, fact.tensor):
            self._note(s, fact.tensor, fact.site)

    def on_item_written(self, m: Interpreter, s: State, fact: facts.ItemWritten) -> None:
        """`buffer[index] = value`, or `self.averages[name] = 0.9 * self.averages[name] + 0.1 * parameter`."""
        if s.grad is not True or not _has_graph(s, fact.value):
            return
        if s.get(fact.container, Tensor) is not None:
            name = source_text(fact.site).partition("[")[0].strip()
            if m.places.begins(fact.site, name):
                return
            self._note(s, fact.container, fact.site)  # type: ignore[arg-type]
        elif s.after_body and _reads_itself(fact.site) and _is_average(s, fact.value):
            self._write(s, fact.value, fact.site)  # type: ignore[arg-type]

    def _write(self, s: State, ref: Ref, site: Site) -> None:
        self.any_written = True
        self.writes.set(s, ref, site)

    def _note(self, s: State, ref: Ref, site: Site) -> None:
        """Remember a write, unless to what the method that writes has made: the next call makes another."""
        base = s[ref].base
        running = s.frames[-1]
        owner = s.get(s[running].receiver, Instance)
        for each in (ref, base) if base is not None else (ref,):
            if owner is None or each.id < running.id or not module_tree.is_module(s, owner):
                self._write(s, each, site)

    def on_attribute_written(self, m: Interpreter, s: State, fact: facts.AttributeWritten) -> None:
        """`self.buffer = 0.9 * self.buffer + value`, of a unit whose loop is not in sight."""
        owner = s.get(fact.object, Instance)
        if not s.after_body or owner is None or not _has_graph(s, fact.value):
            return
        is_kept = fact.name in _buffers(owner) or _is_loss(s, owner)
        if not is_kept or _is_begun_anew(s, owner, fact.name):
            return
        if _goes_on_from_itself(s, fact):
            self._write(s, fact.value, fact.site)  # type: ignore[arg-type]

    def on_path_ended(self, m: Interpreter, s: State, fact: facts.PathEnded) -> None:
        """Which of them still have the graph, and are kept?"""
        if not fact.returns or not self.any_written:
            return
        for _, record in s.records(Instance):
            buffers = _buffers(record)
            for name, value in record.attrs.items():
                kind = "buffer" if name in buffers else "attribute" if _is_loss(s, record) else ""
                self._end(s, record, name, value, "" if kind and _is_cut(s, record, name) else kind)
                held = s.get(value, Dict)
                for item in held.items.values() if held is not None else ():
                    self._end(s, record, name, item, "average")

    def _end(self, s: State, owner: Instance, name: object, value: Value, kind: str) -> None:
        """Report what is kept with the graph that was written into it, unless other files change it."""
        tensor = s.get(value, Tensor)
        if tensor is None or not tensor.requires_grad or tensor.leaf is not False:
            return
        site = self.writes.get(s, value)  # type: ignore[arg-type]
        kind = "parameter" if tensor.is_param else kind
        if site is not None and kind and self.once(id(site.node)):
            made = StoryStep(tensor.site, f"the {kind} is made here", "made") if tensor.site else None
            story = () if made is None else (made,)
            # The parameters of a module that is not known have no names.
            called = str(tensor.name) if str(name).startswith("#") else str(name)
            cls = s.get(owner.cls, Class)
            unless = ((cls.name, called),) if cls is not None else ()
            self.report(GraphAbsorbed(site=site, story=story, name=called, kind=kind, unless_set=unless))


def _is_loss(s: State, owner: Instance) -> bool:
    """Is it a loss, by its class? What it returns is differentiated before it is called again."""
    cls = s.get(owner.cls, Class)
    return cls is not None and _LOSS.search(cls.name) is not None and module_tree.is_module(s, owner)


def _had_graph(s: State, ref: Ref) -> bool:
    """Had a tensor that has just been written to a graph before that?"""
    node = s.get(s[ref].grad_fn, Node)
    return node is not None and bool(node.inputs) and s.get(node.inputs[0], Node) is not None


def _goes_on_from_itself(s: State, fact: facts.AttributeWritten) -> bool:
    """Is what an attribute gets computed from what the running function has read of it?"""
    if fact.instr is None:
        return False
    body = s[s.frames[-1]].function.worked_out(FunctionBody)
    behind = body.behind(fact.instr.src, ends=_asks_for_no_graph)
    return any(isinstance(at, nodes.GetAttr) and at.name == fact.name for at in behind)


def _asks_for_no_graph(instr: nodes.Instr) -> bool:
    """Is it what a tensor has beside its values (`self.latent.device`), or those without their graph?"""
    return isinstance(instr, nodes.GetAttr) and instr.name in WITHOUT_VALUES | WITHOUT_GRAPH


def _reads_itself(site: Site) -> bool:
    """Is what is stored under an index computed from what is there?"""
    target, _, value = source_text(site).partition("=")
    return target.strip() in value


def _is_average(s: State, value: Value) -> bool:
    """Is it computed by sums and products of a parameter alone?"""
    todo: list[Value] = [s[value].grad_fn]  # type: ignore[index]
    while todo:
        at = todo.pop()
        node, leaf = s.get(at, Node), s.get(at, Tensor)
        if leaf is not None and leaf.is_param:
            return True
        if node is not None and node.op in AVERAGING:
            todo += node.inputs
    return False


def _is_cut(s: State, owner: Instance, name: object) -> bool:
    """Does the class's file let callers take its graph off: `self.memory.detach_()`?"""
    cls = s.get(owner.cls, Class)
    word = re.escape(str(name))
    cuts = rf"\.{word}\.detach_\(|\.{word}\s*=\s*[\w.]+\.{word}\.detach\("
    return cls is not None and re.search(cuts, cls.env.module.source) is not None


def _is_begun_anew(s: State, owner: Instance, name: str) -> bool:
    """Has the class a method for callers that binds the attribute: `reset()` before each sequence?"""
    cls, running = s.get(owner.cls, Class), s[s.frames[-1]].function
    entries = (s.get(entry, Class) for entry in cls.mro) if cls is not None else ()
    methods = [
        (str(own), func.function.worked_out(FunctionBody))
        for entry in entries
        if entry is not None
        for own, value in entry.attrs.items()
        if (func := s.get(function_of(s, value), Func)) is not None
    ]
    inside = {func.name for own, body in methods if own in ("__init__", running.name) for func in _gets(body)}
    return any(
        own != "__init__" and own not in inside and body.function is not running
        for own, body in methods
        if any(isinstance(i, nodes.SetAttr) and i.name == name for i in body.instrs)
    )


def _gets(body: FunctionBody) -> list[nodes.GetAttr]:
    return [i for i in body.instrs if isinstance(i, nodes.GetAttr)]


def _has_graph(s: State, value: Value) -> bool:
    tensor = s.get(value, Tensor)
    return tensor is not None and tensor.requires_grad is True


def _buffers(record: Instance) -> set[object]:
    names = record.attrs.get("#buffers")
    return {name.value for name in names.items} if isinstance(names, Tup) else set()  # type: ignore[union-attr]


class GraphInBuffer(Rule):
    """A buffer or a frozen parameter acquires a graph through what is written into it.

    ## What it detects

    A running mean, an exponential average or a queue (`buffer.lerp_(x, 0.1)`, `buffer[i] = x`,
    `parameter.copy_(0.9 * parameter + 0.1 * other)`) that is brought up to date in grad mode with a
    value that has a graph, and still has that graph when the unit returns; likewise the averages of
    parameters that an object keeps in a dictionary, and a statistic that a loss keeps from call to call.

    ## Why it is wrong

    The graph of every iteration holds that of the one before: memory grows, and a backward through the
    buffer reaches iterations that are over, where PyTorch raises because their graphs are freed.

    ## Example

    ```python
    import torch
    from torch import nn


    class Centered(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.register_buffer("center", torch.zeros(3))

        def forward(self, x):
            y = self.layer(x)
            self.center.lerp_(y.mean(0), 0.1)  # <- GL604
            return y - self.center


    net = Centered()
    output = net(torch.ones(2, 3))
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Centered(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.register_buffer("center", torch.zeros(3))

        def forward(self, x):
            y = self.layer(x)
            self.center.lerp_(y.detach().mean(0), 0.1)
            return y - self.center


    net = Centered()
    output = net(torch.ones(2, 3))
    ```

    ## Fix safety

    There is no fix: whether the value or the buffer is to be detached is for the author to decide.

    ## References

    - [My model reports out of memory](https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory)
    """

    code = "GL604"
    name = "graph-in-buffer"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the graphs of all iterations stay in memory"
    symptom = "assert net.center.grad_fn is not None"
    triggers = (
        *when.WRITES,
        when.FORWARD_WRITE,
        when.FORWARD_HELPER_WRITE,
        Trigger("register_buffer(", in_file=("copy_", "lerp_", "add_", "mul_", "+=", "*=")),
        Trigger("] = ", r"(\bself\.\w+\[[^\]\n]+\])\s*=[^=\n]*\1", in_file=("parameters(",)),
        Trigger(
            pattern=r"\bself\.\w+\s*=[^=]",
            in_file=("register_buffer",),
            where=Condition.BINDS_BUFFER,
            callers=False,
        ),
        Trigger(pattern=r"\bself\.\w+\s*=[^=]", where=Condition.COMPUTES_LOSS, callers=False),
    )
    trackers = (Absorbing,)

    def on_graph_absorbed(self, event: GraphAbsorbed) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{source_text(event.site)}` gives the {event.kind} `{event.name}` the graph of what is "
            "written, and the next call one that reaches back to it",
            "detach the value, or write under `torch.no_grad()`",
        )
