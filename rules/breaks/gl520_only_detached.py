"""GL520: a network has an optimizer of its own, and all that it computes is detached."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradcheck_tool import (
    Class,
    Event,
    Func,
    FunctionBody,
    Interpreter,
    Rule,
    Severity,
    Site,
    State,
    StoryStep,
    Tracker,
    Trigger,
    Violation,
    facts,
    nodes,
)

# What may be asked of a network without its results being used.
_MANAGES = frozenset(
    {
        "cpu",
        "cuda",
        "device",
        "eval",
        "load_state_dict",
        "named_parameters",
        "parameters",
        "requires_grad_",
        "state_dict",
        "to",
        "train",
        "training",
        "zero_grad",
    }
)
_CUTS = frozenset({"data", "detach"})


@dataclass(slots=True, eq=False, kw_only=True)
class OnlyDetached(Event):
    """`optimizer` trains `network`, and each result of it is detached."""

    triggers = (Trigger("detach()", in_file=(".parameters()",), callers=False),)

    network: str
    optimizer: str


class TrainedApart(Tracker):
    """Reads what the methods of classes do with the networks that their optimizers train."""

    derives = (OnlyDetached,)

    def on_object_made(self, m: Interpreter, s: State, fact: facts.ObjectMade) -> None:
        """A class is defined: look at its methods together."""
        record = s.get(fact.object, Class)
        funcs = [s.get(value, Func) for value in record.attrs.values()] if record is not None else []
        methods = [_Method(func.function) for func in funcs if func is not None and func.function.params]
        optimized = [pair for method in methods for pair in method.optimized()]
        for made, network, optimizer in optimized:
            if sum(each[2] == optimizer for each in optimized) > 1 or not _steps(methods, optimizer):
                continue
            if any(_trains_what_is_given(method, optimizer) for method in methods):
                continue
            cuts = _cuts(methods, network)
            if cuts and record is not None:
                module = record.env.module
                story = (StoryStep(Site(module, made.node), f"`{optimizer}` trains `{network}`", "made"),)
                site = Site(module, cuts[0].node)
                self.report(OnlyDetached(site=site, story=story, network=network, optimizer=optimizer))


class _Method(FunctionBody):
    """The code of a method, asked which attributes of `self` its registers hold."""

    def path(self, reg: int) -> str:
        """`self.a.b`, or empty for anything else."""
        made = self.made.get(reg)
        if isinstance(made, nodes.LoadName):
            return "self" if made.name == self.receiver else ""
        owner = self.path(made.obj) if isinstance(made, nodes.GetAttr) else ""
        return f"{owner}.{made.name}" if owner and isinstance(made, nodes.GetAttr) else ""

    def optimized(self) -> Iterator[tuple[nodes.Call, str, str]]:
        """`self.optimizer = make(self.network.parameters())`: the call, the network and the optimizer."""
        for i in self.instrs:
            made = self.made.get(i.src) if isinstance(i, nodes.SetAttr) else None
            if not isinstance(i, nodes.SetAttr) or not isinstance(made, nodes.Call) or not made.args:
                continue
            given = self.maker(made.args[0].value)
            func = self.made.get(given.func) if isinstance(given, nodes.Call) else None
            if isinstance(func, nodes.GetAttr) and func.name == "parameters":
                network, owner = self.path(func.obj), self.path(i.obj)
                if network.count(".") and owner:
                    yield made, network, f"{owner}.{i.name}"


def _steps(methods: Sequence[_Method], optimizer: str) -> bool:
    """Does a method step an optimizer, or put it with others?"""
    registers = [(method, reg) for method in methods for reg in method.made if method.path(reg) == optimizer]
    for method, reg in registers:
        for use in method.uses(reg):
            if isinstance(use, (nodes.BuildTuple, nodes.BuildList)):
                return True
            if isinstance(use, nodes.GetAttr) and use.name == "step":
                return True
    return False


def _cuts(methods: Sequence[_Method], network: str) -> list[nodes.GetAttr]:
    """Where the results of a network are detached; nothing where they, or it, may be used in another way."""
    found: list[nodes.GetAttr] = []
    for method in methods:
        if any(_is_part(method, i, network) for i in method.instrs):
            return []
        for reg in method.made:
            path = method.path(reg)
            if path == network:
                cuts = _cut_off(method, reg)
                if cuts is None:
                    return []
                found += cuts
            elif path.count(".") and network.startswith(f"{path}.") and not _is_only_asked(method, reg):
                return []
    return found


def _trains_what_is_given(method: _Method, optimizer: str) -> bool:
    """Does a method that steps an optimizer differentiate what callers have computed, maybe with its network?

    It does where its loss has no other graph: all that the object computes for it is detached.
    """
    if not any(method.path(step.obj) == optimizer for _, step in method.calls("step")):
        return False

    def is_own(made: nodes.Instr | str) -> bool:
        return isinstance(made, nodes.Call) and bool(method.path(made.func))

    def ends(made: nodes.Instr) -> bool:
        return is_own(made) or (isinstance(made, nodes.GetAttr) and made.name in _CUTS)

    for _, backward in method.calls("backward"):
        behind = list(method.behind(backward.obj, ends))
        given = [origin for origin in behind if isinstance(origin, str) and origin != method.receiver]
        if given and not any(map(is_own, behind)):
            return True
    return False


def _is_part(method: _Method, i: nodes.Instr, network: str) -> bool:
    """Is the network bound to something that is part of another?"""
    if not isinstance(i, nodes.SetAttr) or f"{method.path(i.obj)}.{i.name}" != network:
        return False
    return isinstance(method.maker(i.src), (nodes.GetAttr, nodes.GetItem))


def _is_only_asked(method: _Method, reg: int) -> bool:
    """Is what holds the network only asked for its attributes, and handed to nobody?"""
    for use in method.uses(reg):
        func = method.made.get(use.func) if isinstance(use, nodes.Call) else None
        asks = isinstance(func, nodes.LoadName) and func.name in ("hasattr", "isinstance")
        if not isinstance(use, (nodes.GetAttr, nodes.SetAttr)) and not asks:
            return False
    return True


def _cut_off(method: _Method, reg: int) -> list[nodes.GetAttr] | None:
    """Where results of a network are detached; None where one may be used as it is, or the network itself."""
    found: list[nodes.GetAttr] = []
    for use in method.uses(reg):
        if isinstance(use, nodes.GetAttr) and use.name in _MANAGES:
            continue
        if not isinstance(use, nodes.Call) or use.func != reg:
            return None
        results = {use.dst}
        for i in method.uses(use.dst):
            if isinstance(i, nodes.StoreName):
                results.discard(use.dst)
                results |= {
                    load.dst
                    for load in method.instrs
                    if isinstance(load, nodes.LoadName)
                    and load.name == i.name
                    and method.source(load.dst) in (load.dst, use.dst)
                }
        for result in results:
            cuts = [i for i in method.uses(result) if isinstance(i, nodes.GetAttr) and i.name in _CUTS]
            if not cuts or len(cuts) < len(list(method.uses(result))):
                return None
            found += cuts
    return found


class OnlyDetachedResults(Rule):
    """A network is trained by an optimizer, and every result of it is detached.

    ## What it detects

    `self.optimizer = SGD(self.network.parameters())` and a step of that optimizer, in a class that uses the
    results of `self.network(...)` only as `self.network(...).detach()`, and does not pass the network on.

    ## Why it is wrong

    No gradient reaches the network. Its optimizer steps and changes nothing.

    ## Example

    ```python
    import torch
    from torch import nn


    class Trainer:
        def __init__(self):
            self.encoder, self.head = nn.Linear(2, 2), nn.Linear(2, 1)
            self.encoder_optimizer = torch.optim.SGD(self.encoder.parameters(), lr=0.1)
            self.head_optimizer = torch.optim.SGD(self.head.parameters(), lr=0.1)

        def step(self, x):
            features = self.encoder(x)
            loss = self.head(features.detach()).pow(2).mean()  # <- GL520
            loss.backward()
            for optimizer in (self.encoder_optimizer, self.head_optimizer):
                optimizer.step()
                optimizer.zero_grad()


    trainer = Trainer()
    start = trainer.encoder.weight.detach().clone()
    trainer.step(torch.ones(3, 2))
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Trainer:
        def __init__(self):
            self.encoder, self.head = nn.Linear(2, 2), nn.Linear(2, 1)
            self.encoder_optimizer = torch.optim.SGD(self.encoder.parameters(), lr=0.1)
            self.head_optimizer = torch.optim.SGD(self.head.parameters(), lr=0.1)

        def step(self, x):
            features = self.encoder(x)
            loss = self.head(features).pow(2).mean()
            loss.backward()
            for optimizer in (self.encoder_optimizer, self.head_optimizer):
                optimizer.step()
                optimizer.zero_grad()


    trainer = Trainer()
    start = trainer.encoder.weight.detach().clone()
    trainer.step(torch.ones(3, 2))
    ```

    ## References

    - [`torch.Tensor.detach`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html)
    """

    code = "GL520"
    name = "only-detached-results"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the parameters do not move"
    symptom = "assert torch.equal(trainer.encoder.weight, start)"
    trackers = (TrainedApart,)

    def on_only_detached(self, event: OnlyDetached) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.optimizer}` is meant to train `{event.network}`, but every result of it is detached",
            "do not detach the results, or remove the optimizer",
        )
