"""`--add-noqa`: edits that suppress findings where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.findings import Edit, Position
from gradcheck_tool.rulebook.selection import UNUSED_SUPPRESSION
from gradcheck_tool.sources.source import split_lines
from gradcheck_tool.sources.suppression import read_suppressions, statement_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.sources.source import Source


def noqa_edits(source: Source, findings: Iterable[Finding]) -> list[Edit]:
    """One `# noqa: CODES` at the end of each statement with findings, joined to one that is there.

    An unused suppression gets none: it is to be removed, not to be suppressed.

    Args:
        source: the program.
        findings: findings in rows of the program; those in other files are passed over.
    """
    rows = statement_rows(source.text)
    codes: dict[int, set[str]] = {}
    for finding in findings:
        if finding.location.filename == source.filename and finding.code != UNUSED_SUPPRESSION:
            row = finding.location.start.row
            codes.setdefault(rows.get(row, (row, row))[1], set()).add(finding.code)
    lines = split_lines(source.text)
    present = {
        comment.row: comment
        for comment in read_suppressions(source.text).comments
        if comment.codes and not comment.own
    }
    edits = []
    for row, wanted in sorted(codes.items()):
        listed = ", ".join(sorted(wanted))
        if row in present:
            place, content = present[row].end, f", {listed}"
        else:
            place, content = len(lines[row - 1].rstrip()), f"  # noqa: {listed}"
        edits.append(Edit(content, Position(row, place + 1), Position(row, place + 1)))
    return edits
