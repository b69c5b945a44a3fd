"""Values that are kept with their graphs from one iteration to the next, and that no backward uses.

What is kept is noted when it happens and reported at the end of the run, when it is known that no path has
back-propagated it, computed something else with it, or handed it out of an entry point.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import GraphCut, Node, Tensor
from gradcheck_tool.domain.records import Dict, Instance
from gradcheck_tool.domain.values import Method, Ref, Tup, Value, fresh
from gradcheck_tool.engine.tensors import numel_is_one
from gradcheck_tool.interp.havoc import reachable
from gradcheck_tool.interp.places import is_of_tests
from gradcheck_tool.ir import syntax
from gradcheck_tool.trackers.collecting import attributes_holding, handed_over, in_module, is_local, put_by
from gradcheck_tool.trackers.events import GraphKept
from gradcheck_tool.trackers.notes import RunNote, StoryNote
from gradcheck_tool.trackers.spent_graphs import behind, tensor_of
from gradcheck_tool.trackers.step_windows import StepWindows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.engine.backward import BackwardPass
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import (
        AttributeWritten,
        BackwardRan,
        Called,
        Computed,
        ItemWritten,
        PathEnded,
        RunEnded,
    )
    from gradcheck_tool.trackers.collecting import Put

_FEW = re.compile(r"range\(\d{1,2}\)")
# What may be computed from a running total without it being more than a number to show.
_SCALES = frozenset({"*", "/", "MulBackward0", "DivBackward0"})
SHOWN = frozenset(
    {"+", "+=", "add", "add_", "/", "/=", "div", "*", "*=", "mul", "neg", "sqrt"}
    | {f"{name}Backward0" for name in ("Add", "Div", "Mul", "Neg", "Sqrt")}
)


class RetainedGraphs(StepWindows):
    """Follows results that sums, containers and attributes keep; a place is the id of its syntax node."""

    derives = (GraphKept,)
    callees = frozenset({"clear"})
    # What is kept, by the place that keeps it.
    events = RunNote[int, GraphKept]()
    # The places that keep a graph node, each with the time.
    owners = RunNote[int, dict[int, int]]()
    # Places of sums, which a program may show.
    shown = RunNote[int, bool]()
    # Places that store what may be there for another call: they matter only where something is trained.
    stored = RunNote[int, bool]()
    used = RunNote[int, bool]()
    # Places of sums of which a pass has freed a part: no code that did not run can differentiate them.
    spent = RunNote[int, bool]()
    # The first result that a place puts into a container, on each way, and the last that any does.
    first = StoryNote[tuple[int, int], Ref]()
    last = RunNote[int, Ref]()
    # Places that put results into containers, with the containers.
    places = RunNote[tuple[int, int], bool]()
    # Places that put results into containers which other code may read: do backward passes free them?
    shared = RunNote[int, bool]()
    passes = RunNote[int, bool]()
    # Where places keep something: in the body of the module, or in a function that is executed after it?
    kept_in = RunNote[tuple[int, bool], bool]()
    # How ways of the one and of the other end: do they return?
    ends = RunNote[tuple[bool, bool], bool]()
    # Which places a way has executed, and those which one that returns has.
    passed = StoryNote[int, bool]()
    returned = RunNote[int, bool]()
    # Those which a way has that ends in an error: where all do, what would have come next may use them.
    stopped = RunNote[int, bool]()
    # Do ways return beside which others were left, of which nobody knows what they use?
    left = RunNote[bool, bool]()

    # -- sums ----------------------------------------------------------------------------------------

    def on_computed(self, m: Interpreter, s: State, fact: Computed) -> None:
        """`total + x` has been computed: is `total` what the same expression gave an iteration before?

        So may `total` of `x + total`: a running average is written either way.
        """
        total = s.get(fact.result, Tensor) if fact.operation in ("+", "+=") else None
        if total is None or total.grad_fn is None or not total.requires_grad:
            return
        site, old, kept_in = fact.site, fact.history, fact.arguments.get("self")
        target, value = self._operands(site)
        added = s.get(fact.arguments.get("other"), Tensor)
        is_earlier = _is_made_at(s, old, site)
        last = added.grad_fn if added is not None else None
        if not is_earlier and isinstance(site.node, syntax.BinaryOperation) and _is_made_at(s, last, site):
            old, kept_in, is_earlier = last, fact.arguments["other"], True
            target, value = self.text(site, _scaled(site.node.right)), self.text(site, site.node.left)
        is_freed = old is not None and is_earlier and _is_spent(s, old)
        # What has many elements may be a state of the computation, unless a pass has been through it.
        if not target or not (is_freed or numel_is_one(total.shape) is True):
            return
        key = id(site.node)
        self._own(s, key, total.grad_fn)
        self.shown[key] = True
        if not is_earlier or added is None:
            return
        is_seen = not s.after_body or is_local(s, target) or is_freed
        if not is_seen or (not is_freed and (in_module(s) or _is_bounded(m, site))):
            return
        if is_freed:
            self.spent[key] = True
        kind = "attribute" if "." in target or "[" in target else "sum"
        kept = GraphKept(site=site, container=target, value=value, kind=kind)
        self._keep(s, key, kept, kept_in)

    def _operands(self, site: Site) -> tuple[str, str]:
        """The texts of the target and of what is added: of `t += x`, `t + x`, `operator.add(t, x)`."""
        node = site.node
        if isinstance(node, syntax.AugAssign):
            return self.text(site, node.target), self.text(site, node.value)
        if isinstance(node, syntax.BinaryOperation):
            return self.text(site, _scaled(node.left)), self.text(site, node.right)
        if isinstance(node, syntax.Call) and len(node.args) == 2:
            target, value = node.args
            return self.text(site, _scaled(target.value)), self.text(site, value.value)
        return "", ""

    def _own(self, s: State, key: int, node: Ref) -> None:
        """A place keeps a graph node from now on."""
        self.owners[node.id] = {**self.owners.get(node.id, {}), key: fresh()}
        self.passed.set(s, key, True)

    def _keep(self, s: State, key: int, event: GraphKept, holder: Any) -> None:
        self.kept_in[key, s.after_body] = True
        # What a test keeps is gone with the test: its memory concerns nobody.
        if key not in self.events and not is_of_tests(event.site.module):
            unless = attributes_holding(s, holder)
            self.events[key] = replace(event, story=handed_over(s), unless_set=unless)

    # -- attributes and items -------------------------------------------------------------------------

    def on_attribute_written(self, m: Interpreter, s: State, fact: AttributeWritten) -> None:
        """Was what is stored computed from what the same code stored there before?"""
        owner = None if fact.instr is None else s.get(fact.object, Instance)
        if owner is not None and s.get(fact.value, Tensor) is not None:
            container = f"{owner.name or 'self'}.{fact.name}"
            self._store(s, fact.site, owner.attrs.get(fact.name), fact.value, container)

    def on_item_written(self, m: Interpreter, s: State, fact: ItemWritten) -> None:
        """Is a result stored in place of what it was computed from, or beside others?"""
        site, table = fact.site, s.get(fact.container, Dict)
        if fact.index is not None:
            targets = getattr(site.node, "targets", None)
            if not targets or s.get(fact.value, Tensor) is None:
                return
            if table is not None:
                old = table.items.get(fact.index)
                self._store(s, site, old, fact.value, self.text(site, targets[0].target))
        added = put_by(s, fact)
        if added is not None:
            self._collect(s, site, added)

    def _store(self, s: State, site: Site, old: Value | None, value: Value, container: str) -> None:
        tensor, before = s.get(value, Tensor), s.get(old, Tensor)
        if tensor is None or tensor.grad_fn is None or not tensor.requires_grad or s.after_body:
            return
        new: Node = s[tensor.grad_fn]
        key = id(new.site.node)
        if tensor.grad_fn.id not in self.owners:
            self._own(s, key, tensor.grad_fn)
        earlier = s.get(before.grad_fn, Node) if before is not None else None
        if key in self.events or earlier is None or before is None:
            return
        if earlier.site.node is new.site.node and _is_made_of(s, new, before.grad_fn):
            kept = GraphKept(site=site, container=container, value=str(new.text), kind="attribute")
            self._keep(s, key, kept, old)
            self.stored[key] = True

    # -- containers -----------------------------------------------------------------------------------

    def on_called(self, m: Interpreter, s: State, fact: Called) -> None:
        """What a container holds that the program empties, it keeps for as long as it means to."""
        if isinstance(fact.func, Method) and fact.func.name == "clear":
            for key, container in self.places:
                if fact.func.receiver == Ref(container):
                    self.used[key] = True

    def _collect(self, s: State, site: Site, added: Put) -> None:
        """A container gets another element: does it hold a result, and is it not the first one here?

        Results of one forward, such as its losses at several scales, keep one graph between them.
        """
        tensors = [s.get(item, Tensor) for item in _parts(s, added.value)]
        tensor = next((tensor for tensor in tensors if _may_be_number(tensor)), None)
        if tensor is None or tensor.grad_fn is None:
            return
        key = id(site.node)
        self._own(s, key, tensor.grad_fn)
        # What is older than the container is kept by something else, and no longer by this.
        if in_module(s) or tensor.grad_fn.id < added.container.id:
            return
        first = self.first.get(s, (key, added.container.id)) or tensor.grad_fn
        self.first.set(s, (key, added.container.id), first)
        self.places[key, added.container.id] = True
        self.last[key] = tensor.grad_fn
        name, text = self.text(site, added.container_node), self.text(site, added.value_node)
        # A result of unknown size counts once something has been trained.
        counts = numel_is_one(tensor.shape) is True or bool(self.passes)
        if counts and first != tensor.grad_fn:
            if not behind(s, first).isdisjoint(behind(s, tensor.grad_fn)):
                return
            if s.after_body and not is_local(s, name):
                self.shared.setdefault(key, False)
            self.put_beside(s, key, first)
            is_tensor = s.get(tensor_of(s, added.value), Tensor) is not None
            kept = GraphKept(site=site, container=name, value=text, kind="append", is_tensor=is_tensor)
            self._keep(s, key, kept, added.container)

    # -- what is used -----------------------------------------------------------------------------------

    def on_backward_ran(self, m: Interpreter, s: State, fact: BackwardRan) -> None:
        """What a backward goes through after it was kept is used.

        What has just been put into a container and is differentiated itself is not: nothing was taken out.
        """
        super().on_backward_ran(m, s, fact)
        self.passes[id(fact.run.site.node)] = True
        for cut in _cut_off(s, fact.run):
            # What was to be differentiated is no number to show; that it was cut off is another mistake.
            for source in cut.sources:
                if isinstance(source, Ref):
                    self._use(source)
        roots = [s[root].grad_fn for root in fact.run.roots]
        for ref in fact.run.ran:
            for key in self.owners.get(ref.id, ()):
                if ref not in roots or self.last.get(key) != ref:
                    self.used[key] = True

    def _use(self, node: Ref, *, but_sums: bool = False) -> None:
        for key in self.owners.get(node.id, ()):
            if not but_sums or key not in self.shown:
                self.used[key] = True

    def on_path_ended(self, m: Interpreter, s: State, fact: PathEnded) -> None:
        """What was computed from kept values, or handed out, is used."""
        if not self.events:
            return
        self.ends[s.after_body, fact.returns] = True
        if fact.returns and s.is_partial:
            self.left[s.after_body] = True
        ended = self.returned if fact.returns else self.stopped
        for key in self.events:
            if self.passed.get(s, key):
                ended[key] = True
        for ref, node in s.records(Node):
            if node.unsure_freed and ref.id in self.owners and not _is_spent(s, ref):
                self._use(ref)
            for at in node.inputs:
                using = self._used_by(ref, node, at, s.after_body) if isinstance(at, Ref) else []
                if using and not _is_spent(s, at):
                    self.used.update(dict.fromkeys(using, True))
        for key in self.shared:
            if key in self.last and self.last[key].id in s.heap and _is_spent(s, self.last[key]):
                self.shared[key] = True
        if s.after_body:
            self._escape(s, fact.value)

    def _used_by(self, ref: Ref, node: Node, at: Ref, after_body: bool) -> list[int]:
        """The places of whose kept value a node computes more than they do themselves, or than is shown."""
        return [
            key
            for key, since in self.owners.get(at.id, {}).items()
            if ref.id >= since
            and id(node.site.node) != key
            and (key not in self.stored or after_body)
            and (key not in self.shown or node.op not in SHOWN)
        ]

    def _escape(self, s: State, value: Value) -> None:
        seen: set[int] = set()
        todo: list[Any] = [
            s[ref].grad_fn
            for ref in reachable(s, [value])
            if s.get(ref, Tensor) is not None and not _is_spent(s, s[ref].grad_fn)
        ]
        while todo:
            at = todo.pop()
            node = s.get(at, Node)
            if node is None or at.id in seen:
                continue
            seen.add(at.id)
            self._use(at, but_sums=_is_differentiated(s, at))
            todo.extend(node.inputs)

    def on_run_ended(self, m: Interpreter, s: State, fact: RunEnded) -> None:
        """Report what nothing has used."""
        returning = [after for after in (False, True) if (after, True) in self.ends]
        for key, event in self.events.items():
            phases = [after for after in returning if (key, after) in self.kept_in]
            if not phases:
                continue
            is_cut = key in self.stopped or any(after in self.left for after in phases)
            is_known = key in self.returned or not is_cut
            if not (is_known and fact.is_complete) and key not in self.spent:
                continue
            is_kept = self.shared.get(key, True) and (self.passes or key not in self.stored)
            is_of_step = event.kind == "append" and not self.piles_up(key)
            if key not in self.used and is_kept and not is_of_step:
                self.report(event)


def _cut_off(s: State, run: BackwardPass) -> Iterator[GraphCut]:
    """What the roots and the constant operands of a pass were cut off from."""
    for root in run.roots:
        yield from s[root].severed
    for ref in run.ran:
        for given in s[ref].constant_inputs:
            yield from given.severed


def _is_bounded(m: Interpreter, site: Site) -> bool:
    """Does a loop inside of another one add up so many values as the program writes, and starts anew then?"""
    loop = m.places.loop_of(site) if m.places.is_nested(site) else None
    iterated = getattr(loop.node, "iter", None) if loop is not None else None
    return iterated is not None and _FEW.fullmatch(site.module.spans.text(iterated)) is not None


def _scaled(node: Any) -> Any:
    """What a running average scales (`total` of `0.9 * total`), or the expression itself."""
    if not isinstance(node, syntax.BinaryOperation):
        return node
    kept = (syntax.Attribute, syntax.Name, syntax.Subscript)
    sides = [side for side in (node.left, node.right) if isinstance(side, kept)]
    return sides[0] if len(sides) == 1 else node


def _is_made_at(s: State, ref: Ref | None, site: Site) -> bool:
    """Has an expression made a graph node, or what that node scales (`0.9 * total`)?"""
    node = s.get(ref, Node)
    inner = [s.get(at, Node) for at in node.inputs] if node is not None and node.op in _SCALES else []
    return any(each.site is not None and each.site.node is site.node for each in (node, *inner) if each)


def _is_made_of(s: State, node: Node, wanted: Ref | None, depth: int = 2) -> bool:
    """Is a node an input of another one, or of an input of it (`0.9 * old + 0.1 * new`)?"""
    if wanted in node.inputs:
        return True
    inner = [s.get(at, Node) for at in node.inputs] if depth else []
    return any(_is_made_of(s, at, wanted, depth - 1) for at in inner if at is not None)


def _is_spent(s: State, start: Value) -> bool:
    """Has a backward freed a part of a graph, so that it cannot be differentiated again?"""
    nodes = [s[Ref(number)] for number in behind(s, start)] if isinstance(start, Ref) else []
    return any(node.freed and node.frees and not node.unsure_freed for node in nodes)


def _is_differentiated(s: State, start: Value) -> bool:
    """Has a backward gone through a part of a graph, which has most likely freed something there?"""
    nodes = [s[Ref(number)] for number in behind(s, start)] if isinstance(start, Ref) else []
    return any(node.freed and node.frees is None and not node.unsure_freed for node in nodes)


def _parts(s: State, value: Value) -> tuple[Value, ...]:
    """What a tuple, a dictionary or an object of the program's own holds, or the value itself."""
    table, record = s.get(value, Dict), s.get(value, Instance)
    if table is not None:
        return tuple(table.items.values())
    if record is not None and isinstance(record.cls, Ref):
        return tuple(record.attrs.values())
    return value.items if isinstance(value, Tup) else (value,)


def _may_be_number(tensor: Tensor | None) -> bool:
    """Is it a result that has a history and may be a single number?"""
    return bool(
        tensor and tensor.grad_fn and tensor.requires_grad and numel_is_one(tensor.shape) is not False
    )
