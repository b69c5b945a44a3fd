"""Arguments made up for a Function: from its signature, annotations, names, call sites, and by trying."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.gradcheck.threads import one_thread
from gradcheck_tool.harness.eager import eagerly
from gradcheck_tool.harness.inputs.case import Case
from gradcheck_tool.harness.inputs.synthesised.budget import Budget
from gradcheck_tool.harness.inputs.synthesised.callsites import apply_sites, call_sites
from gradcheck_tool.harness.inputs.synthesised.direct import DirectSearch, Maker
from gradcheck_tool.harness.inputs.synthesised.domains import (
    GIVEN_ONLY,
    as_felt,
    calls_a_guess,
    is_multiplied,
    judged,
    nonzero,
    random_start,
    right_domain,
    verdicts,
)
from gradcheck_tool.harness.inputs.synthesised.guessed_knobs import guessed_knob
from gradcheck_tool.harness.inputs.synthesised.objects import with_objects
from gradcheck_tool.harness.inputs.synthesised.parameters import parameters_of_function
from gradcheck_tool.harness.inputs.synthesised.specs import Made, Plain, describe
from gradcheck_tool.harness.inputs.synthesised.wrappers import captured_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.harness.functions import FunctionRef
    from gradcheck_tool.harness.inputs.case import InputSettings
    from gradcheck_tool.harness.inputs.synthesised.parameters import Parameter
    from gradcheck_tool.harness.inputs.synthesised.search import Found, State

_DRAWS = 2
_SOON = 150
"""Tries after which callers are asked: most of what is found at all is found by then."""
_CALLERS_S = 4.0
"""Seconds of work in which callers are asked before all is tried, or for better arguments."""
_CONSTANT = "its outputs are the same whatever the tensors are"


@dataclass(frozen=True, slots=True)
class Synthesised:
    """Cases, or why there are none and the arguments that came closest."""

    cases: tuple[Case, ...]
    problem: str
    closest: tuple[str, ...]
    parameters: tuple[str, ...]


@eagerly()
@one_thread()
def synthesised_cases(function: Any, ref: FunctionRef, settings: InputSettings) -> Synthesised:
    """Arguments for an imported Function that its forward and backward accept."""
    try:
        parameters = with_objects(parameters_of_function(function))
    except (ValueError, TypeError) as error:
        return Synthesised((), f"the signature of forward cannot be read: {error}", (), ())
    sites = call_sites(ref)
    apply_sites(parameters, sites)
    dtype = getattr(torch, settings.dtype) if settings.dtype else None
    maker = Maker(function, dtype, settings.device, settings.seed)
    names = tuple(parameter.name for parameter in parameters)
    budget = Budget()
    search = DirectSearch(maker, parameters)
    found = search.run(budget, _SOON)
    called: tuple[Case, ...] = ()
    asked = None
    if found.state is None and not _is_elsewhere(found):
        asked = budget.share(_CALLERS_S)
        called = captured_calls(function, ref, sites, maker, asked)
        found = found if _moves(function, called) else search.run(budget)
    texts = tuple(map(describe, found.closest))
    made: tuple[Case, ...] = ()
    nearly = ""
    if found.state is not None:
        made, nearly = _drawn(maker, found, found.state, budget)
        texts = tuple(map(describe, found.state))
    doubt = _doubt(function, made, parameters)
    if nearly:
        return Synthesised((), nearly, texts, names)
    if not _is_elsewhere(found) and (not made or doubt or _is_poor(found) or _has_objects(found.state or ())):
        # What callers pass is better than a call that moves nothing, or that backward does not count, and
        # than objects that nobody has made before.
        if not called and (asked is None or asked.over):
            called = captured_calls(function, ref, sites, maker, budget)
        if called:
            made, doubt = called, _doubt(function, called, ())
    elif made and not doubt and judged(function, made[0].args) == "wrong":
        called = captured_calls(function, ref, sites, maker, budget.share(_CALLERS_S))
        made = _right_as_called(function, called, made[0].args) or made
        doubt = random_start(function, made[0].args)
    if doubt:
        return Synthesised((), doubt, texts, names)
    if not made:
        return Synthesised((), _problem(found, budget), texts, names)
    return Synthesised(made[: settings.limit], "", texts, names)


def _doubt(function: Any, made: Sequence[Case], parameters: Sequence[Parameter]) -> str:
    """Why a gradient that is wrong for these arguments says nothing; empty where it does, or is right.

    A solver or a checkpoint is right for the functions it is made for; what was guessed is none of them. What
    backward alone reads has to fit the other arguments; `parameters` are those that were guessed.
    """
    for case in made:
        if calls_a_guess(case.args):
            why = "the gradient is right for none of the functions that were passed"
        elif (knob := guessed_knob(function, case.args, parameters)) is not None:
            why = (
                f"`{knob}` changes the gradient and no output, and the gradient is wrong for what was guessed"
            )
        else:
            continue
        if judged(function, case.args) == "wrong" and not (
            calls_a_guess(case.args) and is_multiplied(function, case.args)
        ):
            return why
    return ""


def _moves(function: Any, called: tuple[Case, ...]) -> bool:
    """Whether some gradient is not zero for what callers pass: else nothing is learnt from it."""
    return any(case.kwargs or any(nonzero(function, case.args)) for case in called)


def _right_as_called(function: Any, called: tuple[Case, ...], made: Sequence[Any]) -> tuple[Case, ...]:
    """What callers pass, where the gradient is right for it: they may know what made-up arguments break."""
    felt = nonzero(function, made)
    right = all(
        not case.kwargs
        and judged(function, case.args) == "ok"
        and as_felt(felt, nonzero(function, case.args))
        for case in called
    )
    return called if right else ()


def _is_elsewhere(found: Found) -> bool:
    """Whether the Function needs what is not here: what calls it comes no farther."""
    return found.state is None and found.outcome is not None and found.outcome.missing


def _is_poor(found: Found) -> bool:
    """Whether what was found is accepted by half: no gradient moves, or backward has a plain mistake."""
    outcome = found.outcome
    return outcome is not None and (outcome.flat or outcome.miscounted or outcome.mistaken)


def _has_objects(state: State) -> bool:
    """Whether an argument is an object of the package's own that was made up."""
    return any(isinstance(spec, Made) for spec in state)


