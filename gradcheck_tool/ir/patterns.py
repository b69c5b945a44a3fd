"""Lowering of `match`: tests and branches; names are bound once a whole pattern has matched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.ir import syntax
from gradcheck_tool.ir.builder import FunctionBuilder, executes
from gradcheck_tool.ir.expressions import lower_condition
from gradcheck_tool.ir.nodes import Block, Compare, Const, Copy, MatchTest, Reg

if TYPE_CHECKING:
    from collections.abc import Sequence

# What a pattern captures: the name's node and the register it will be bound to.
Captures = dict[str, tuple[syntax.Name, Reg]]


@executes(syntax.Match)
def _match(b: FunctionBuilder, node: syntax.Match) -> None:
    subject, after = b.expr(node.subject), b.new_block()
    for case in node.cases:
        captures: Captures = {}
        fails = b.new_block()
        _pattern(b, case.pattern, subject, fails, captures)
        for name, value in captures.values():
            b.store(name, name.value, value)
        if case.guard is not None:
            body = b.new_block()
            lower_condition(b, case.guard, body, fails)
            b.place(body)
        b.suite(case.body)
        b.jump(case, after)
        b.place(fails)
    b.continue_in(node, after)


def _pattern(
    b: FunctionBuilder, node: syntax.MatchPattern, subject: Reg, fails: Block, captures: Captures
) -> None:
    """Go on where `subject` matches, else to `fails`."""
    if isinstance(node, syntax.MatchAs):
        if node.pattern is not None:
            _pattern(b, node.pattern, subject, fails, captures)
        _capture(node.name, subject, captures)
    elif isinstance(node, syntax.MatchValue):
        _go_on(b, node, _compare(b, node, "==", subject), fails)
    elif isinstance(node, syntax.MatchSingleton):
        _go_on(b, node, _compare(b, node, "is", subject), fails)
    elif isinstance(node, syntax.MatchOr):
        _alternatives(b, node, subject, fails, captures)
    elif isinstance(node, syntax.MatchList | syntax.MatchTuple):
        _sequence(b, node, subject, fails, captures)
    elif isinstance(node, syntax.MatchMapping):
        _mapping(b, node, subject, fails, captures)
    else:
        assert isinstance(node, syntax.MatchClass)
        _class(b, node, subject, fails, captures)


def _capture(name: syntax.Name | None, value: Reg, captures: Captures) -> None:
    if name is not None:
        captures[name.value] = (name, value)


def _go_on(b: FunctionBuilder, node: syntax.CSTNode, condition: Reg, fails: Block) -> None:
    matches = b.new_block()
    b.branch(node, condition, matches, fails)
    b.place(matches)


def _compare(
    b: FunctionBuilder, node: syntax.MatchValue | syntax.MatchSingleton, op: str, subject: Reg
) -> Reg:
    value, dst = b.expr(node.value), b.reg()
    b.emit(Compare(node, dst, op, subject, value))
    return dst


def _alternatives(
    b: FunctionBuilder, node: syntax.MatchOr, subject: Reg, fails: Block, captures: Captures
) -> None:
    """Every alternative binds the same names; their registers join those of the first."""
    matched, joined = b.new_block(), Captures()
    for index, element in enumerate(node.patterns):
        own: Captures = {}
        last = index == len(node.patterns) - 1
        other = fails if last else b.new_block()
        _pattern(b, element.pattern, subject, other, own)
        for name, (target, value) in own.items():
            if name not in joined:
                joined[name] = (target, b.reg())
            b.emit(Copy(target, joined[name][1], value))
        b.jump(node, matched)
        if not last:
            b.place(other)
    b.place(matched)
    captures.update(joined)


def _parts(
    b: FunctionBuilder,
    test: MatchTest,
    patterns: Sequence[syntax.MatchPattern | None],
    fails: Block,
    captures: Captures,
) -> None:
    """Emit `test`, then match each part of the subject against its pattern; None matches all."""
    test.captures = [b.reg() for _ in patterns]
    test.dst = b.reg()
    b.emit(test)
    _go_on(b, test.node, test.dst, fails)
    for pattern, part in zip(patterns, test.captures, strict=True):
        if pattern is not None:
            _pattern(b, pattern, part, fails, captures)


def _sequence(
    b: FunctionBuilder, node: syntax.MatchSequence, subject: Reg, fails: Block, captures: Captures
) -> None:
    patterns: list[syntax.MatchPattern | None] = []
    star = None
    for index, element in enumerate(node.patterns):
        if isinstance(element, syntax.MatchStar):
            star = index
            patterns.append(syntax.MatchAs(None, element.name) if element.name is not None else None)
        else:
            patterns.append(element.value)
    test = MatchTest(node, 0, subject, "sequence", None, [], [None] * len(patterns), star)
    _parts(b, test, patterns, fails, captures)


def _mapping(
    b: FunctionBuilder, node: syntax.MatchMapping, subject: Reg, fails: Block, captures: Captures
) -> None:
    patterns: list[syntax.MatchPattern | None] = []
    test = MatchTest(node, 0, subject, "mapping", None, [], [])
    for element in node.elements:
        key = b.expr(element.key)
        test.key_regs.append(key)
        test.keys.append(_literal(b, key))
        patterns.append(element.pattern)
    if node.rest is not None:
        test.star = len(patterns)
        patterns.append(syntax.MatchAs(None, node.rest))
    _parts(b, test, patterns, fails, captures)


def _literal(b: FunctionBuilder, key: Reg) -> Any:
    """The value in `key` where the last instruction loaded it as a constant, else None."""
    last = b.block.instrs[-1]
    return last.value if isinstance(last, Const) and last.dst == key else None


def _class(
    b: FunctionBuilder, node: syntax.MatchClass, subject: Reg, fails: Block, captures: Captures
) -> None:
    cls = b.expr(node.cls)
    patterns = [element.value for element in node.patterns] + [element.pattern for element in node.kwds]
    keys = [None] * len(node.patterns) + [b.mangled(element.key.value) for element in node.kwds]
    _parts(b, MatchTest(node, 0, subject, "class", cls, [], keys), patterns, fails, captures)
