"""What is reported of a program, and of it rewritten."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

import libcst as cst

from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.rulebook.documentation import read_doc
from gradcheck_tool.rulebook.ruleset import RuleSet
from tests.rewriting import calls, layout, loops, names, statements, wrapping
from tests.rewriting.base import MOVING, REWRITINGS

assert all(module for module in (calls, layout, loops, names, statements, wrapping)), (
    "they list their rewritings"
)

RULES = RuleSet.load()
_ROW = re.compile(r"#.*@(\d+)$")
Verdict = frozenset[tuple[str, int | None]]


class Changed(NamedTuple):
    """A verdict that a rewriting has changed: what is reported of the program alone, and of the other alone."""

    rewriting: str
    lost: list[tuple[str, int | None]]
    new: list[tuple[str, int | None]]
    source: str


def numbered(module: cst.Module) -> cst.Module:
    """The program with a number in a comment at the end of each statement, which rewritings keep."""

    class Number(cst.CSTTransformer):
        count = 0

        def _mark(self, whitespace: Any) -> Any:
            Number.count += 1
            old = whitespace.comment.value if whitespace.comment else "#"
            comment = cst.Comment(f"{old} @{Number.count}")
            return whitespace.with_changes(comment=comment, whitespace=cst.SimpleWhitespace("  "))

        def leave_SimpleStatementLine(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
            return updated_node.with_changes(trailing_whitespace=self._mark(updated_node.trailing_whitespace))

        def leave_IndentedBlock(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
            return updated_node.with_changes(header=self._mark(updated_node.header))

    Number.count = 0
    return module.visit(Number())


def number_at(lines: list[str], row: int) -> int | None:
    """The number of the statement that a row is in: the first at its end or after it."""
    for line in lines[row - 1 :]:
        match = _ROW.search(line)
        if match:
            return int(match.group(1))
    return None


@lru_cache(maxsize=8)
def verdict(source: str) -> Verdict:
    """The codes of the findings, and the numbers of the statements where they are."""
    lines = source.splitlines()
    found = check_source(source, "program.py", RULES)
    return frozenset((one.code, number_at(lines, one.location.start.row)) for one in found)


def codes(found: Verdict) -> Verdict:
    return frozenset((code, None) for code, _ in found)


def rewritten(module: cst.Module, name: str) -> str | None:
    """The program rewritten; None where there is nothing to rewrite."""
    source = REWRITINGS[name](module).code
    return None if source == module.code else source


def changed(source: str, name: str) -> Changed | bool | None:
    """How a rewriting changes what is reported of a program: None for not at all, False where it does not apply."""
    module = numbered(cst.parse_module(source))
    other = rewritten(module, name)
    if other is None:
        return False
    old, new = verdict(module.code), verdict(other)
    if name in MOVING:
        old, new = codes(old), codes(new)
    if old == new:
        return None
    return Changed(name, sorted(old - new), sorted(new - old), other)


def examples() -> list[tuple[str, str]]:
    """The programs in the documentation of the rules, each with a name."""
    found = []
    for rule in RULES.known:
        doc = read_doc(type(rule))
        for kind, programs in (("wrong", doc.wrong), ("right", doc.right)):
            found += [(f"{rule.code}-{kind}-{i}", one.source) for i, one in enumerate(programs)]
    return found
