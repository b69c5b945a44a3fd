"""Parameters that an optimizer should train and does not have: new ones, and those of other modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import Site
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import Const, Ref, Tup, Value, fresh
from gradcheck_tool.engine.errors import story
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.places import text_of
from gradcheck_tool.library.torch.module_tree import is_module, modules, named_parameters
from gradcheck_tool.library.torch.parameters import parameters_in
from gradcheck_tool.trackers.events import ParameterReplaced, UntrainedModule
from gradcheck_tool.trackers.notes import RunNote, StateNote
from gradcheck_tool.trackers.tracker import Tracker
from gradcheck_tool.trackers.unregistered import is_kept

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import AttributeWritten, ItemWritten, OptimizerMade, Stepped, Taken


class Untrained(Tracker):
    """At each step of an optimizer: which parameters of its modules, and of others, does no optimizer have?

    What something takes in hand is excused.
    """

    derives = (ParameterReplaced, UntrainedModule)
    # Where tensors and containers were stored, by object and attribute.
    stores = RunNote[tuple[int, str], Site]()
    # What came in place of a module or parameter that an optimizer has, and where.
    successors = StateNote[tuple[Value, ...]]()
    replaced = RunNote[int, Site]()
    # Where a parameter was told to require grad again, and when.
    thawed = RunNote[int, tuple[Site, int]]()

    def on_attribute_written(self, m: Interpreter, s: State, fact: AttributeWritten) -> None:
        """Remember where a tensor or a container is stored, and what it replaces."""
        record = s.get(fact.object, Instance)
        if record is None:
            return
        if is_kept(s, fact.value):
            self.stores[fact.object.id, fact.name] = fact.site  # type: ignore[union-attr]
        if fact.instr is not None and fact.name in record.attrs:
            self._replace(s, record.attrs[fact.name], fact.value, fact.site)

    def on_item_written(self, m: Interpreter, s: State, fact: ItemWritten) -> None:
        """An item of a container of modules or parameters may be replaced."""
        record = s.get(fact.container, Instance)
        if record is None or not isinstance(fact.index, Const):
            return
        old = record.attrs.get(str(fact.index.value))
        if old is not None and attributes.in_class(s, record.cls, "__setitem__") is None:
            self._replace(s, old, fact.value, fact.site)

    def _replace(self, s: State, old: Value, new: Value, site: Site) -> None:
        """What was `old` is `new`: do optimizers still have the old one?"""
        before = set(parameters_in(s, old))
        if not before or old == new or not parameters_in(s, new):
            return
        for ref, record in optimizers(s):
            held = record.attrs["#params"]
            if isinstance(held, Tup) and not before.isdisjoint(held.items):
                self.successors.set(s, ref, (*(self.successors.get(s, ref) or ()), new))
                self.replaced[new.id] = site  # type: ignore[union-attr]

    def on_taken(self, m: Interpreter, s: State, fact: Taken) -> None:
        """What something has taken in hand is no mistake; but what was frozen until now may be."""
        if fact.by == "thawed":
            for ref in fact.records:
                self.thawed[ref.id] = (fact.site, fresh())
        else:
            self.clear(ref.id for ref in fact.records)

    def on_optimizer_made(self, m: Interpreter, s: State, fact: OptimizerMade) -> None:
        """What an optimizer gets is no mistake."""
        self.clear(p.id for p in fact.parameters)

    def on_stepped(self, m: Interpreter, s: State, fact: Stepped) -> None:
        """Look for parameters that no optimizer has."""
        held = _held(s)
        if held is None:
            return
        self._check_successors(s, fact, held)
        if m.places.repeats(s, fact.site):
            self._check_others(s, fact, held)
        self._check_later(s, fact, held)

    def _check_successors(self, s: State, fact: Stepped, held: set[Value]) -> None:
        """Are there new parameters in place of the optimizer's own that no optimizer has?"""
        for new in self.successors.get(s, fact.optimizer) or ():
            site = self.replaced.get(new.id)  # type: ignore[union-attr]
            mine = parameters_in(s, new)
            if site is not None and mine and held.isdisjoint(mine) and self.once(id(site.node)):
                node = site.node.targets[0].target if hasattr(site.node, "targets") else site.node
                self.report(ParameterReplaced(site=site, attribute=text_of(site, node), optimizer=fact.name))

    def _check_others(self, s: State, fact: Stepped, held: set[Value]) -> None:
        """Do other new modules get gradients of the same loss, and no optimizer?"""
        optimizer = fact.optimizer
        strays = _strays(s, fact.parameters, held)
        if not strays or s[optimizer].site is None:
            return
        found = _top_modules(s)
        trained = {p for ref in found for _, p in named_parameters(s, ref)[0]}
        if not trained.issuperset(fact.parameters):
            return
        for ref in found:
            params, is_open = named_parameters(s, ref)
            own = {p for _, p in params}
            if is_open or own.isdisjoint(strays) or not s[ref].name:
                continue
            if own.isdisjoint(held):
                self._suspect(s, fact, ref, s[ref].name, own)
            else:
                for name, p in _left_out(s, ref, strays, held):
                    if p.id < optimizer.id:  # later ones are looked for by `_check_later`
                        self._suspect(s, fact, p, f"{s[ref].name}.{name}", {p})

    def _suspect(self, s: State, fact: Stepped, subject: Ref, name: str, own: set[Ref]) -> None:
        """Hold back that an optimizer does not train a module or a parameter."""
        is_parameter = s.get(subject, Tensor) is not None
        reached = next(s[p].backward_site for p in own if s[p].grad_state in ("fresh", "mixed"))
        whose = f"`{name}`" if is_parameter else f"the parameters of `{name}`"
        steps = [story(reached, f"this backward gives {whose} gradients")]
        if s[subject].site is not None:
            steps.insert(0, story(s[subject].site, f"`{name}` is made here"))
        event = UntrainedModule(
            site=s[fact.optimizer].site,
            story=tuple(steps),
            module=name,
            optimizer=fact.name,
            is_parameter=is_parameter,
        )
        self.hold(("untrained", id(event.site.node), name), event, {p.id for p in own})

    def _check_later(self, s: State, fact: Stepped, held: set[Value]) -> None:
        """Has a module of the optimizer got a parameter since, which no optimizer has?

        It may be new, or may have been frozen when the optimizer was made.
        """
        mine = set(fact.parameters)
        for ref in _top_modules(s):
            owned = named_parameters(s, ref)[0]
            strays = {p: name for name, p in owned if p not in held and _is_trained(s[p])}
            if not strays or mine.isdisjoint(p for _, p in owned):
                continue
            for p, name in strays.items():
                self._check_thawed(s, fact, p, f"{s[ref].name}.{name}" if s[ref].name else name)
            for at, name in [(owner, attr) for _, owner in modules(s, ref) for attr in s[owner].attrs]:
                site, value = self.stores.get((at.id, name)), s[at].attrs[name]
                if site is None or value not in strays or value.id < fact.optimizer.id:
                    continue
                if value.id not in self.replaced:
                    label = f"{s[at].name}.{name}" if s[at].name else name
                    event = ParameterReplaced(site=site, attribute=label, optimizer=fact.name, is_new=True)
                    self.hold(("late", id(site.node)), event, {value.id})

    def _check_thawed(self, s: State, fact: Stepped, p: Ref, name: str) -> None:
        """Suspect a parameter if it was made trainable after the optimizer was made."""
        site, since = self.thawed.get(p.id, (None, 0))
        if site is not None and fact.optimizer.id < since:
            made = story(s[fact.optimizer].site, f"`{fact.name}` is made here, while `{name}` is frozen")
            event = ParameterReplaced(
                site=site, story=(made,), attribute=name, optimizer=fact.name, was_frozen=True
            )
            self.hold(("thawed", id(site.node)), event, {p.id})


