"""Which of the exceptions that PyTorch raises on some ways through the code are mistakes of the program.

Where a test depends on what only the run knows (data, options), both of its outcomes are executed. Where a
value that the engine refuses (a loss that is a constant, a stand-in or not reduced; a gradient of another
size; a number of several elements; a list without parameters) arrives on one of them, while the same pass
runs on the other, that is no mistake: whether that way is ever taken, the code does not say. What is done on
one of them alone (a second backward, a write to what is saved) is one: with that option, the program raises.

Where there was too little work for all ways, or were too many of them, one that was left out may be that
other one.

What raises in a file of tests is told only where no test of a value decides it: tests are run, so that what
they do is known to work where it depends on more than their text. So is an array that is made of what
requires a gradient: where an option decides, it says that the unit only predicts. A hook on what was computed
without gradients says, where an option decides, that gradients are on then. A unit whose name says that it
predicts is called without gradients, where a write to a leaf or a view is refused by none, and so is one with
an option of such a name that is on (`fcn_test=True`).

Known unsoundness: that a helper gets a right loss on one such way and a wrong one on the other is missed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.evidence import REQUIRES_GRADIENT
from gradcheck_tool.domain.events import (
    InvalidTensorUse,
    LeafWrite,
    NoGraph,
    NonScalarRoot,
    UnguardedNone,
    UnusedInput,
    ViewWrite,
)
from gradcheck_tool.domain.values import Const, Ref, Value
from gradcheck_tool.interp.conditions import TRUE_NAMES
from gradcheck_tool.interp.facts import BackwardRan, OptimizerMade, PathEnded, Used
from gradcheck_tool.interp.places import is_of_tests
from gradcheck_tool.library.torch.opaque_modules import HAS_PARAMETERS, USES_PARAMETERS

if TYPE_CHECKING:
    from gradcheck_tool.domain.events import Event, Site
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter

Outcomes = dict[Value, bool]

# What the engine has against the roots and inputs of a pass.
_OF_PASSES = (NoGraph, NonScalarRoot, UnusedInput)

# What PyTorch refuses only where gradients are on.
_REFUSED_TO_TRAINING = (LeafWrite, ViewWrite)

# What is asked of a tensor that only some values of an option make: of one element, without a graph.
_OF_VALUES = ("numpy-on-grad", "grad-size", "number-of-many", "optimizer-parameters")

# What units are called that are run without gradients.
_PREDICTING = re.compile(
    r"(?:^|_)(?:predict|predictions?|inference|infer|fuse|deploy)(?:_|$)|^(?:simple|aug)_test$"
)

# What options are called that are on where nothing is trained.
_PREDICTING_OPTION = re.compile(r"(?:^|_)(?:test|eval|evaluate|predict|inference|infer)(?:_mode|ing)?$")

# What is asked of a tensor that requires a gradient.
_NEEDS_GRADIENTS = ("hook-on-constant", "retain-grad-constant")


@dataclass(frozen=True)
class Raising:
    """A way on which PyTorch raises.

    Attributes:
        outcomes: what was decided on it.
        is_partial: was a way that parted from it not followed?
        predicts: is an option on that says that nothing is trained?
    """

    outcomes: Outcomes
    is_partial: bool
    predicts: bool


class Ways:
    """Listens on which ways passes run and optimizers are made, and on which they raise."""

    def __init__(self, m: Interpreter) -> None:
        self._m = m
        self._ran: dict[int, list[Outcomes]] = defaultdict(list)
        # On which ways functions, or the bodies of modules, differentiate or make an optimizer.
        self._trained: dict[int, list[Outcomes]] = defaultdict(list)
        self._raised: dict[tuple[type, int], list[Raising]] = defaultdict(list)
        m.listeners.setdefault(BackwardRan, []).append(lambda _, s, fact: self._on_run(s, fact.run.site))
        m.listeners.setdefault(OptimizerMade, []).append(lambda _, s, fact: self._on_run(s, fact.call.site))
        m.listeners.setdefault(Used, []).append(lambda _, s, fact: self._on_used(s, fact))
        m.listeners.setdefault(PathEnded, []).append(self._on_path_ended)

    def _on_run(self, s: State, site: Site) -> None:
        outcomes = dict(s.path_condition)
        self._ran[id(site.node)].append(outcomes)
        self._trained[id(self._m.places.function_of(site))].append(outcomes)

    def _on_used(self, s: State, fact: Used) -> None:
        if fact.by == "number":
            self._ran[id(fact.site.node)].append(dict(s.path_condition))

    def _on_path_ended(self, m: Interpreter, s: State, fact: PathEnded) -> None:
        if not isinstance(fact.value, Ref) or fact.returns:
            return
        event = m.raised.get(fact.value.id)
        if event is not None:
            outcomes = dict(s.path_condition)
            is_partial = s.is_partial or (m.budget.is_narrow and bool(outcomes))
            predicts = isinstance(event, _REFUSED_TO_TRAINING) and _is_told_to_predict(s, fact.value)
            self._raised[_key(event)].append(Raising(outcomes, is_partial, predicts))

    def is_certain(self, event: Event) -> bool:
        """Does what raises not depend on a test whose other outcome lets the same pass run?"""
        raised = self._raised[_key(event)]
        if _speaks_against_its_role(event) or _is_refused_to_predictions(event, raised):
            return False
        may_predict = _is_for_inference(event) and not self._trains(event, raised)
        is_run = is_of_tests(event.site.module) or may_predict
        if raised and is_run and all(way.outcomes for way in raised):
            return False
        if not raised or not _is_about_a_value(event):
            return True
        ran = self._ran[id(event.site.node)]
        if not ran and all(self._leaves_out(way, event) for way in raised):
            return False
        return not all(any(_differ(way.outcomes, other, event) for other in ran) for way in raised)

    def _trains(self, event: Event, raised: list[Raising]) -> bool:
        """Does the unit train on a way on which it raises, so that gradients are on?"""
        trained = self._trained[id(self._m.places.function_of(event.site))]
        return any(not _differ(way.outcomes, other, event) for way in raised for other in trained)

    def _leaves_out(self, way: Raising, event: Event) -> bool:
        """May the pass run on a way that was not followed: one of too many, or for lack of work?"""
        is_short = self._m.budget.narrowed and isinstance(event, _OF_PASSES) and bool(way.outcomes)
        return way.is_partial or is_short


def _speaks_against_its_role(event: Event) -> bool:
    """Does it raise whenever it runs, because of a graph that is only assumed, or of one that is missed?

    Code that has been run says then that an object of unknown class is no module, or that an argument
    requires no gradient, rather than that there is a mistake.
    """
    if not any(assumption.endswith((HAS_PARAMETERS, REQUIRES_GRADIENT)) for assumption in event.assumes):
        return False
    if isinstance(event, InvalidTensorUse):
        # What a method out of sight gives may be numbers of actions or classes, of which copies are made.
        is_copied = event.kind == "non-leaf-deepcopy" and any(USES_PARAMETERS in it for it in event.assumes)
        is_refused = event.kind in ("numpy-on-grad", "out-with-grad", "non-leaf-flag")
        return is_copied or (is_refused and not event.is_certain)
    if isinstance(event, ViewWrite):
        return any(assumption.endswith(REQUIRES_GRADIENT) for assumption in event.assumes)
    return isinstance(event, NoGraph) and event.reason in ("constant", "unknown")


def _is_refused_to_predictions(event: Event, raised: list[Raising]) -> bool:
    """Is it refused only where gradients are on, in a unit that predicts, by its name or as it is told?"""
    if not isinstance(event, _REFUSED_TO_TRAINING):
        return False
    name = event.unit.rpartition(".")[2]
    return _PREDICTING.search(name) is not None or (bool(raised) and all(way.predicts for way in raised))


def _is_told_to_predict(s: State, exception: Ref) -> bool:
    """Was an option on, where it was raised, that says that nothing is trained?"""
    names: Const = s[exception].attrs[TRUE_NAMES]
    return any(_PREDICTING_OPTION.search(name) for name in names.value)


def _is_for_inference(event: Event) -> bool:
    """Is it a matter of whether gradients are on? Whoever turns an option on knows that of his call."""
    if not isinstance(event, InvalidTensorUse):
        return False
    return event.kind == "numpy-on-grad" or (event.is_off and event.kind in _NEEDS_GRADIENTS)


def _is_about_a_value(event: Event) -> bool:
    """Is it a matter of which value arrives where the engine raises, not of what was done on the way?"""
    if isinstance(event, NoGraph):
        return event.reason in ("constant", "unknown", "non-differentiable")
    if isinstance(event, InvalidTensorUse):
        return event.kind in _OF_VALUES and not event.is_certain
    if isinstance(event, UnusedInput):
        return event.reason == "stand-in"
    return isinstance(event, (NonScalarRoot, UnguardedNone))


def _key(event: Event) -> tuple[type, int]:
    return type(event), id(event.site.node)


def _differ(way: Outcomes, other: Outcomes, event: Event) -> bool:
    """Does a test go one way here and the other way there?

    How many elements a tensor has does not change from one round of a loop to the next: where fewer tests are
    known of the other way, ways on which the others went differently have met.
    """
    is_size = isinstance(event, InvalidTensorUse) and event.kind == "number-of-many"
    has_met = is_size and other.items() < way.items()
    return has_met or any(other.get(test, outcome) is not outcome for test, outcome in way.items())
