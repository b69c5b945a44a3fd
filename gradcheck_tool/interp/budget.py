"""The work limit: how many instructions an entry point, and all of them, may execute.

What nears its limit follows fewer and fewer of the ways through the code. What reaches it all the same is
executed again along a single way, which takes work in proportion to the code, so that it finishes.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")

# How many states are followed at a join while more than such a part of the work is left; then one.
WIDTHS = ((0.3, 8), (0.2, 4), (0.1, 2))
# So many at most in constructors: which parts an object has is decided in them, again and again.
MAKING = 2
# States that are remembered, to be compared with later ones, may have so many records together: each takes
# a hundred bytes or two.
MAX_HELD = 1_500_000
# The part of what is left for single ways that one entry point may take.
SINGLE_SHARE = 2
# The part of its work which code of other files may take: what sets a script up does not starve its training.
ABROAD_SHARE = 2


class BudgetExhausted(Exception):
    """The work limit of one entry point is reached; `exits` are the ways out of its frame that were found."""

    exits: Sequence[Any] = ()


@dataclass(slots=True)
class Budget:
    """Instructions that may be executed.

    Attributes:
        limit: how many one entry point may execute.
        total: how many are left for all entry points.
        single: how many are left for following a single way through those that reach the limit.
        left: how many are left for the one that is running.
        given: how many the one that is running started with.
        abroad: how many of these are left for code of other files.
        executed: how many were executed.
        held: how many records the states have that are remembered.
        long: the entry points that have reached the limit.
        known_long: the names of entry points of which it is known that they reach it.
        long_names: the names of those that took more than the limit, or reached it.
        exhausted: the names of those that did not finish along a single way either.
        narrowed: ways were left out because little was left.
        is_short: with more work there might be more to see.
        is_complete: none was left out of what is to be complete: may what was not seen count as absent?
        is_minor: what is running need not be complete.
        is_narrow: a single way is followed from the start.
        making: an object is made in a constructor, in which no backward has run.
        called: the objects that are being called, and how many frames there were then.
        too_little: with how many a function of another file, by its identity and `is_narrow`, did not finish.
    """

    limit: int
    total: int
    single: int
    left: int = field(init=False)
    given: int = field(init=False)
    abroad: int = 0
    executed: int = 0
    held: int = 0
    known_long: frozenset[str] = frozenset()
    long: set[int] = field(default_factory=set)
    long_names: set[str] = field(default_factory=set)
    exhausted: list[str] = field(default_factory=list)
    narrowed: bool = False
    is_short: bool = False
    is_complete: bool = True
    is_minor: bool = False
    is_narrow: bool = False
    making: bool = False
    called: set[tuple[int, int]] = field(default_factory=set)
    too_little: dict[tuple[int, bool], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.left = self.given = self.limit
        self.abroad = self.given // ABROAD_SHARE

    def leave_out(self) -> None:
        """Note that ways are left out."""
        self.narrowed = self.is_short = True
        self.is_complete &= self.is_minor

    @property
    def width(self) -> int:
        """How many states are to be followed."""
        return min(self._affordable, MAKING) if self.making else self._affordable

    @property
    def _affordable(self) -> int:
        """How many states what is left allows to follow."""
        if self.is_narrow:
            return 1
        for part, width in WIDTHS:
            if self.left > part * self.given:
                return width
        return 1

    def few(self, states: list[T]) -> list[T]:
        """As many states as are to be followed: the last, which have executed the most or can still train."""
        if len(states) > self._affordable:
            self.leave_out()
        return states[-self.width :]

    def hold(self, records: int) -> None:
        """Remember a state with so many records.

        Raises:
            BudgetExhausted: all that are remembered take too much memory.
        """
        self.held += records
        if self.held > MAX_HELD:
            raise BudgetExhausted

    @property
    def rest(self) -> int:
        """How many are left for all entry points that are followed as the one that is running."""
        return self.single if self.is_narrow else self.total

    def share_abroad(self, share: int) -> int:
        """How many of what is left a call of another file's code may execute: a part of it, within bounds."""
        return min(self.left // share, self.abroad)

    def charge(self, other: Budget, more: int) -> None:
        """Take what was executed within a limit of its own, and `more`, off the rest.

        What did not finish there is no entry point of this file.
        """
        if self.is_narrow:
            self.single -= other.executed + more
        else:
            self.total -= other.executed + more
        self.executed += other.executed
        self.is_short |= bool(other.exhausted)
        if other.narrowed:
            self.leave_out()

    @contextmanager
    def for_all_ways(self) -> Iterator[None]:
        """Give an entry point what its limit allows, and take what it needs off the total."""
        self.left = self.given = min(self.limit, self.total)
        self.abroad = self.given // ABROAD_SHARE
        try:
            yield
        finally:
            used = self.given - self.left
            self.total -= used
            self.executed += used

    @contextmanager
    def for_a_single_way(self) -> Iterator[None]:
        """Give an entry point a part of what there is for single ways."""
        self.is_narrow = True
        self.leave_out()
        self.left = self.given = self.single // SINGLE_SHARE
        self.abroad = self.given // ABROAD_SHARE
        try:
            yield
        finally:
            used = self.given - self.left
            self.single -= used
            self.executed += used
            self.is_narrow = False
