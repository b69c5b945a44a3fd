"""What trackers have in common: they hear facts, note what they need, and report events."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from gradcheck_tool.interp import facts
from gradcheck_tool.interp.api import Fact
from gradcheck_tool.ir.wording import one_line
from gradcheck_tool.spelling import nearest, snake_case
from gradcheck_tool.trackers.hearing import hearing, hearing_calls

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from gradcheck_tool.domain.events import Event, Site
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.trackers.hearing import Hear


Happened = TypeVar("Happened", bound="Event")

# The method that hears each kind of fact: `Stepped` -> `on_stepped`.
HANDLERS = {
    f"on_{snake_case(name)}": kind
    for name, kind in vars(facts).items()
    if isinstance(kind, type) and issubclass(kind, Fact) and kind is not Fact
}


class Tracker:
    """Base class of all trackers: what each run makes one of, to derive events from facts.

    Methods named after facts (`on_stepped` for `facts.Stepped`) get the interpreter, the state in which it
    happened, and the fact. A tracker is made where a rule in force judges an event that it derives, or names
    the tracker in `Rule.trackers`; it must not depend on other trackers.

    Attributes:
        derives: the classes of events that it may report.
        callees: where it hears of calls, the names of the methods whose calls matter to it; of all if empty.
        m: the interpreter.
    """

    derives: ClassVar[tuple[type[Event], ...]] = ()
    callees: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        for name in vars(cls):
            if name.startswith("on_") and name not in HANDLERS:
                close = nearest(name, HANDLERS)
                hint = f"did you mean `{close}`?" if close else f"there are {', '.join(sorted(HANDLERS))}"
                raise TypeError(f"{cls.__name__}.{name} matches no fact; {hint}")

    def __init__(self, m: Interpreter) -> None:
        self.m = m
        self._seen: set[Hashable] = set()
        self._held: dict[Hashable, tuple[Event, set[int]]] = {}
        self._cleared: set[int] = set()
        self._dropped: set[Hashable] = set()

    def once(self, key: Hashable) -> bool:
        """Is it the first time in the run that this key is asked about?"""
        if key in self._seen:
            return False
        self._seen.add(key)
        self.m.noticed += 1
        return True

    def text(self, site: Site, node: Any = None) -> str:
        """The source text of a site in one line, or that of a part of it."""
        return one_line(site.module.spans.text(node or site.node))

    def report(self, event: Event) -> None:
        """Report an event: rules may judge it."""
        self.m.emit(event)

    # -- what looks wrong when it happens and is reported at the end, unless something clears it up ---------

    def hold(self, key: Hashable, event: Event, about: Iterable[int] = ()) -> None:
        """Hold an event back; of several with the same key the first is kept, about the records of all."""
        self._held.setdefault(key, (self.as_of_now(event), set()))[1].update(about)

    def as_of_now(self, event: Happened) -> Happened:
        """An event that is reported later, as of the function that is executed on its own now."""
        program = self.m.program
        return replace(event, unit=program.unit, assumes=(*event.assumes, *program.assumes))

    def clear(self, about: Iterable[int]) -> None:
        """Nothing is wrong with these records, now or later."""
        self._cleared.update(about)

    def copied(self, numbers: Mapping[int, int]) -> None:
        """A call is not executed, as an earlier one did the same: what that made has copies, by number."""
        if self._cleared:
            self._cleared.update([numbers[number] for number in self._cleared & numbers.keys()])
        for _, about in self._held.values():
            about.update([numbers[number] for number in about & numbers.keys()])

    def drop(self, key: Hashable) -> None:
        """Nothing is wrong about this key, now or later."""
        self._dropped.add(key)

    def conclude(self) -> None:
        """Report what has been held back and not been cleared up."""
        for key, (event, about) in self._held.items():
            if key not in self._dropped and not about & self._cleared:
                self.report(event)


def listen(m: Interpreter, kinds: Iterable[type[Tracker]]) -> list[Tracker]:
    """Make trackers that hear what an interpreter tells from now on."""
    trackers = [kind(m) for kind in kinds]
    m.copying = [tracker.copied for tracker in trackers]
    for name, fact in HANDLERS.items():
        listening = [tracker for tracker in trackers if hasattr(tracker, name)]
        methods: list[Hear] = [getattr(tracker, name) for tracker in listening]
        if methods and fact is facts.Called:
            wanted = zip(methods, listening, strict=True)
            callees = {method: tracker.callees for method, tracker in wanted if tracker.callees}
            m.listeners[fact] = [hearing_calls(methods, callees)]
        elif methods:
            m.listeners[fact] = [hearing(methods)]
    return trackers
