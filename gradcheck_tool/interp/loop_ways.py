"""The way from a loop down to a place, through the calls that lead there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradcheck_tool.interp.places import branches, condition_of, counters, precedes, text_of

if TYPE_CHECKING:
    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.places import Places
    from gradcheck_tool.ir import nodes as ir


@dataclass(frozen=True, slots=True)
class Leg:
    """A part of a way within one function: the nodes from its body, or from a loop, down to a place.

    `loops` are those of the function around the place, from the innermost to the outermost.
    """

    site: Site
    nodes: tuple[Any, ...]
    loops: tuple[ir.Loop, ...]

    def within(self, loop: ir.Loop) -> Leg:
        """The part below one of the loops; a comprehension is one as a whole."""
        number = next(i for i, each in enumerate(self.loops) if each is loop)
        cut = next((i for i, node in enumerate(self.nodes) if node is loop.node), 0)
        return Leg(self.site, self.nodes[cut:], self.loops[:number])


@dataclass(frozen=True, slots=True)
class LoopWay:
    """The calls that lead to a place, each with the nodes down to it.

    A loop of a function that calls another is around what the other does.
    """

    legs: tuple[Leg, ...]

    @property
    def loops(self) -> tuple[ir.Loop, ...]:
        """The loops around the place, from the innermost to the outermost."""
        return tuple(loop for leg in reversed(self.legs) for loop in leg.loops)

    @property
    def site(self) -> Site:
        """The place that the way leads to."""
        return self.legs[-1].site

    @property
    def branches(self) -> list[Any]:
        """The conditions and handlers on the way: the place is not reached in every round."""
        return [node for leg in self.legs for node in branches(leg.nodes)]

    @property
    def counters(self) -> list[Any]:
        """The modulo tests that the way is under, in one branch or the other."""
        return [test for leg in self.legs for test in counters(leg.nodes, leg.nodes[0])]

    def within(self, loop: ir.Loop) -> LoopWay:
        """The part of the way below a loop that is around the place."""
        start = next(i for i, leg in enumerate(self.legs) if any(each is loop for each in leg.loops))
        return LoopWay((self.legs[start].within(loop), *self.legs[start + 1 :]))

    def is_within(self, loop: ir.Loop) -> bool:
        """Does a loop run the place again?"""
        return any(each is loop for each in self.loops)

    def passes(self, node: Any) -> bool:
        """Is the place below a node?"""
        return any(each is node for leg in self.legs for each in leg.nodes)

    def condition_of(self, test: Any) -> str:
        """When the way under an `if` is gone: the text of its test, or its contrary."""
        leg = next(leg for leg in self.legs if any(node is test for node in leg.nodes))
        return condition_of(leg.site, test, leg.nodes)

    def iterated(self) -> set[str]:
        """The texts of what the loops on the way go through."""
        return {
            text_of(leg.site, getattr(loop.node, "iter", loop.node))
            for leg in self.legs
            for loop in leg.loops
        }

    def precedes(self, other: LoopWay) -> bool:
        """Of two ways down from the same loop, does this one lead to the earlier place?"""
        for mine, its in zip(self.legs, other.legs, strict=False):
            if mine.nodes[0] is not its.nodes[0]:
                return False
            if mine.nodes[-1] is not its.nodes[-1]:
                return precedes(mine.nodes, its.nodes)
        return False


def loop_way(around: Places, s: State, site: Site) -> LoopWay | None:
    """The way to a place that runs now; None where no loop is around it or around a call on the way."""
    legs: list[Leg] = []
    at: Site | None = site
    for frame in reversed(s.frames):
        nodes = _path(s[frame].function, at.node) if at is not None else ()
        if at is None or not nodes:
            break
        legs.insert(0, Leg(at, nodes, tuple(around.loops_around(at))))
        at = s[frame].site
    return LoopWay(tuple(legs)) if any(leg.loops for leg in legs) else None


def _path(function: ir.Function, node: Any) -> tuple[Any, ...]:
    """The nodes from the whole of a function down to one of them; none where it is not below."""
    above = function.worked_out(_above)
    path = [node]
    while node is not function.node:
        node = above.get(id(node))
        if node is None:
            return ()
        path.append(node)
    return tuple(reversed(path))


def _above(function: ir.Function) -> dict[int, Any]:
    """What each node of a function is directly below."""
    found: dict[int, Any] = {}
    todo: list[Any] = [function.node]
    while todo:
        node = todo.pop()
        for child in node.children:
            found[id(child)] = node
            todo.append(child)
    return found


def common_loop(first: LoopWay, second: LoopWay) -> ir.Loop | None:
    """The innermost loop around both of two places."""
    return next((loop for loop in first.loops if second.is_within(loop)), None)
