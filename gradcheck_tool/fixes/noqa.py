"""`--add-noqa`: comments that suppress findings where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.findings import Edit, Position
from gradcheck_tool.rulebook.selection import UNUSED_SUPPRESSION
from gradcheck_tool.sources.source import split_lines
from gradcheck_tool.sources.suppression import read_suppressions, statement_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.sources.source import Source


@dataclass(frozen=True)
class CommentForm:
    """How a comment is written.

    Attributes:
        own: `# gradlint: ignore[GL201]`, which other linters leave alone, or else `# noqa: GL201`.
        reason: what stands behind the codes of a new comment, in one line.
    """

    own: bool = True
    reason: str = ""

    def new(self, codes: str) -> str:
        """A comment with these codes."""
        if self.own:
            return f"# gradlint: ignore[{codes}] {self.reason}".rstrip()
        # Behind a dash no word of the reason is taken for a code.
        return f"# noqa: {codes} - {self.reason}" if self.reason else f"# noqa: {codes}"


def noqa_edits(source: Source, findings: Iterable[Finding], form: CommentForm) -> list[Edit]:
    """One comment at the end of each statement with findings, joined to one of the same form that is there.

    An unused suppression gets none: it is to be removed, not to be suppressed.

    Args:
        source: the program.
        findings: findings in rows of the program; those in other files are passed over.
        form: how comments are written.
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
        if comment.codes and comment.own == form.own
    }
    edits = []
    for row, wanted in sorted(codes.items()):
        listed = ", ".join(sorted(wanted))
        if row in present:
            # Codes of gradlint's own form stand in brackets.
            place, content = present[row].end - form.own, f", {listed}"
        else:
            place, content = len(lines[row - 1].rstrip()), f"  {form.new(listed)}"
        edits.append(Edit(content, Position(row, place + 1), Position(row, place + 1)))
    return edits
