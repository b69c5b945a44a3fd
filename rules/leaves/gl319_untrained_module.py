"""GL319: a module gets gradients but no optimizer has its parameters."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    Interpreter,
    Node,
    Ref,
    Rule,
    Severity,
    State,
    StoryStep,
    Tensor,
    Tracker,
    Value,
    Violation,
    facts,
    held_parameters,
    module_tree,
    when,
)

# What networks are called that judge others, and stay as they are.
_JUDGES = re.compile(
    r"(?:^|_|\b)(?:critic|evaluator|fixed|frozen|judge|lpips|oracle|perceptual|pretrained|reference|teacher|vgg\d*|victim)",
    re.IGNORECASE,
)


@dataclass(slots=True, eq=False, kw_only=True)
class UntrainedModule(Event):
    """A newly made module gets gradients in a loop, but no optimizer has its parameters.

    `is_parameter`: it is a parameter of a module, the rest of which is trained. Only emitted when its
    parameters require grad, nothing was loaded into it, no unknown code got them, and `optimizer`, which
    has other parameters of the same loss, steps in that loop. The site is where the optimizer is made.
    """

    triggers = when.TRAINING

    module: str
    optimizer: str
    is_parameter: bool = False


class Untrained(Tracker):
    """At each step of an optimizer in a loop: which parameters of other modules does no optimizer have?

    What something takes in hand is excused.
    """

    derives = (UntrainedModule,)

    def on_taken(self, m: Interpreter, s: State, fact: facts.Taken) -> None:
        """What the program handles itself is no mistake."""
        if fact.by != "thawed":
            self.clear(ref.id for ref in fact.records)

    def on_optimizer_made(self, m: Interpreter, s: State, fact: facts.OptimizerMade) -> None:
        """What an optimizer gets is no mistake."""
        self.clear(p.id for p in fact.parameters)

    def on_stepped(self, m: Interpreter, s: State, fact: facts.Stepped) -> None:
        """Look for parameters that no optimizer has."""
        held = held_parameters(s)
        if held is not None and m.places.repeats(s, fact.site):
            self._check_others(m, s, fact, held)

    def _check_others(self, m: Interpreter, s: State, fact: facts.Stepped, held: set[Value]) -> None:
        """Do other new modules get gradients of the same loss, and no optimizer?"""
        optimizer = fact.optimizer
        strays = _strays(s, fact.parameters, held)
        if not strays or s[optimizer].site is None:
            return
        found = module_tree.top_modules(s)
        trained = {p for ref in found for _, p in module_tree.named_parameters(s, ref)[0]}
        if not trained.issuperset(fact.parameters):
            return
        for ref in found:
            params, is_open = module_tree.named_parameters(s, ref)
            own = {p for _, p in params}
            if is_open or own.isdisjoint(strays) or not s[ref].name:
                continue
            if _JUDGES.search(s[ref].name) and not _takes_data(s, own):
                continue
            if own.isdisjoint(held):
                self._suspect(m, s, fact, ref, s[ref].name, own)
            else:
                # Later ones are looked for by GL318.
                earlier = {p for p in strays if p.id < optimizer.id}
                for name, p in _left_out(s, ref, earlier, held):
                    self._suspect(m, s, fact, p, f"{s[ref].name}.{name}", {p})
                for name, at, own in _heads_left_out(s, ref, earlier, held):
                    self._suspect(m, s, fact, at, f"{s[ref].name}.{name}", own)

    def _suspect(
        self, m: Interpreter, s: State, fact: facts.Stepped, subject: Ref, name: str, own: set[Ref]
    ) -> None:
        """Hold back that an optimizer does not train a module or a parameter."""
        is_parameter = s.get(subject, Tensor) is not None
        reached = next(s[p].backward_site for p in own if s[p].grad_state in ("fresh", "mixed"))
        whose = f"`{name}`" if is_parameter else f"the parameters of `{name}`"
        steps = [StoryStep(reached, f"this backward gives {whose} gradients", "backward")]
        if s[subject].site is not None:
            steps.insert(0, StoryStep(s[subject].site, f"`{name}` is made here", "made"))
        event = UntrainedModule(
            site=s[fact.optimizer].site,
            story=tuple(steps),
            module=name,
            optimizer=fact.name,
            is_parameter=is_parameter,
            # Where no program in sight uses the object, other files may have it trained.
            unless=(
                ((m.program.unit.partition(".")[0], name.split(".")[1]),)
                if m.program.unit and "." in name
                else ()
            ),
        )
        self.hold(("untrained", id(event.site.node), name), event, {p.id for p in own})


def _takes_data(s: State, own: set[Ref]) -> bool:
    """Is something computed from these parameters and from data, not from what others have computed?"""
    uses = (set(node.inputs) for _, node in s.records(Node) if not own.isdisjoint(node.inputs))
    return any(not any(isinstance(at, Ref) for at in inputs - own) for inputs in uses)


def _strays(s: State, mine: Sequence[Ref], held: set[Value]) -> set[Ref]:
    """Parameters that no optimizer has and that get gradients of a loss that gives some to these."""
    fresh_ones = [s[p] for p in mine if s[p].grad_state == "fresh" and s[p].backward_site is not None]
    losses = {id(tensor.backward_site) for tensor in fresh_ones}
    return {
        ref
        for ref, tensor in s.records(Tensor)
        if _is_trained(tensor)
        and not tensor.is_summary
        and ref not in held
        and id(tensor.backward_site) in losses
    }


def _left_out(s: State, top: Ref, strays: set[Ref], held: set[Value]) -> Iterator[tuple[str, Ref]]:
    """Parameters that no optimizer has, of modules all of whose sub-modules are trained or frozen."""
    for prefix, at in module_tree.modules(s, top):
        own = module_tree.named_parameters(s, at, recurse=False)[0]
        everything = {p for _, p in module_tree.named_parameters(s, at)[0] if s[p].requires_grad}
        inner = everything - {p for _, p in own}
        if inner and inner <= held:
            yield from ((f"{prefix}.{name}".lstrip("."), p) for name, p in own if p in strays)


def _heads_left_out(
    s: State, top: Ref, strays: set[Ref], held: set[Value]
) -> Iterator[tuple[str, Ref, set[Ref]]]:
    """Sub-modules that no optimizer has, and that compute from what trained ones have computed.

    Those that trained ones compute from may be meant to stay as they are: features for a new head.
    """
    behind: set[Value] | None = None
    found: list[str] = []
    for prefix, at in module_tree.modules(s, top):
        own = {p for _, p in module_tree.named_parameters(s, at)[0]}
        if not prefix or not own or not own <= strays or any(prefix.startswith(f"{name}.") for name in found):
            continue
        behind = _computed_from(s, held) if behind is None else behind
        uses = (set(node.inputs) for _, node in s.records(Node) if not own.isdisjoint(node.inputs))
        if any(not behind.isdisjoint(inputs) for inputs in uses) and not _JUDGES.search(prefix):
            found.append(prefix)
            yield prefix, at, own


def _computed_from(s: State, leaves: set[Value]) -> set[Value]:
    """The nodes of the graph that depend on leaves; what a node depends on was made before it."""
    found: set[Value] = set()
    for ref, node in sorted(s.records(Node), key=lambda each: each[0].id):
        if not leaves.isdisjoint(node.inputs) or not found.isdisjoint(node.inputs):
            found.add(ref)
    return found


def _is_trained(tensor: Tensor) -> bool:
    return bool(tensor.is_param and tensor.requires_grad and tensor.grad_state in ("fresh", "mixed"))


class UntrainedModuleRule(Rule):
    """A module with parameters of its own takes part in a loss but is given to no optimizer.

    ## What it detects

    A newly made module (often a loss with parameters, such as a centre loss or a learned weighting)
    whose parameters get gradients in a training loop, while the optimizer that steps there has others
    only. Also a single parameter of a module whose sub-modules are all trained, and a new layer that
    computes from what trained ones have computed, such as a head. A network that is called a critic, a
    teacher, a victim or the like, and only judges what the optimizer trains, is meant to stay as it is.

    ## Why it is wrong

    Its parameters stay as they were initialised, and their gradients add up. Nothing is raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 4)
    scorer = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # <- GL319
    start = scorer.weight.detach().clone()
    for _ in range(3):
        loss = scorer(model(torch.ones(8, 2)).tanh()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 4)
    scorer = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*model.parameters(), *scorer.parameters()], lr=0.1)
    start = scorer.weight.detach().clone()
    for _ in range(3):
        loss = scorer(model(torch.ones(8, 2)).tanh()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Fix safety

    There is no fix: whether the module is to be trained or frozen is for the author to decide.

    ## References

    - [`torch.optim`: constructing it](https://docs.pytorch.org/docs/stable/optim.html#constructing-it)
    """

    code = "GL319"
    name = "untrained-module"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "its parameters do not move"
    symptom = "assert torch.equal(scorer.weight, start)"
    trackers = (Untrained,)

    def on_untrained_module(self, event: UntrainedModule) -> Iterator[Violation]:
        if event.is_parameter:
            told = f"`{event.module}`, which gets gradients and never moves"
            advice = f"give it `{event.module}` too, or freeze it"
        else:
            told = f"the parameters of `{event.module}`, which get gradients and never move"
            advice = f"give it `{event.module}.parameters()` too, or freeze them"
        yield self.finding(event, f"`{event.optimizer}` does not have {told}", advice)
