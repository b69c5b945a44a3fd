"""GL001: suppression comments that suppress nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.findings import Applicability, Edit, Finding, Fix, Location, Position, Severity
from gradcheck_tool.links import rule_link
from gradcheck_tool.rulebook.selection import UNUSED_SUPPRESSION
from gradcheck_tool.sources.source import split_lines
from gradcheck_tool.sources.suppression import means

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradcheck_tool.rulebook.ruleset import RuleSet
    from gradcheck_tool.sources.source import Source
    from gradcheck_tool.sources.suppression import Suppression, Suppressions

NAME = "unused-suppression"
DOCUMENTATION = """\
# GL001

**unused-suppression** · Suppressions · info · opt-in

## What it detects

A `# noqa: GL201` or `# gradlint: ignore[GL201]` comment, or a code in one, that suppresses nothing. It is
reported with `--report-unused-suppressions`, with `report-unused-suppressions = true` in the configuration,
or where GL001 is selected. A bare `# noqa`, codes of other linters, and rules that are not in force are left
alone.

## Why it is wrong

The mistake it was written for is gone, and the next one at the same place would be hidden.

## Fix safety

Safe: `--fix` removes the comment or the code, and nothing else.
"""


def unused_suppressions(
    source: Source, suppressions: Suppressions, findings: Iterable[Finding], ruleset: RuleSet
) -> list[Finding]:
    """Findings for comments, or codes in them, that suppress none of `findings`.

    A bare `# noqa` and codes of other linters are not gradlint's to judge, and neither is a rule that
    is not in force.
    """
    here = [finding for finding in findings if finding.location.filename == source.filename]
    lines = split_lines(source.text)
    reported = []
    for comment in suppressions.comments:
        covered = [finding for finding in here if comment.covers(finding)]
        used = {code for finding in covered for code in comment.matching(finding)}
        unused = [
            code for code in comment.codes or () if code not in used and _judged(code, comment, ruleset)
        ]
        if unused or (comment.codes is None and comment.own and not covered):
            edit = _removal(source, lines, comment, unused)
            reported.append(_finding(source.filename, comment, unused, edit))
    return reported


def _judged(code: str, comment: Suppression, ruleset: RuleSet) -> bool:
    """Whether it can be said that a code is unused."""
    meant = {rule.code for rule in ruleset.known if means(code, rule.code, rule.name)}
    if meant:
        return meant <= {rule.code for rule in ruleset.active}
    return comment.own and ruleset.is_whole


def _finding(filename: str, comment: Suppression, unused: Sequence[str], removal: Edit) -> Finding:
    start = Position(comment.row, comment.start + 1)
    end = Position(comment.row, comment.end + 1)
    what = ", ".join(unused) if unused else "finding"
    return Finding(
        code=UNUSED_SUPPRESSION,
        name=NAME,
        severity=Severity.INFO,
        message=f"unused suppression: no {what} here",
        location=Location(filename, start, end),
        url=rule_link(UNUSED_SUPPRESSION),
        fix=Fix(Applicability.SAFE, "remove the suppression", (removal,)),
    )


def _removal(source: Source, lines: Sequence[str], comment: Suppression, unused: Sequence[str]) -> Edit:
    """What leaves the rest of the comment a comment, and no blank line where there was nothing else."""
    line = lines[comment.row - 1]
    start, end = comment.start, comment.end
    rest = line[end:].lstrip()
    kept = [code for code in comment.codes or () if code not in unused]
    if kept:
        listed = ", ".join(kept)
        content = f"# gradlint: ignore[{listed}]" if comment.own else f"# noqa: {listed}"
    elif rest:
        content, end = "" if rest.startswith("#") else "# ", len(line) - len(rest)
    elif line[:start].strip() or source.notebook is not None or comment.row == len(lines):
        # A notebook's last line end may belong to the next cell.
        content, start, end = "", len(line[:start].rstrip()), len(line)
    else:
        return Edit("", Position(comment.row, 1), Position(comment.row + 1, 1))
    return Edit(content, Position(comment.row, start + 1), Position(comment.row, end + 1))
