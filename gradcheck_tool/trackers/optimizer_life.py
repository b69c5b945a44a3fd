"""The order of things around an optimizer: when it is made, when it and its scheduler step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import OptimizerRemade, SchedulerStep, Site
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import NONE, TRUE, Const, LibraryObject, Ref, Value
from gradcheck_tool.interp import registry
from gradcheck_tool.interp.places import branches, path_to, precedes, receiver_text
from gradcheck_tool.trackers import registration

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter

# Optimizers whose state decides what a step does.
STATEFUL = frozenset(
    ("Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop", "SparseAdam", "ASGD")
)
# Schedulers that warn when they step before their optimizer has.
STRICT = frozenset(
    (
        "StepLR",
        "MultiStepLR",
        "ExponentialLR",
        "CosineAnnealingLR",
        "LambdaLR",
        "LinearLR",
        "ConstantLR",
        "PolynomialLR",
        "MultiplicativeLR",
        "OneCycleLR",
        "CyclicLR",
    )
)


# -- optimizers ---------------------------------------------------------------------------------------


def note_made(m: Interpreter, s: State, ref: Ref, call: Call) -> None:
    """An optimizer is made: did the last one of this place, for the same parameters, step twice at most?"""
    params = s[ref].attrs["#params"]
    m.suspicions.clear(p.id for p in params.items)
    if not _has_state(s, ref, call) or m.places.loop_of(call.site) is None:
        return
    before = m.made.setdefault(id(call.site.node), [])
    for old in before:
        record = s.heap.get(old.id)
        if not isinstance(record, Instance) or record.open or record.attrs["#params"] != params:
            continue
        seen = ("remade", id(call.site.node)) in m.noted
        if record.attrs.get("#steps") in (Const("once"), Const("twice")) and params.items and not seen:
            m.noted.add(("remade", id(call.site.node)))
            name = str(record.name) or str(call.text)
            m.emit(OptimizerRemade(site=call.site, optimizer=name, call=str(call.text)))
    before.append(ref)


def _has_state(s: State, ref: Ref, call: Call) -> bool:
    params = s[ref].attrs["#params"]
    name = registry.lib_name(s[ref].cls).rpartition(".")[2]
    if params.open or call.unsure:
        return False
    momentum = registry.const(call.get(2, "momentum"))
    return name in STATEFUL or (name == "SGD" and isinstance(momentum, (int, float)) and momentum > 0)


def note_step(m: Interpreter, s: State, ref: Ref, site: Site, text: str) -> None:
    """An optimizer steps on the state, before its gradients are marked as used."""
    record = s.edit(ref)
    record.attrs["#stepped"] = TRUE
    loop = m.places.loop_of(site)
    if record.site is not None and m.places.loop_of(record.site) is not None:
        more = {None: "once", Const("once"): "twice"}.get(record.attrs.get("#steps"), "many")
        record.attrs["#steps"] = Const(more if loop is m.places.loop_of(record.site) else "many")
    registration.check_replaced(m, s, ref, text)
    registration.note_untrained(m, s, ref, site, text)
    registration.note_late(m, s, ref, text)
    early = record.attrs.get("#early")
    if early is not None:
        _follow(m, s, early, site)


# -- schedulers ---------------------------------------------------------------------------------------


def note_scheduler_step(m: Interpreter, s: State, ref: Ref, site: Site) -> None:
    """A scheduler steps. Its first call is early where its optimizer has not stepped since it was made."""
    record = s.edit(ref)
    optimizer = record.attrs.get("optimizer", NONE)
    held = s.get(optimizer, Instance)
    first = "#called" not in record.attrs
    record.attrs["#called"] = TRUE
    if held is None or not first:
        return
    key = ("scheduler", id(site.node))
    if not _is_early(record, held):
        m.suspicions.drop(key)
        return
    name = receiver_text(site, str(record.name))
    event = SchedulerStep(site=site, scheduler=name, optimizer=str(held.name), early=True)
    m.early[id(site.node)] = (event, s.frames[-1])
    s.edit(optimizer).attrs["#early"] = Const(id(site.node))


def _is_early(record: Instance, optimizer: Instance) -> bool:
    name = registry.lib_name(record.cls).rpartition(".")[2]
    known = isinstance(optimizer.cls, LibraryObject) and not optimizer.open and not record.open
    return name in STRICT and known and "#stepped" not in optimizer.attrs


def _follow(m: Interpreter, s: State, early: Value, site: Site) -> None:
    """The optimizer steps after its scheduler has: is it in the same loop, further down?"""
    event, frame = m.early.get(registry.const(early), (None, None))
    if event is None or frame not in s.frames:
        return
    loop = m.places.loop_of(event.site)
    if loop is None:
        return
    before, after = path_to(loop.node, event.site.node), path_to(loop.node, site.node)
    if before is None or branches(before) or (after is not None and not precedes(before, after)):
        return
    m.suspicions.hold(("scheduler", id(event.site.node)), event)


def forget(s: State, ref: Ref) -> None:
    """A scheduler is restored: what it and its optimizer did before is not known."""
    s.edit(ref).attrs["#called"] = TRUE
