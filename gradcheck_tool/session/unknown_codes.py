"""Suppression comments that name a rule that there is not: they suppress nothing, and look as if they did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.findings import Position
from gradcheck_tool.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.rulebook.ruleset import RuleSet
    from gradcheck_tool.sources.source import Source
    from gradcheck_tool.sources.suppression import Suppressions

# Whether a file may name a rule of gradlint's at all: most comments are for other linters.
_NAMING = re.compile(rb"gradlint:\s*(?:ignore|skip-file)\s*\[|noqa[^\n]*G[LC]\d", re.IGNORECASE)
_LETTERS = re.compile(r"[A-Z]+(?=[0-9])")


def may_name_rules(data: bytes) -> bool:
    """Whether a file's bytes have a suppression comment that names rules of gradlint's."""
    return _NAMING.search(data) is not None


def unknown_codes(source: Source, suppressions: Suppressions, ruleset: RuleSet) -> Iterator[str]:
    """A sentence for each code or name in a comment that no rule has.

    In `# noqa`, which other linters read, only codes that begin as those of a rule do are judged.
    """
    from gradcheck_tool.codes import CODES
    from gradcheck_tool.rulebook.selection import UNUSED_SUPPRESSION
    from gradcheck_tool.session.unused_suppressions import NAME

    codes = {*(rule.code for rule in ruleset.known), *CODES, UNUSED_SUPPRESSION}
    names = {*(rule.name for rule in ruleset.known), *(code.name for code in CODES.values()), NAME}
    letters = {match.group() for code in codes if (match := _LETTERS.match(code))}
    for row, code, own in suppressions.named:
        begins = _LETTERS.match(code)
        if not own and (begins is None or begins.group() not in letters):
            continue
        if code in names or (begins and any(known.startswith(code) for known in codes)):
            continue
        close = nearest(code, codes | names)
        hint = f"; did you mean {close}?" if close else ""
        yield f"{_place(source, row)}: a comment suppresses {code}, but there is no such rule{hint}"


def _place(source: Source, row: int) -> str:
    if source.notebook is None:
        return f"line {row}"
    cell = source.notebook.cell_at(row)
    return f"cell {cell.number}, line {source.notebook.position(Position(row, 1)).row}"
