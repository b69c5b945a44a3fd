"""How two backward calls came to meet in one graph: the cause decides the advice."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.values import Const
from gradcheck_tool.interp.places import branches, path_to
from gradcheck_tool.ir import syntax

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """Does the call that has freed the graph wait for a test that is meant to end the loop?

    It is a test of the loop's own variable against something unknown (`retain_graph=i < last`,
    `if i == last: ... else: ...`): the path on which the loop goes on after it is one that data exclude.
    """
    freed = event.story[1].site
    found = m.places.loop_of(freed)
    loop = found.node if found is not None else None
    way = path_to(loop, freed.node) if isinstance(loop, syntax.For) else None
    if way is None or path_to(loop, event.site.node) is None:
        return False
    tests = [node.test for node in branches(way) if isinstance(node, (syntax.If, syntax.IfExp))]
    tests += [node.test for node in _below(freed.node) if isinstance(node, syntax.IfExp)]
    counted = set(_names(loop.target))  # type: ignore[union-attr]
    return any(counted & set(_names(test)) and not _is_known(s, test) for test in tests)


def _is_known(s: State, test: Any) -> bool:
    """Are all variables of a test numbers that are known?"""
    frame: Frame = s[s.frames[-1]]
    values = [frame.locals.get(name, s.variable(frame.env.globals, name)) for name in _names(test)]
    return all(isinstance(value, Const) for value in values)


def _names(node: Any) -> Iterator[str]:
    return (each.value for each in _below(node) if isinstance(each, syntax.Name))


def _below(node: Any) -> Iterator[Any]:
    yield node
    for child in node.children:
        yield from _below(child)


def carrier(s: State, p: BackwardPass) -> str:
    """The text of what brings a graph that was freed into one that was not; empty where nothing does."""
    for ref in p.ran:
        node: Node = s[ref]
        if node.freed:
            continue
        for at in node.inputs:
            older = s.get(at, Node)
            if older is not None and older.freed:
                names = [str(t.name) for _, t in s.records(Tensor) if t.grad_fn == at and t.name]
                return names[0] if names else ""
    return ""


def _has_gone_round(s: State) -> bool:
    """Has a loop of a running function reached its second iteration, or is it called again?"""
    return s.again or any(rounds > 0 for ref in s.frames for rounds in s[ref].iterations.values())


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
