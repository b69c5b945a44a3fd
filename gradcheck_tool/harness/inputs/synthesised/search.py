"""Best-first search for arguments that a callable accepts, guided by how earlier tries ended."""

from __future__ import annotations

import heapq
import math
import re
from dataclasses import dataclass, field, replace
from itertools import count, product
from typing import TYPE_CHECKING

from gradcheck_tool.harness.inputs.synthesised.candidates import Ranked, candidates
from gradcheck_tool.harness.inputs.synthesised.repair import repairs
from gradcheck_tool.harness.inputs.synthesised.specs import SIDE, Several, Spec, TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gradcheck_tool.harness.inputs.synthesised.budget import Budget
    from gradcheck_tool.harness.inputs.synthesised.parameters import Parameter
    from gradcheck_tool.harness.inputs.synthesised.trial import Outcome

_GAIN = 2.0
_UNSUSPECTED = 1.5
_MOST_CHILDREN = 120
_MOST_ELEMENTS = 1 << 18
"""Of all tensors of a try together: messages about sizes double them again and again."""
_MOST_MISSING = 40
_LENGTHS = (3, 2, 1, 5, 6, 7, 8)
_ABOUT_SIZES = re.compile(r"match|size|length|dim|shape|AssertionError")

State = tuple[Spec, ...]
"""One value for every parameter, in order."""


@dataclass(slots=True)
class Found:
    """What a search came to.

    Attributes:
        state: the arguments that were accepted, or that show a plain mistake of backward; None where none.
        outcome: of the last try of `state`, or of the try that came farthest.
        closest: the arguments of that try.
        tries: number of calls made.
    """

    state: State | None
    outcome: Outcome | None
    closest: State
    tries: int


@dataclass(order=True, slots=True)
class _Open:
    """A state to try; `cost` is what it takes to believe in it."""

    priority: float
    number: int
    state: State = field(compare=False)
    cost: float = field(compare=False)
    gains: int = field(compare=False)
    reached: tuple[int, ...] = field(compare=False)


class Search:
    """A bounded search; the same parameters and the same callable give the same result."""

    def __init__(self, parameters: Sequence[Parameter], attempt: Callable[[State], Outcome]) -> None:
        """`attempt` tries a state."""
        self._names = [parameter.name for parameter in parameters]
        self._ranked: list[Ranked] = [candidates(parameter) for parameter in parameters]
        self._attempt = attempt
        # What may be left out, or given more than once, may have been given too often.
        self._counted = all(parameter.required and not parameter.variable for parameter in parameters)
        self._queue: list[_Open] = []
        self._known: set[State] = set()
        self._numbers = count()
        self._tried = 0
        self._best: Found | None = None

    def run(self, tries: int, budget: Budget) -> Found:
        """Go on for so many tries: the first state that is accepted, preferring one whose gradients are not
        all zero.

        Where none is, one for which backward returns a wrong number of gradients, or takes the tuple of saved
        tensors for a tensor: it does so for the right arguments as well.
        """
        for cost, state in self._starts():
            self._push(state, cost, 0, (-1,))
        spare: Found | None = None
        mistaken: Found | None = None
        missing = 0
        for number in range(self._tried + 1, self._tried + tries + 1):
            if not self._queue or budget.over:
                break
            self._tried = number
            node = heapq.heappop(self._queue)
            outcome = self._attempt(node.state)
            found = Found(node.state, outcome, node.state, number)
            if not outcome.problem and not outcome.flat:
                return found
            if not outcome.problem:
                spare = spare or found
            if outcome.mistaken or (outcome.miscounted and self._counted):
                mistaken = mistaken or found
            best = self._best
            if best is None or best.outcome is None or outcome.progress > best.outcome.progress:
                self._best = Found(None, outcome, node.state, number)
            missing += outcome.missing
            if missing == _MOST_MISSING:
                break
            poor = spare or mistaken
            if poor is not None and number > poor.tries + 20:
                break
            self._expand(node, outcome)
        if self._best is None:
            return Found(None, None, (), 0)
        return spare or mistaken or replace(self._best, tries=self._tried)

    def _starts(self) -> Iterator[tuple[float, State]]:
        """The most usual values; the same with all tensors of another rank; usual shapes of layers."""
        first = tuple(ranked[0][1] for ranked in self._ranked)
        yield 0.0, first
        for cost, rank in ((0.6, 3), (0.8, 1), (1.0, 4)):
            yield cost, tuple(_of_rank(spec, rank) for spec in first)
        for cost, ranks in ((0.7, (2, 2, 1)), (0.7, (2, 1, 1)), (1.2, (4, 4, 1)), (1.2, (3, 2, 1))):
            left = iter(ranks)
            yield (
                cost,
                tuple(
                    _of_rank(spec, next(left, 1)) if isinstance(spec, TensorSpec) else spec for spec in first
                ),
            )

    def _push(self, state: State, cost: float, gains: int, reached: tuple[int, ...]) -> None:
        if state not in self._known and sum(map(_elements, state)) <= _MOST_ELEMENTS:
            self._known.add(state)
            heapq.heappush(
                self._queue, _Open(cost - _GAIN * gains, next(self._numbers), state, cost, gains, reached)
            )

    def _expand(self, node: _Open, outcome: Outcome) -> None:
        """Change one argument: those that the error is about first."""
        gains = node.gains + (outcome.progress > node.reached)
        children: list[tuple[float, State]] = []
        # The rows of backward speak of names of its own.
        about = outcome.suspects.intersection(self._names)
        for index, name in enumerate(self._names):
            suspected = not about or name in about
            penalty = 0.0 if suspected else _UNSUSPECTED
            current = node.state[index]
            if suspected:
                told = repairs(outcome.problem, current)
                children += [(cost, _with(node.state, index, spec)) for cost, spec in told]
            others = self._ranked[index]
            children += [(0.5 + cost + penalty, _with(node.state, index, spec)) for cost, spec in others]
        children += _together(node.state, outcome.problem)
        children.sort(key=lambda child: child[0])
        for cost, state in children[:_MOST_CHILDREN]:
            self._push(state, node.cost + cost, gains, outcome.progress)