def optimizers(s: State) -> list[tuple[Ref, Instance]]:
    """The optimizers that are known."""
    return [(ref, record) for ref, record in s.records(Instance) if "#params" in record.attrs]


def _held(s: State) -> set[Value] | None:
    """The parameters that the optimizers hold; None where one may hold others."""
    known = optimizers(s)
    if any(record.open or record.attrs["#params"].open for _, record in known):  # type: ignore[union-attr]
        return None
    return {p for _, record in known for p in record.attrs["#params"].items}  # type: ignore[union-attr]


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
    for prefix, at in modules(s, top):
        own = named_parameters(s, at, recurse=False)[0]
        inner = {p for _, p in named_parameters(s, at)[0] if s[p].requires_grad} - {p for _, p in own}
        if inner and inner <= held:
            yield from ((f"{prefix}.{name}".lstrip("."), p) for name, p in own if p in strays)


def _is_trained(tensor: Tensor) -> bool:
    return bool(tensor.is_param and tensor.requires_grad and tensor.grad_state in ("fresh", "mixed"))


def _top_modules(s: State) -> list[Ref]:
    """The modules that are not part of another."""
    found = [ref for ref, record in s.records(Instance) if is_module(s, record)]
    inner = {at.id for ref in found for _, at in modules(s, ref)[1:]}
    return [ref for ref in found if ref.id not in inner]
