"""Where the outcome of a run goes: findings to standard output or a file, the rest to standard error."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.cli.console import fail, note, wants_color

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.run import Outcome, Run

# Formats that people read: they get a closing line on standard error.
FOR_PEOPLE = ("full", "concise")


@dataclass(frozen=True)
class Output:
    """How one run is printed."""

    format: str
    file: Path | None
    statistics: bool
    quiet: bool

    def write(self, outcome: Outcome, run: Run, folder: Path, known: Mapping[str, bytes]) -> None:
        """Print findings, problems and closing lines.

        Args:
            outcome: what was found.
            run: the run that found it.
            folder: file names are shown relative to this folder.
            known: bytes of programs that are not on disk, by file name.
        """
        for problem in outcome.problems:
            note(f"gradlint: {problem.path}: {problem.message}")
        text = self._statistics(outcome) if self.statistics else self._report(outcome, run, folder, known)
        if self.file is None:
            sys.stdout.write(text)
        else:
            _write_file(self.file, text)
        if not self.quiet and self.format in FOR_PEOPLE:
            note(_summary(outcome.findings))

    def _report(self, outcome: Outcome, run: Run, folder: Path, known: Mapping[str, bytes]) -> str:
        if not outcome.findings and self.format in FOR_PEOPLE:
            return ""
        from gradcheck_tool.report import render
        from gradcheck_tool.report.context import ReportContext
        from gradcheck_tool.sources.lines import SourceLines

        color = self.file is None and wants_color(sys.stdout.isatty())
        context = ReportContext(folder, SourceLines(known), run.rules_in_force, color)
        return render(self.format, outcome.findings, context)

    def _statistics(self, outcome: Outcome) -> str:
        counts = Counter((finding.code, finding.name) for finding in outcome.findings)
        if self.format == "json":
            import json

            rows = [
                {"code": code, "name": name, "count": count} for (code, name), count in counts.most_common()
            ]
            return json.dumps(rows, indent=2) + "\n"
        width = len(str(max(counts.values(), default=0)))
        return "".join(f"{count:>{width}}  {code}  {name}\n" for (code, name), count in counts.most_common())


def _write_file(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"{path}: {error.strerror}")


def _summary(findings: Sequence[Finding]) -> str:
    if not findings:
        return "No autograd mistakes found."
    files = len({finding.location.filename for finding in findings})
    return f"Found {_count(len(findings), 'problem')} in {_count(files, 'file')}."


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
