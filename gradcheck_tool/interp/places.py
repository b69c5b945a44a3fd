"""What the text of a place says: the loops around it, whether a result is read, how an object is called."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.dataflow import successors
from gradcheck_tool.ir.files import is_called_like_tests
from gradcheck_tool.ir.liveness import live_in
from gradcheck_tool.ir.operands import reads
from gradcheck_tool.ir.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.domain.events import Event, Site
    from gradcheck_tool.domain.state import State

# A count of rounds that is the size of data in one dimension.
_SIZE = re.compile(r"range\([^()]*\.(?:size\(|shape\[)")

# A test that nothing but what it names decides: `not self.begun`, `scale < 0`, `self.best is None`.
_ALONE = re.compile(
    r"(?:not\s+)?[\w.\[\]()]+(?:\s*(?:[<>]=?|[=!]=|is(?:\s+not)?)\s*(?:-?[\d.]+|None|True|False))?"
)


class Places:
    """Facts about the places of the modules of one run, each worked out when it is first asked for."""

    def __init__(self) -> None:
        self._loops: dict[int, dict[int, tuple[ir.Function, ir.Loop | None]]] = {}
        self._tabled: dict[int, int] = {}
        self._unread: dict[int, frozenset[ir.Reg]] = {}
        self._handlers: dict[int, dict[int, int]] = {}

    def marked(self, event: Event) -> Event:
        """The event with `in_loop` set where its site is inside a loop of its function."""
        return replace(event, in_loop=True) if self.loop_of(event.site) is not None else event

    def loop_of(self, site: Site) -> ir.Loop | None:
        """The innermost loop, in its function, around a place; None outside loops."""
        found = self._table(site).get(id(site.node))
        return found[1] if found is not None else None

    def function_of(self, site: Site) -> ir.Function | None:
        """The function, or the module's body, that a place is in."""
        found = self._table(site).get(id(site.node))
        return found[0] if found is not None else None

    def is_nested(self, site: Site) -> bool:
        """Is there a loop, in its function, around the innermost one around a place?"""
        return len(self.loops_around(site)) > 1

    def counts_rounds(self, site: Site) -> bool:
        """Does a loop, in its function, around a place go on for a number of rounds, not for so much data?"""
        iterated = [getattr(loop.node, "iter", None) for loop in self.loops_around(site)]
        return any(node is None or "range(" in site.module.spans.text(node) for node in iterated)

    def walks_a_dimension(self, site: Site) -> bool:
        """Does the innermost loop around a place count the rows of a tensor (`for t in range(x.size(1))`)?"""
        iterated = getattr(getattr(self.loop_of(site), "node", None), "iter", None)
        return iterated is not None and _SIZE.search(site.module.spans.text(iterated)) is not None

    def begins(self, site: Site, name: str) -> bool:
        """Does a place change what a test around it asks for, so that it gets its first value there, once?

        `if self.scale < 0: self.scale[0] = x.mean()`, or after `scale = self.scale.item()`.
        """
        function = self.function_of(site)
        if function is None:
            return False
        way = path_to(function.node, site.node)
        asked = re.compile(rf"(?<![\w.]){re.escape(name)}\b")
        tests = [text_of(site, node.test) for node in branches(way or ()) if type(node).__name__ == "If"]
        return any(
            asked.search(text) is not None
            for test in tests
            if _ALONE.fullmatch(test) is not None
            for text in (test, *(text_of(site, value) for value in _values(function, test)))
        )

    def loops_around(self, site: Site) -> list[ir.Loop]:
        """The loops, in its function, around a place, from the innermost to the outermost."""
        function, inner = self._table(site).get(id(site.node), (None, None))
        if function is None or inner is None:
            return []
        found = (loop for loop in function.loops.values() if inner.blocks <= loop.blocks)
        return sorted(found, key=lambda loop: len(loop.blocks))

    def _table(self, site: Site) -> dict[int, tuple[ir.Function, ir.Loop | None]]:
        """The places of a module, of which more functions may be lowered while it is executed."""
        module = site.module
        known = self._loops.setdefault(id(module), {})
        done = self._tabled.get(id(module), -1)
        if done < len(module.functions):
            for function in ((module.body,) if done < 0 else ()) + tuple(module.functions[max(done, 0) :]):
                for node, place in function.worked_out(_loops).items():
                    known.setdefault(node, place)
            self._tabled[id(module)] = len(module.functions)
        return known

    def is_followed(self, first: Site, second: Site, function: ir.Function | None = None) -> bool:
        """Does the loop around a place run it in all rounds, and the second further down in it?

        `function` is the one around the place, where calls of it are rounds as well. Under a test that is
        around both, the rounds are those in which it holds. A test of whether there is what the method at the
        place is called on is none: `if scheduler: scheduler.step()`.
        """
        loop = self.loop_of(first)
        around = loop or function
        if around is None:
            return False
        before, after = path_to(around.node, first.node), path_to(around.node, second.node)
        if before is None or after is None:
            return False
        there = receiver_text(first)
        common = [one for one, other in zip(before, after, strict=False) if one is other]
        apart = branches(before[max(len(common) - 2, 0) :])
        return all(_asks_for(first, there, node) for node in apart) and precedes(before, after)

    def handler_of(self, function: ir.Function, node: Any) -> int | None:
        """The `except` clauses that an exception of a call in a function goes to."""
        table = self._handlers.get(id(function))
        if table is None:
            table = {}
            for block in function.blocks.values():
                if block.handler is None or not _is_except(function, block.handler):
                    continue
                for instr in block.instrs:
                    if isinstance(instr, ir.Call):
                        table.setdefault(id(instr.node), block.handler)
            self._handlers[id(function)] = table
        return table.get(id(node))

    def repeats(self, s: State, site: Site) -> bool:
        """Is the place in a loop, or a function on the way to it called in one?"""
        calls = [s[frame].site for frame in s.frames]
        return any(at is not None and self.loop_of(at) is not None for at in (site, *calls))

    def is_read(self, function: ir.Function, reg: ir.Reg) -> bool:
        """Does the function read the register? The result of an expression statement is never read."""
        unread = self._unread.get(id(function))
        if unread is None:
            used = {r for block in function.blocks.values() for r in _reads(block)}
            results = {
                i.dst
                for b in function.blocks.values()
                for i in b.instrs
                if isinstance(i, (ir.Call, ir.GetAttr, ir.Compare))
            }
            unread = frozenset(results - used)
            self._unread[id(function)] = unread
        return reg not in unread


