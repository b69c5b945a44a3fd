"""What callers ordinarily do with what a unit returns: they differentiate a forward, and a loss.

The `forward` of a part of networks that writes to what it is given, or one that detaches what it is given,
is called with tensors in the middle of a graph, too; so are a loss, which is known by its name, and a
function that computes tensors from tensors and writes to them. A loss that has no graph then, on any way on
which it is a tensor, trains nothing.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck_tool.analysis import cut_parameters, ordinary_use
from gradcheck_tool.analysis.class_fit import is_part
from gradcheck_tool.analysis.detached_arguments import detached_arguments
from gradcheck_tool.analysis.evidence import place_of
from gradcheck_tool.analysis.structured_arguments import is_index, is_indexed, parts_taken
from gradcheck_tool.analysis.written_rows import written_rows
from gradcheck_tool.domain.events import NoGraph
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.isomorphism import is_number
from gradcheck_tool.domain.records import Class, Instance
from gradcheck_tool.domain.values import Ref, Symbol, Tup
from gradcheck_tool.engine.backward import BackwardPass, run_backward
from gradcheck_tool.engine.cuts import cuts_of
from gradcheck_tool.engine.errors import NO_GRAPH_AT, Raised
from gradcheck_tool.interp.places import is_of_tests
from gradcheck_tool.library.torch.module_tree import named_parameters
from gradcheck_tool.library.torch.shown_modules import shown_as
from gradcheck_tool.trackers.constant_terms import backward_call
from gradcheck_tool.triage.losses import computes_loss
from gradcheck_tool.triage.operations import is_operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.analysis.cast import Cast
    from gradcheck_tool.domain.graph import GraphCut
    from gradcheck_tool.domain.records import Func
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value
    from gradcheck_tool.interp.api import FrameExit, Interpreter
    from gradcheck_tool.ir import nodes as ir


# What differentiates, or calls what does. Tests call what they define themselves.
_TRAINS = re.compile(r"\bbackward\(|autograd|\bgrad\(|gradcheck|\b(?:fit|train)\w*\(|Trainer|\.step\(")

# The first sentence of a text that describes a function.
_SAYS_LOSS = re.compile(r'"""\s*(?:Calculat|Comput|Evaluat|Return)(?:e|es|s)?\b[^."]*\b(?:loss|penalty)\b')


class Unit:
    """A function or method that has been executed on its own, and how to execute it again.

    Attributes:
        func: the function.
        cls: the class that it is a method of.
        receiver: the object that it is called on.
        start: the state before it.
        cast: its arguments.
        run: calls it with other arguments; gives the ways in which it returns.
    """

    def __init__(
        self,
        func: Func,
        cls: Ref | None,
        receiver: Value | None,
        start: State,
        cast: Cast,
        run: Callable[[Cast], list[FrameExit]],
    ) -> None:
        self.func = func
        self.cls = cls
        self.receiver = receiver
        self.start = start
        self.cast = cast
        self.run = run
        self.name = func.function.qualname

    @property
    def is_forward(self) -> bool:
        """Is it the `forward` of a module?"""
        is_module = self.cls is not None and ordinary_use.is_module_class(self.start, self.cls)
        return self.func.function.name == "forward" and is_module

    @property
    def is_operation(self) -> bool:
        """Is it a function that computes tensors from tensors, for whoever calls it?"""
        module, function = self.func.env.module, self.func.function
        is_free = self.cls is None and self.receiver is None and "." not in function.qualname
        return (
            is_free
            and not is_of_tests(module)
            and is_operation(function.name, module.spans.text(function.node))
        )

    @property
    def is_loss(self) -> bool:
        """Does it compute a loss, by its name or that of its class?

        Or is it the `forward` of a module without parameters that says so in its first sentence?
        """
        record = self.start.get(self.cls, Class)
        if computes_loss(self.func.function.name, record.name if record is not None else ""):
            return True
        text = self.func.env.module.spans.text(self.func.function.node)
        return self.is_forward and _SAYS_LOSS.search(text) is not None and self._has_no_parameters()

    def _has_no_parameters(self) -> bool:
        """Is it a method of a module that has nothing to train?"""
        if not isinstance(self.receiver, Ref) or self.start.get(self.receiver, Instance) is None:
            return False
        return not named_parameters(self.start, self.receiver)[0]


def differentiate(m: Interpreter, unit: Unit, ends: list[FrameExit]) -> None:
    """Differentiate what a unit returned, and what it returns for tensors in the middle of a graph."""
    module = unit.func.env.module
    if is_of_tests(module) and _TRAINS.search(module.source) is None:
        return
    ends = ordinary_use.may_train(ends, unit.cast.values)
    _note_cuts(m, unit, ends)
    if unit.is_loss and not unit.is_forward:
        ordinary_use.differentiate(m, ends, unit.name, unit.cast.assumes)
    if unit.is_forward:
        shown = filter(None, [shown_as(unit.start, unit.cls)])
        ordinary_use.differentiate(m, ends, unit.name, (*unit.cast.assumes, *shown))
    defaults = unit.func.defaults
    given = {name: value for name, value in unit.cast.values.items() if not is_number(defaults.get(name))}
    if unit.is_loss:
        trained = _as_loss(m, unit, ends, given)
    elif unit.is_forward and unit.cls is not None:
        trained = _as_part(m, unit, ends, given)
    elif unit.is_operation:
        trained = _as_operation(m, unit, ends, given)
    else:
        return
    if trained is None:
        if unit.is_loss:
            _differentiate_loss(m, unit, ends, unit.cast)
        return
    others = ordinary_use.may_train(unit.run(trained), trained.values)
    _note_cuts(m, unit, others)
    if unit.is_loss:
        _differentiate_loss(m, unit, others, trained)
    ordinary_use.differentiate(m, others, unit.name, trained.assumes)
    if unit.is_loss:
        _report_constant(m, unit, others, trained)


def _differentiate_loss(m: Interpreter, unit: Unit, ends: list[FrameExit], given: Cast) -> None:
    """Note the pass that whoever calls a loss makes, each way."""
    assumed = (ordinary_use.DIFFERENTIATED.format(unit.name), *m.program.assumes, *given.assumes)
    for s, ref in ((end.state.fork(), ref) for end in ends for ref in _losses(end.state, end.value)):
        text = f"{unit.name}(...)"
        run = BackwardPass([ref], [False], retain=False, create=False, site=s[ref].site, text=text)
        try:
            run_backward(s, run)
        except Raised:
            continue
        m.program.ordinary.append(replace(backward_call(s, run, text), assumes=assumed, unit=unit.name))


def _note_cuts(m: Interpreter, unit: Unit, ends: list[FrameExit]) -> None:
    """Note which parameters of a module what it returns is cut off from."""
    if unit.is_forward and unit.cls is not None:
        cut_parameters.note(m, unit.start, unit.receiver, ends, unit.name)


def _as_loss(m: Interpreter, unit: Unit, ends: list[FrameExit], given: dict[str, Value]) -> Cast | None:
    """The arguments of a loss: what it differentiates has a history, targets and the like have none."""
    names, targets = ordinary_use.tensor_arguments(ends, given)
    others = [name for name in given if name not in (*names, *targets)]
    names += [name for name in others if _is_indexed(m, unit, ends, name)]
    parts, constants = parts_taken(ends, {name: given[name] for name in others if name not in names})
    if not names and not parts:
        return None
    return unit.cast.with_history(m, unit.start, names, unit.func.function, targets, parts, constants)


def _as_part(m: Interpreter, unit: Unit, ends: list[FrameExit], given: dict[str, Value]) -> Cast | None:
    """The arguments of a forward that other layers have computed, where it is a part of a network."""
    assert unit.cls is not None
    s, function = unit.start, unit.func.function
    inside = is_part(s, unit.cls)
    names = ordinary_use.trained_arguments(s, ends, given) if inside else []
    detached = detached_arguments(function)
    taken, _ = ordinary_use.tensor_arguments(ends, given) if detached else ([], [])
    rows = _written_rows(given, function) if inside else []
    names = list(dict.fromkeys((*names, *(name for name in taken if name in detached), *rows)))
    return unit.cast.with_history(m, s, names, function) if names else None


def _written_rows(given: dict[str, Value], function: ir.Function) -> list[str]:
    """The arguments of which rows are written that layers may have computed."""
    rows = written_rows(function)
    return [
        name
        for name, value in given.items()
        if name in rows and isinstance(value, Symbol) and not ordinary_use.is_given_with_data(name)
    ]


def _as_operation(m: Interpreter, unit: Unit, ends: list[FrameExit], given: dict[str, Value]) -> Cast | None:
    """The arguments of a function that writes in place to what it computes: results of a network.

    Not where all who call it are objects that are no modules: they prepare data, or keep what was seen.
    """
    if not any(ordinary_use.has_written(unit.start, end.state) for end in ends):
        return None
    if m.program.refinement.outside_networks(unit.start, place_of(unit.func, unit.cls)):
        return None
    names, targets = ordinary_use.tensor_arguments(ends, given)
    names += [name for name in given if name not in (*names, *targets) and _is_indexed(m, unit, ends, name)]
    names = [name for name in names if not is_index(ends, given[name])]
    return unit.cast.with_history(m, unit.start, names, unit.func.function, targets) if names else None


def _is_indexed(m: Interpreter, unit: Unit, ends: list[FrameExit], name: str) -> bool:
    """Is an argument a tensor of which only rows are used, and to be differentiated?"""
    if ordinary_use.is_given_with_data(name) or ordinary_use.is_set(name):
        return False
    place = place_of(unit.func, unit.cls)
    usage = m.program.refinement.evidence.parameter(unit.start, place, name)
    return is_indexed(ends, unit.cast.values[name], usage.attributes)


def _report_constant(m: Interpreter, unit: Unit, ends: list[FrameExit], given: Cast) -> None:
    """Report a loss that was cut off from its arguments on each way on which it is a tensor."""
    results = [(end.state, ref) for end in ends for ref in _losses(end.state, end.value)]
    cuts = [_cut(s, ref) for s, ref in results]
    if not cuts or len(results) < len(ends):
        return
    first = cuts[0]
    if first is None or None in cuts:
        return
    s, ref = results[0]
    assumed = (ordinary_use.DIFFERENTIATED.format(unit.name), *m.program.assumes, *given.assumes)
    event = NoGraph(
        site=first.site,
        story=s[ref].detached_story,
        text=NO_GRAPH_AT.format(0),
        root=f"{unit.name}(...)",
        reason=first.kind,
        call="backward",
        assumes=assumed,
        unit=unit.name,
    )
    m.program.ordinary.append(event)


def _losses(s: State, value: Value) -> list[Ref]:
    """What of a result is the loss: all of it, or the first of several values; the rest is to be shown."""
    first = value.items[0] if isinstance(value, Tup) and value.items else value
    return [first] if isinstance(first, Ref) and s.get(first, Tensor) is not None else []


def _cut(s: State, ref: Ref) -> GraphCut | None:
    """What cut a constant off from the arguments; None where it has a graph, or was not made of any."""
    tensor: Tensor = s[ref]
    if tensor.requires_grad is not False or tensor.unsure_graph:
        return None
    return next(iter(cuts_of(s, ref)), None)