def _together(state: State, problem: str) -> Iterator[tuple[float, State]]:
    """The same change to all tensors, after an error about sizes: they often belong together.

    Two tensors are also given every pair of lengths: `a` of a pose and `b` of a point differ, and are tied.
    """
    places = [i for i, spec in enumerate(state) if isinstance(spec, TensorSpec)]
    if len(places) < 2 or not _ABOUT_SIZES.search(problem):
        return
    for rank, length in enumerate(_LENGTHS):
        yield 1.0 + 0.1 * rank, _ending_in(state, dict.fromkeys(places, length))
    for rank in (1, 0):
        # The state of a recurrence and the weights of a layer have fewer axes than what goes in.
        yield 1.2 + 0.3 * (rank == 0), _of_ranks(state, dict.fromkeys(places[1:], rank))
    if len(places) == 2:
        for rank, pair in enumerate(product((*_LENGTHS, SIDE), repeat=2)):
            yield 1.5 + 0.02 * rank, _ending_in(state, dict(zip(places, pair, strict=True)))


def _of_ranks(state: State, ranks: Mapping[int, int]) -> State:
    return tuple(
        spec.of_rank(ranks[i]) if isinstance(spec, TensorSpec) and i in ranks else spec
        for i, spec in enumerate(state)
    )


def _ending_in(state: State, lengths: Mapping[int, int]) -> State:
    """The same tensors with other lengths of their last axes."""
    return tuple(
        _ending(spec, lengths[i]) if isinstance(spec, TensorSpec) and i in lengths else spec
        for i, spec in enumerate(state)
    )


def _ending(spec: TensorSpec, length: int) -> TensorSpec:
    return replace(spec, shape=(*spec.shape[:-1], length)) if spec.shape else spec


def _with(state: State, index: int, spec: Spec) -> State:
    return (*state[:index], spec, *state[index + 1 :])


def _elements(spec: Spec) -> int:
    if isinstance(spec, Several):
        return sum(map(_elements, spec.items))
    return math.prod(spec.shape) if isinstance(spec, TensorSpec) else 0


def _of_rank(spec: Spec, rank: int) -> Spec:
    return spec.of_rank(rank) if isinstance(spec, TensorSpec) and len(spec.shape) > 1 else spec