def _loops(function: ir.Function) -> dict[int, tuple[ir.Function, ir.Loop | None]]:
    """The innermost loop around each node of a function."""
    found: dict[int, tuple[ir.Function, ir.Loop | None]] = {}
    for block in function.blocks.values():
        loop = _innermost(function, block.id)
        for instr in block.instrs:
            found.setdefault(id(instr.node), (function, loop))
    return found


def _is_except(function: ir.Function, block: int) -> bool:
    """Is the handler an `except` clause (not the exceptional exit of `with` or `finally`)?"""
    return any(isinstance(i, ir.MatchException) for i in function.blocks[block].instrs)


def running_function(s: State) -> ir.Function:
    """The function whose code runs now."""
    return s[s.frames[-1]].function  # type: ignore[no-any-return]


def is_loaded(function: ir.Function, store: ir.StoreName) -> bool:
    """May the value that this store binds be read by its name?"""
    if store.name in function.captured:
        return True
    block = next(block for block in function.blocks.values() if store in block.instrs)
    for instr in block.instrs[block.instrs.index(store) + 1 :]:
        if isinstance(instr, ir.LoadName) and instr.name == store.name:
            return True
        if isinstance(instr, ir.StoreName) and instr.name == store.name:
            return False
    return any(store.name in live_in(function).get(at, {store.name}) for at in successors(block))


def _innermost(function: ir.Function, block: int) -> ir.Loop | None:
    around = [loop for loop in function.loops.values() if block in loop.blocks]
    return min(around, key=lambda loop: len(loop.blocks), default=None)


def _reads(block: ir.Block) -> Iterator[ir.Reg]:
    for instr in block.instrs:
        yield from (reg for reg in reads(instr) if reg is not None)
    if block.terminator is not None:
        yield from (reg for reg in reads(block.terminator) if reg is not None)


def is_of_tests(module: ir.ModuleIR) -> bool:
    """Is it a file of tests, by its name and what it defines?"""
    return is_called_like_tests(module.filename) and re.search(r"def test(?:_|\()", module.source) is not None


def text_of(site: Site, node: Any) -> str:
    """The source text of a node in one line."""
    return one_line(site.module.spans.text(node))


def receiver_text(site: Site, default: str = "") -> str:
    """`a.b` in the call `a.b.method(...)`, the attribute `a.b.name` or a store into it; not `super()`."""
    if site.is_indirect:
        return default
    node = site.node
    for field in ("func", "target"):
        node = getattr(node, field, node)
    if type(node).__name__ == "Assign":
        node = node.targets[0].target
    text = text_of(site, node.value) if type(node).__name__ == "Attribute" else ""
    return default if text == "super()" or not text else text


def chain_owner(site: Site) -> tuple[str, bool]:
    """What a chain of calls of methods starts from, where that has a name: `x` in `x.detach().cpu()`.

    Returns:
        its text, empty where it has no name or is changed in place on the way, and whether other calls come
        before the last one.
    """
    node, methods = site.node, []
    while type(node).__name__ == "Call" and type(node.func).__name__ == "Attribute":
        methods.append(node.func.attr.value)
        node = node.func.value
    is_named = type(node).__name__ in ("Name", "Attribute", "Subscript")
    is_changed = any(name.endswith("_") for name in methods)
    return text_of(site, node) if is_named and not is_changed else "", len(methods) > 1


