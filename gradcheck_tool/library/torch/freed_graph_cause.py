"""How two backward calls came to meet in one graph: the cause decides the advice."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.values import Const, Ref
from gradcheck_tool.interp.havoc import graph_behind
from gradcheck_tool.interp.places import branches, path_to
from gradcheck_tool.ir import syntax

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.domain.events import FreedGraph, Site
    from gradcheck_tool.domain.records import Frame
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.engine.backward import BackwardPass
    from gradcheck_tool.interp.api import Interpreter


def cause_of(s: State, event: FreedGraph) -> FreedGraph:
    """The event with its `cause`, judged by where the graph was built and freed."""
    built, freed = event.story[0].site, event.story[1].site
    if freed.node is not event.site.node:
        same = event.root and event.freed_by.startswith(f"{event.root}.backward")
        return dataclasses.replace(event, cause="same-root" if same else "shared-subgraph")
    if not _has_gone_round(s):
        return dataclasses.replace(event, cause="shared-subgraph")
    loop = _innermost_loop(event.site)
    inside = loop is None or built.module is not event.site.module or _contains(loop, built.node)
    outside_function = loop is not None and not inside and not _same_function(event.site, built)
    return dataclasses.replace(event, cause="carried" if inside or outside_function else "outside-loop")


def is_excluded(m: Interpreter, s: State, event: FreedGraph) -> bool:
    """Do the tests that both calls wait for exclude that one follows the other?

    The call that has freed the graph may wait for a test that is meant to end the loop: one of the loop's own
    variable against something unknown (`retain_graph=i < last`, `if i == last: ... else: ...`). The path on
    which the loop goes on after it is one that data exclude.
    """
    freed, again = event.story[1].site.node, event.site.node
    found = m.places.loop_of(event.story[1].site)
    loop = found.node if found is not None else None
    if loop is not None and _is_for_the_rest(s, loop, freed, event.site):
        return True
    ways = [path_to(loop, node) for node in (freed, again)] if isinstance(loop, syntax.For) else [None]
    if not all(ways) or (freed is not again and _is_on_one_side(*ways)):
        return False
    tests = [node.test for node in branches(ways[0]) if isinstance(node, (syntax.If, syntax.IfExp))]  # type: ignore[arg-type]
    tests += [node.test for node in _below(freed) if isinstance(node, syntax.IfExp)]
    counted = set(_names(loop.target))  # type: ignore[union-attr]
    return any(_is_of_unknown(s, test, counted) for test in tests)


def _is_for_the_rest(s: State, loop: Any, freed: Any, again: Site) -> bool:
    """Does a call after a loop wait for what the calls in it, each of which ends a window, have left over?

    `if steps % window:` asks for that, where a test of the same unknown `window` comes before those.
    """
    if _contains(loop, again.node):
        return False
    windows = {name for test in _tests(loop, freed) for name in _names(test)}
    rest = [
        test
        for test in _tests(_function_of(again) or again.module.tree, again.node)
        if any(isinstance(node, syntax.Modulo) for node in _below(test))
    ]
    frame: Frame = s[s.frames[-1]]
    asked = windows & {name for test in rest for name in _names(test)}
    return any(
        not isinstance(frame.locals.get(name, s.variable(frame.env.globals, name)), Const) for name in asked
    )


def _tests(root: Any, node: Any) -> list[Any]:
    """What the `if`s around a node ask, up to a root."""
    way = path_to(root, node)
    return [] if way is None else [each.test for each in branches(way) if isinstance(each, syntax.If)]


def _is_on_one_side(way: Sequence[Any], other: Sequence[Any]) -> bool:
    """Are two calls on the same side of each test that the first waits for, so in one iteration?"""
    below = [after for node, after in pairwise(way) if node in branches(way)]
    return all(any(node is after for node in other) for after in below)


def _is_of_unknown(s: State, test: Any, counted: set[str]) -> bool:
    """Does a test compare what the loop counts, not each so many-th, with something that is not known?"""
    if any(isinstance(node, syntax.Modulo) for node in _below(test)):
        return False
    frame: Frame = s[s.frames[-1]]
    names = set(_names(test))
    others = [frame.locals.get(n, s.variable(frame.env.globals, n)) for n in names - counted]
    return bool(counted & names) and not all(isinstance(value, Const) for value in others)


def _names(node: Any) -> Iterator[str]:
    return (each.value for each in _below(node) if isinstance(each, syntax.Name))


def _below(node: Any) -> Iterator[Any]:
    yield node
    for child in node.children:
        yield from _below(child)


def carrier(s: State, p: BackwardPass) -> str:
    """The text of what brings a graph that was freed into one that was not; empty where nothing does.

    That is what was made before the graph was freed and is used by what was made afterwards. Where it has
    been forgotten since, what the same statement has made again has its name. An attribute outlives
    the variables of the call that sets it.
    """
    older = _crossing(s, p)
    if older is None:
        return ""
    made = ((t.name, s.get(t.grad_fn, Node)) for _, t in s.records(Tensor) if isinstance(t.name, str))
    names = [name for name, node in made if name and node is not None and node.site is s[older].site]
    held = next((name for name in names if "." in name and "(" not in name), None)
    return (held or next(iter(names), "")).partition("[")[0]


def _crossing(s: State, p: BackwardPass) -> Ref | None:
    """The node from before the graph was freed through which the pass reaches what was freed."""
    ran: list[tuple[Ref, Node]] = [(ref, s[ref]) for ref in p.ran]
    edges = [(node, at) for _, node in ran for at in node.inputs if isinstance(at, Ref)]
    freed = [at for _, at in edges if (older := s.get(at, Node)) is not None and older.freed]
    if not freed:
        return None
    since = s[freed[0]].freed_at
    for ref, node in ran:
        if ref.id > since:
            for at in node.inputs:
                if isinstance(at, Ref) and at.id < since and freed[0] in graph_behind(s, at):
                    return at
    return freed[0]


def _has_gone_round(s: State) -> bool:
    """Has a loop of a running function reached its second iteration, or is it called again?"""
    counts = (frame.iterations for frame in map(s.fixed, s.frames))
    return s.again or any(loop >= 0 and rounds > 0 for count in counts for loop, rounds in count.items())


def _innermost_loop(site: Site) -> Any:
    best = None
    todo: list[Any] = [site.module.tree]
    while todo:
        node = todo.pop()
        for child in node.children:
            if isinstance(child, (syntax.For, syntax.While)) and _contains(child, site.node):
                best = child
            todo.append(child)
    return best


def _contains(root: Any, wanted: Any) -> bool:
    todo = [root]
    while todo:
        node = todo.pop()
        if node is wanted:
            return True
        todo.extend(node.children)
    return False


def _same_function(a: Site, b: Site) -> bool:
    return a.module is b.module and _function_of(a) is _function_of(b)


def _function_of(site: Site) -> Any:
    best = None
    todo: list[Any] = [site.module.tree]
    while todo:
        node = todo.pop()
        for child in node.children:
            if isinstance(child, (syntax.FunctionDef, syntax.Lambda)) and _contains(child, site.node):
                best = child
            todo.append(child)
    return best
