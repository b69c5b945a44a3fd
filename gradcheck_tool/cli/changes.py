"""Writing what fixes and added suppressions make of files, and saying what was done."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.cli.console import count, note, tell_unwritten
from gradcheck_tool.findings import Applicability
from gradcheck_tool.report.context import shown_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.session.fixing import Change


def write_changes(changes: Iterable[Change]) -> list[Change]:
    """Write what can be written, and say of each other file why it stays as it is.

    Returns:
        The changes that were made.
    """
    from gradcheck_tool.writing import write_atomically

    made = []
    for change in changes:
        try:
            now = change.path.read_bytes()
            # The other name of a file that was just changed, say by a link, shows the change already.
            if now not in (change.before, change.after):
                note(f"gradlint: error: {change.path}: not changed: it has changed since it was checked")
                continue
            if now != change.after:
                write_atomically(change.path, change.after)
        except OSError as error:
            tell_unwritten(change.path, error)
        else:
            made.append(change)
    return made


def number_of(changes: Iterable[Change]) -> str:
    """`3 problems`: how many findings the changes take care of."""
    return count(sum(len(change.findings) for change in changes), "problem")


def listed(changes: Sequence[Change], folder: Path) -> str:
    """What was fixed: for each file the rules, and how often each."""
    lines = []
    for change in changes:
        lines.append(f"- {shown_name(str(change.path), folder)}:")
        counts = Counter((finding.code, finding.name) for finding in change.findings)
        width = max(len(str(times)) for times in counts.values())
        lines += [f"    {times:>{width}} x {code} ({name})" for (code, name), times in sorted(counts.items())]
    return "\n".join(lines)


def without_refused(findings: list[Finding], unwritten: set[Path], unsafe: bool) -> list[Finding]:
    """The findings that are left after their fixes were tried: one that was refused is offered no more."""
    return [
        replace(finding, fix=None)
        if finding.fix
        and (unsafe or finding.fix.applicability is Applicability.SAFE)
        and Path(finding.location.filename) not in unwritten
        else finding
        for finding in findings
    ]
