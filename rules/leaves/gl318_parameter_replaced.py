"""GL318: a parameter is replaced, or becomes trainable, after the optimizer was made without it."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    NONE,
    Const,
    Event,
    Instance,
    Interpreter,
    Ref,
    Rule,
    RunNote,
    Severity,
    Site,
    State,
    StateNote,
    StoryNote,
    StoryStep,
    Tensor,
    Tracker,
    Value,
    Violation,
    facts,
    held_parameters,
    in_class,
    known_optimizers,
    module_tree,
    places,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class ParameterReplaced(Event):
    """A module's parameter or sub-module is replaced after an optimizer took the old ones, and the
    new parameters are given to no optimizer although a step of `optimizer` follows. `is_new`: there was no
    parameter of this name before; `was_frozen`: it is the old one, which did not require grad until then.
    """

    triggers = when.TRAINING

    attribute: str
    optimizer: str
    is_new: bool = False
    was_frozen: bool = False


class Replaced(Tracker):
    """At each step of an optimizer: which parameters of its modules were put there after it was made?

    What something takes in hand is excused.
    """

    derives = (ParameterReplaced,)
    # Where tensors were stored, by object and attribute.
    stores = StoryNote[tuple[Ref, str], Site]()
    # What came in place of a module or parameter that an optimizer has, and where.
    successors = StateNote[tuple[Value, ...]]()
    replaced = RunNote[int, Site]()
    # Where a parameter was told to require grad again, and the optimizers that there were then.
    thawed = RunNote[int, tuple[Site, frozenset[Ref]]]()

    def on_attribute_written(self, m: Interpreter, s: State, fact: facts.AttributeWritten) -> None:
        """Remember where a tensor is stored, and what it replaces."""
        record = s.get(fact.object, Instance)
        if record is None:
            return
        if s.get(fact.value, Tensor) is not None:
            self.stores.set(s, (fact.object, fact.name), fact.site)  # type: ignore[arg-type]
        # A module of which only the role is known has its parameters in a group.
        group = record.attrs.get("#group", NONE) if s.get(fact.value, Instance) is not None else NONE
        old = record.attrs.get(fact.name, group)
        if fact.instr is not None and old != NONE:
            self._replace(s, old, fact.value, fact.site)

    def on_name_bound(self, m: Interpreter, s: State, fact: facts.NameBound) -> None:
        """A variable that an optimizer trains may be bound to a new leaf that is computed from it."""
        old, new = s.variable(s.frames[-1], fact.instr.name), s[fact.value]
        if s.get(old, Tensor) is not None and new.severed and not new.is_param:
            self._replace(s, old, fact.value, m.site(s, fact.instr.node))  # type: ignore[arg-type]

    def on_item_written(self, m: Interpreter, s: State, fact: facts.ItemWritten) -> None:
        """An item of a container of modules or parameters may be replaced."""
        record = s.get(fact.container, Instance)
        if record is None or not isinstance(fact.index, Const):
            return
        old = record.attrs.get(str(fact.index.value))
        if old is not None and in_class(s, record.cls, "__setitem__") is None:
            self._replace(s, old, fact.value, fact.site)

    def _replace(self, s: State, old: Value, new: Value, site: Site) -> None:
        """What was `old` is `new`: do optimizers still have the old one?"""
        # What has been frozen since the optimizer was made is replaced, too: so is a head for another task.
        before = set(_parameters(s, old))
        if not before or old == new or not _trainable(s, new):
            return
        for ref, held in known_optimizers(s):
            listed = tuple(each for each in self.successors.get(s, ref) or () if each != old)
            if not before.isdisjoint(held):
                listed = (*listed, new)
                self.replaced[new.id] = site  # type: ignore[union-attr]
            self.successors.set(s, ref, listed)

    def on_taken(self, m: Interpreter, s: State, fact: facts.Taken) -> None:
        """What the program handles itself is no mistake; but what was frozen until now may be."""
        if fact.by == "thawed":
            before = frozenset(ref for ref, _ in known_optimizers(s))
            for ref in fact.records:
                self.thawed[ref.id] = (fact.site, before)
        else:
            self.clear(ref.id for ref in fact.records)

    def on_optimizer_made(self, m: Interpreter, s: State, fact: facts.OptimizerMade) -> None:
        """What an optimizer gets is no mistake."""
        self.clear(p.id for p in fact.parameters)

    def on_stepped(self, m: Interpreter, s: State, fact: facts.Stepped) -> None:
        """Look for parameters that no optimizer has."""
        self._check_successors(s, fact)
        held = held_parameters(s)
        if held is not None:
            self._check_later(s, fact, held)

    def _check_successors(self, s: State, fact: facts.Stepped) -> None:
        """Are there new parameters in place of the optimizer's own that no optimizer has?

        A program that changes the lists of an optimizer keeps it up to date.
        """
        for new in self.successors.get(s, fact.optimizer) or ():
            site = self.replaced.get(new.id)  # type: ignore[union-attr]
            mine, held = _trainable(s, new), held_parameters(s, new)  # type: ignore[arg-type]
            missing = bool(mine) and held is not None and held.isdisjoint(mine)
            if site is not None and missing:
                node = site.node.targets[0].target if hasattr(site.node, "targets") else site.node
                label = places.text_of(site, node)
                event = ParameterReplaced(site=site, attribute=label, optimizer=fact.name)
                self.hold(("replaced", id(site.node)), event, {fact.optimizer.id})

    def _check_later(self, s: State, fact: facts.Stepped, held: set[Value]) -> None:
        """Has a module of the optimizer got a parameter since, which no optimizer has?

        It may be new, or may have been frozen when the optimizer was made.
        """
        mine = set(fact.parameters)
        for ref in module_tree.top_modules(s):
            owned = module_tree.named_parameters(s, ref)[0]
            strays = {p: name for name, p in owned if p not in held and _is_trained(s[p])}
            if not strays or mine.isdisjoint(p for _, p in owned):
                continue
            for p, name in strays.items():
                self._check_thawed(s, fact, p, f"{s[ref].name}.{name}" if s[ref].name else name)
            attributes = [(at, name) for _, at in module_tree.modules(s, ref) for name in s[at].attrs]
            for owner, name in attributes:
                site, value = self.stores.get(s, (owner, name)), s[owner].attrs[name]
                if site is None or value not in strays or value.id < fact.optimizer.id:
                    continue
                if value.id not in self.replaced:
                    label = f"{s[owner].name}.{name}" if s[owner].name else name
                    event = ParameterReplaced(site=site, attribute=label, optimizer=fact.name, is_new=True)
                    self.hold(("late", id(site.node)), event, {value.id, fact.optimizer.id})
            self._check_added(s, fact, ref, {p for p in strays if p.id > fact.optimizer.id})

    def _check_added(self, s: State, fact: facts.Stepped, top: Ref, late: set[Ref]) -> None:
        """Has a module of the optimizer got a whole layer since, which no optimizer has?

        One that stands for what a part must be was there before, whenever it is asked for.
        """
        found: list[str] = []
        assumed: list[str] = []
        for prefix, at in module_tree.modules(s, top):
            assumed += [f"{prefix}."] if module_tree.STAND_IN in s[at].attrs and at != top else []
            own = [p for _, p in module_tree.named_parameters(s, at)[0]]
            is_late = own and late.issuperset(own) and not f"{prefix}.".startswith(tuple(assumed))
            site = s[own[0]].site if is_late else None
            is_inner = any(prefix.startswith(f"{name}.") for name in found)
            if site is None or is_inner or at.id in self.replaced:
                continue
            found.append(prefix)
            label = f"{s[top].name}.{prefix}" if s[top].name else prefix
            event = ParameterReplaced(site=site, attribute=label, optimizer=fact.name, is_new=True)
            self.hold(("late", id(site.node)), event, {fact.optimizer.id, *(p.id for p in own)})

    def _check_thawed(self, s: State, fact: facts.Stepped, p: Ref, name: str) -> None:
        """Suspect a parameter if it was made trainable after the optimizer was made."""
        site, before = self.thawed.get(p.id, (None, frozenset()))
        if site is not None and fact.optimizer in before:
            made = StoryStep(
                s[fact.optimizer].site, f"`{fact.name}` is made here, while `{name}` is frozen", "made"
            )
            event = ParameterReplaced(
                site=site, story=(made,), attribute=name, optimizer=fact.name, was_frozen=True
            )
            self.hold(("thawed", id(site.node)), event, {p.id})


def _trainable(s: State, value: Value) -> list[Ref]:
    """Parameters that a value is or has, or the leaf that it is: what an optimizer may be given."""
    tensor = s.get(value, Tensor)
    if tensor is not None and tensor.leaf and tensor.requires_grad:
        return [value]  # type: ignore[list-item]
    return module_tree.parameters_in(s, value)


def _parameters(s: State, value: Value) -> list[Ref]:
    """The same, and those that are frozen."""
    tensor, record = s.get(value, Tensor), s.get(value, Instance)
    if tensor is not None and tensor.is_param:
        return [value]  # type: ignore[list-item]
    if record is None or not module_tree.is_module(s, record):
        return _trainable(s, value)
    return [parameter for _, parameter in module_tree.named_parameters(s, value)[0]]  # type: ignore[arg-type]


def _is_trained(tensor: Tensor) -> bool:
    return bool(tensor.is_param and tensor.requires_grad and tensor.grad_state in ("fresh", "mixed"))


class ReplacedAfterOptimizer(Rule):
    """A parameter or layer is replaced after the optimizer was made.

    ## What it detects

    An assignment of a new Parameter or sub-module to a model whose old parameters an optimizer already
    holds, with no new optimizer and no `add_param_group` before the next step. Also reported: a Parameter or
    a layer that the model gets afterwards and that is trained with it; a parameter that was frozen, and not
    given to the optimizer, until `requires_grad` was set; and a variable or attribute that held a leaf and
    now holds a new one that was computed from it.

    ## Why it is wrong

    The optimizer keeps stepping the old tensor, which the model no longer uses; the new one, or the
    one that is no longer frozen, is never updated. Nothing is raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Linear(4, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model[1] = torch.nn.Linear(4, 1)  # <- GL318
    head = model[1].weight.detach().clone()
    optimizer.zero_grad()
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Linear(4, 3))
    model[1] = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    head = model[1].weight.detach().clone()
    optimizer.zero_grad()
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    ```

    ## References

    - [`torch.optim.Optimizer.add_param_group`](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.add_param_group.html)
    """

    code = "GL318"
    name = "replaced-after-optimizer"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the new parameters do not move"
    symptom = "assert torch.equal(model[1].weight, head)"
    trackers = (Replaced,)

    def on_parameter_replaced(self, event: ParameterReplaced) -> Iterator[Violation]:
        if event.was_frozen:
            message = (
                f"`{event.optimizer}` was made while `{event.attribute}` was frozen and will not train it"
            )
            yield self.finding(
                event, message, "give it to `add_param_group`, or make the optimizer afterwards"
            )
            return
        made = "before" if event.is_new else "with the old"
        rest = "" if event.is_new else " the new one"
        yield self.finding(
            event,
            f"`{event.optimizer}` was made {made} `{event.attribute}` and will not train{rest or ' it'}",
            "make the optimizer afterwards, or use add_param_group",
        )