def owner_text(site: Site, default: str = "") -> str:
    """What the first argument of a call belongs to: `model` in `f(model.parameters(), ...)`."""
    args = getattr(site.node, "args", ())
    if not args:
        return default
    value = args[0].value
    if type(value).__name__ == "Call" and type(value.func).__name__ == "Attribute":
        value = value.func.value
    return text_of(site, value)


def path_to(root: Any, node: Any) -> list[Any] | None:
    """The nodes from `root` down to `node`, both included; None if it is not below."""
    if root is node:
        return [root]
    for child in root.children:
        below = path_to(child, node)
        if below is not None:
            return [root, *below]
    return None


def _asks_for(site: Site, name: str, node: Any) -> bool:
    """Is it a test of whether there is something of a name?"""
    return type(node).__name__ == "If" and text_of(site, node.test) in (name, f"{name} is not None")


def branches(way: Sequence[Any]) -> list[Any]:
    """The conditions and handlers on a way down a tree: what is below them does not run every time.

    The `else` of a condition is part of that.
    """
    return [
        node
        for above, node in pairwise(way)
        if type(node).__name__ in ("If", "Else", "Try", "IfExp", "ExceptHandler")
        and not (type(above).__name__ == "If" and node is above.orelse and type(node).__name__ == "Else")
        and not _runs_always(node)
    ]


def _runs_always(node: Any) -> bool:
    """Does what is below a statement run every time all the same: `if True`, `try` without handlers?"""
    if type(node).__name__ == "If":
        return type(node.test).__name__ == "Name" and node.test.value == "True" and node.orelse is None
    return type(node).__name__ == "Try" and not node.handlers


def precedes(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Of two ways down the same tree, does the first lead to the earlier place?"""
    for here, one, other in zip(first, first[1:], second[1:], strict=False):
        if one is not other:
            children = [id(child) for child in here.children]
            return children.index(id(one)) < children.index(id(other))
    return False


def counters(way: Sequence[Any], loop: Any) -> list[Any]:
    """The modulo tests that a way is under, in one branch or the other."""
    return [
        test
        for test in branches(way)
        if type(test).__name__ == "If"
        and any(node is test.body or node is test.orelse for node in way)
        and _is_modulo(test.test, loop)
    ]


def condition_of(site: Site, test: Any, way: Sequence[Any]) -> str:
    """When a way under an `if` is gone: the text of its test, or its contrary."""
    text = text_of(site, test.test)
    if any(node is test.body for node in way):
        return text
    denied = _denied(test.test)
    return f"not ({text})" if denied is None else text_of(site, denied)


def _denied(test: Any) -> Any | None:
    """What a test denies: `a` in `not a`."""
    is_not = type(test).__name__ == "UnaryOperation" and type(test.operator).__name__ == "Not"
    return test.expression if is_not else None


def _is_modulo(test: Any, loop: Any, seen: frozenset[str] = frozenset()) -> bool:
    """Is it a modulo test, or a variable that the loop sets to nothing but one?"""
    denied = _denied(test)
    if denied is not None:
        return _is_modulo(denied, loop, seen)
    if type(test).__name__ != "Name":
        return _has_modulo(test)
    values = list(_assigned(loop, test.value)) if test.value not in seen else []
    return bool(values) and all(_is_modulo(value, loop, seen | {test.value}) for value in values)


def _assigned(node: Any, name: str) -> Iterator[Any]:
    """What the statements below a node assign to a variable."""
    return (value for each, value in _assignments(node) if each == name)


def _assignments(node: Any) -> Iterator[tuple[str, Any]]:
    """The variables that the statements below a node assign, and what each gets."""
    todo = [node]
    while todo:
        node = todo.pop()
        kind = type(node).__name__
        if kind == "Assign":
            for each in node.targets:
                yield from _bound(each.target, node.value)
        elif kind in ("AnnAssign", "NamedExpr") and node.value is not None:
            yield from _bound(node.target, node.value)
        todo += reversed(node.children)


def _values(function: ir.Function, text: str) -> Iterator[Any]:
    """What a function assigns to the variables in a text."""
    assigned = function.worked_out(_all_assigned)
    for name in re.findall(r"(?<![\w.])[A-Za-z_]\w*", text):
        yield from assigned.get(name, ())


def _all_assigned(function: ir.Function) -> dict[str, list[Any]]:
    """What a function assigns to each of its variables."""
    found: dict[str, list[Any]] = {}
    for name, value in _assignments(function.node):
        found.setdefault(name, []).append(value)
    return found


def _bound(target: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """The variables in a target with what each gets of a value: the target where that is not in the text."""
    if type(target).__name__ == "Name":
        yield target.value, value
    elif type(target).__name__ in ("Tuple", "List"):
        values = value.elements if type(value).__name__ in ("Tuple", "List") else ()
        is_plain = len(values) == len(target.elements) and not any(
            type(each).__name__.startswith("Starred") for each in (*values, *target.elements)
        )
        for number, each in enumerate(target.elements):
            yield from _bound(each.value, values[number].value if is_plain else target)


def _has_modulo(node: Any) -> bool:
    return type(node).__name__ == "Modulo" or any(_has_modulo(child) for child in node.children)
