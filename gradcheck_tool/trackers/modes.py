"""Training and evaluation mode: is a module trained in the mode it was evaluated in?

`eval()` is noted on the modules that it reaches. A forward without gradients then evaluates the module. When
the same place that ran it in training mode then runs it with gradients, and an optimizer steps, nobody has
switched it back. So it is where the program called `train()` and never ran the module in that mode.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import EvalModeTraining
from gradcheck_tool.domain.records import Class, Func, Instance
from gradcheck_tool.domain.values import FALSE, TRUE, Const, LibraryObject, Ref
from gradcheck_tool.interp.places import text_of
from gradcheck_tool.ir import nodes as ir

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter

# Layers that compute something else while they are trained.
MODAL = (
    "Dropout",
    "BatchNorm",
    "SyncBatchNorm",
    "Transformer",
    "AlphaDropout",
    "FeatureAlphaDropout",
    "RReLU",
)


@dataclass(slots=True)
class Modes:
    """Over all paths of a run: where eval() was called, and which places ran which module in training."""

    calls: dict[str, Site] = field(default_factory=dict)
    trained: set[tuple[int, int]] = field(default_factory=set)


def switched(m: Interpreter, s: State, reached: Sequence[Ref], on: Any, site: Site) -> None:
    """`train()` or `eval()` has been called, which reaches these modules, the first one before all."""
    place = str(id(site.node))
    m.modes.calls[place] = site
    for ref in reached:
        mine = s.edit(ref)
        mine.attrs.pop("#evaluated", None)
        mine.attrs.pop("#stale", None)
        mine.attrs["#eval"] = Const(place) if on == FALSE else FALSE
    if on == TRUE:
        s.edit(reached[0]).attrs["#wanted"] = TRUE


def ran(m: Interpreter, s: State, ref: Ref, site: Site) -> None:
    """A module is called."""
    record: Instance = s[ref]
    training = record.attrs.get("training")
    if training == TRUE and s.grad is True:
        m.modes.trained.add((ref.id, id(site.node)))
        if "#wanted" in record.attrs:
            del s.edit(ref).attrs["#wanted"]
    elif training == FALSE and record.attrs.get("#eval", FALSE) != FALSE:
        if s.grad is False and "#evaluated" not in record.attrs:
            s.edit(ref).attrs["#evaluated"] = TRUE
        elif s.grad is True and "#evaluated" in record.attrs and "#stale" not in record.attrs:
            if (ref.id, id(site.node)) in m.modes.trained or "#wanted" in record.attrs:
                s.edit(ref).attrs["#stale"] = TRUE


def stepped(m: Interpreter, s: State, params: Iterable[Ref], optimizer: str) -> None:
    """An optimizer steps: is a module whose parameters it moves trained in evaluation mode?"""
    from gradcheck_tool.library.torch.module_tree import modules, named_parameters

    for ref, record in s.records(Instance):
        if "#stale" not in record.attrs:
            continue
        moved = {p for _, p in named_parameters(s, ref)[0] if s[p].grad_state in ("fresh", "mixed")}
        if moved.isdisjoint(params) or not any(_is_modal(s, at) for _, at in modules(s, ref)):
            continue
        site = m.modes.calls[record.attrs["#eval"].value]  # type: ignore[union-attr]
        if ("eval", id(site.node)) not in m.noted:
            m.noted.add(("eval", id(site.node)))
            m.emit(
                EvalModeTraining(
                    site=site, module=record.name, call=text_of(site, site.node), optimizer=optimizer
                )
            )


def _is_modal(s: State, ref: Ref) -> bool:
    """Does the module itself compute something else in training? One of an unknown kind may."""
    record: Instance = s[ref]
    if isinstance(record.cls, LibraryObject):
        name = record.cls.name.rpartition(".")[2]
        return (
            name == "Module" or name.startswith(MODAL) or record.attrs.get("dropout") not in (None, Const(0))
        )
    cls = s.get(record.cls, Class)
    return cls is not None and any(_reads_mode(s, owner) for owner in cls.mro)


def _reads_mode(s: State, owner: Any) -> bool:
    cls = s.get(owner, Class)
    functions = [s.get(value, Func) for value in cls.attrs.values()] if cls is not None else []
    return any(
        isinstance(i, ir.GetAttr) and i.name == "training"
        for func in functions
        if func is not None
        for block in func.function.blocks.values()
        for i in block.instrs
    )