def _drawn(maker: Maker, found: Found, state: State, budget: Budget) -> tuple[tuple[Case, ...], str]:
    """The same shapes with several draws of values; values of another kind where these show a wrong
    gradient and those do not. Without cases, the reason may be known.
    """
    note = f"{_call(state)}, found in {found.tries} tries"
    if _is_poor(found):
        return (Case(maker.arguments(state), note=note, options=GIVEN_ONLY),), ""
    drawn = [maker.arguments(state, salt) for salt in range(_DRAWS)]
    accepted = [args for args in drawn if not maker.attempt_with(args).problem] or drawn[:1]
    words = [judged(maker.function, args) for args in accepted]
    if words[0] == "wrong" and any(isinstance(spec, Plain) for spec in state) and maker.constant(state):
        return (), ""
    # What a text says of one gradient does not excuse that of another.
    partly = words[0] == "surrogate" and "wrong" in verdicts(maker.function, accepted[0])
    if partly or (words[0] == "wrong" and "surrogate" not in words):
        domain = right_domain(maker, state, budget)
        if domain.state is not None:
            # Variations, which would turn flags, are not made here.
            states = dict.fromkeys((domain.state, maker.asking_for_more(domain.state)))
            note = "{}; for other values the gradient is wrong, or they make no sense"
            return tuple(
                Case(maker.arguments(one), note=note.format(_call(one)), options=GIVEN_ONLY) for one in states
            ), ""
        if domain.near:
            return (), f"for {domain.near} values the gradient is nearly right, as an iteration may leave it"
        if not partly:
            accepted, words = accepted[:1], words[:1]
    # What is meant to be no derivative may look like one for some values.
    meant = "surrogate" in words
    cases = tuple(
        Case(args, note=note)
        for args, word in zip(accepted, words, strict=True)
        if word == "surrogate" or not meant
    )
    return cases, ""


def _call(state: State) -> str:
    return "f(" + ", ".join(map(describe, state)) + ")"


def _problem(found: Found, budget: Budget) -> str:
    if found.outcome is None and not budget.over:
        return "no parameter is known"
    problem = found.outcome.problem or _CONSTANT if found.outcome is not None else "none"
    if found.outcome is not None and found.outcome.missing:
        return f"needs what is not here: {problem}"
    if budget.over:
        return f"no arguments found in {budget.spent:.0f} s; the try that came farthest: {problem}"
    return f"{found.tries} tries, the one that came farthest: {problem}"
