"""What looks wrong when it happens and is told at the end of the run, unless something has cleared it up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.autograd.events import WindowDiscarded
from gradcheck_tool.interp.places import path_to, text_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from gradcheck_tool.autograd.events import Event, Site
    from gradcheck_tool.autograd.values import Ref
    from gradcheck_tool.interp.machine import Machine
    from gradcheck_tool.interp.places import Places


class Suspicions:
    """Events that are held back, each with the ids of the records that it is about."""

    def __init__(self) -> None:
        self._held: dict[Hashable, tuple[Event, set[int]]] = {}
        self._cleared: set[int] = set()
        self._dropped: set[Hashable] = set()

    def hold(self, key: Hashable, event: Event, about: Iterable[int] = ()) -> None:
        """Hold an event back; of several with the same key the first is kept, about the records of all."""
        self._held.setdefault(key, (event, set()))[1].update(about)

    def clear(self, about: Iterable[int]) -> None:
        """Nothing is wrong with these records."""
        self._cleared.update(about)

    def drop(self, key: Hashable) -> None:
        """Nothing is wrong about this key, now or later."""
        self._dropped.add(key)

    def confirmed(self) -> Iterator[Event]:
        """What nothing has cleared up."""
        for key, (event, about) in self._held.items():
            if key not in self._dropped and not about & self._cleared:
                yield event


class Windows:
    """Where gradients are thrown away, where they are applied and which backward they came from."""

    def __init__(self) -> None:
        self._clears: dict[int, dict[int, tuple[Site, str]]] = {}
        self._steps: dict[int, dict[int, tuple[Site, Site, str]]] = {}

    def cleared(self, params: Sequence[Ref], site: Site, target: str) -> None:
        """Gradients that no step has applied are cleared."""
        for ref in params[:1]:
            self._clears.setdefault(ref.id, {})[id(site.node)] = (site, target)

    def stepped(self, params: Sequence[Ref], site: Site, backward: Any, optimizer: str) -> None:
        """Gradients of a backward are applied."""
        for ref in params[:1]:
            if backward is not None:
                self._steps.setdefault(ref.id, {})[id(site.node)] = (site, backward, optimizer)

    def discarded(self, places: Places) -> Iterator[WindowDiscarded]:
        """Clearings in every iteration of a loop of which only every k-th steps."""
        for number, clears in self._clears.items():
            steps = list(self._steps.get(number, {}).values())
            for site, target in clears.values():
                found = [
                    _guard(places, site, step, back)
                    for step, back, _ in steps
                    if _may_meet(places, site, step)
                ]
                if found and all(found):
                    yield WindowDiscarded(site=site, target=target, optimizer=steps[0][2], condition=found[0])


def _may_meet(places: Places, clear: Site, step: Site) -> bool:
    """May the step run in the loop of the clearing? One in a loop of its own elsewhere does not."""
    loop, other = places.loop_of(clear), places.loop_of(step)
    return loop is None or other is None or other is loop or path_to(loop.node, step.node) is not None


def _guard(places: Places, clear: Site, step: Site, backward: Site) -> str:
    """The modulo test that guards the step but neither the backward nor the clearing; '' if there is none."""
    loop = places.loop_of(clear)
    if loop is None or places.loop_of(step) is not loop:
        return ""
    ways = [path_to(loop.node, site.node) for site in (clear, step, backward)]
    if ways[0] is None or ways[1] is None or ways[2] is None or branches(ways[0]):
        return ""
    for test in branches(ways[1]):
        inside = type(test).__name__ == "If" and any(node is test.body for node in ways[1])
        if inside and _is_modulo(test.test, loop.node) and not any(node is test for node in ways[2]):
            return text_of(step, test.test)
    return ""


def branches(way: Sequence[Any]) -> list[Any]:
    """The conditions and handlers on a way down a tree: what is below them does not run every time."""
    return [
        node for node in way[1:] if type(node).__name__ in ("If", "Else", "Try", "IfExp", "ExceptHandler")
    ]


def _is_modulo(test: Any, loop: Any) -> bool:
    """Is it a modulo test, or a variable that the loop sets to nothing but one?"""
    if type(test).__name__ != "Name":
        return _has_modulo(test)
    values = list(_assigned(loop, test.value))
    return bool(values) and all(_has_modulo(value) for value in values)


def _assigned(node: Any, name: str) -> Iterator[Any]:
    """What the statements below a node assign to a variable."""
    if type(node).__name__ == "Assign" and getattr(node.targets[0].target, "value", None) == name:
        yield node.value
    for child in node.children:
        yield from _assigned(child, name)


def _has_modulo(node: Any) -> bool:
    return type(node).__name__ == "Modulo" or any(_has_modulo(child) for child in node.children)


def tell(m: Machine) -> None:
    """Emit at the end of a run what has been held back and not been cleared up."""
    for event in (*m.suspicions.confirmed(), *m.windows.discarded(m.places)):
        m.emit(event)
