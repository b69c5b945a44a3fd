"""Where the outcome of a run goes: findings to standard output or files, the rest to standard error."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.cli.console import When, count, fail, look, note, print_out, tell_unwritten
from gradcheck_tool.cli.job_summary import add_job_summary
from gradcheck_tool.cli.timed import TIME, timed
from gradcheck_tool.findings import Applicability
from gradcheck_tool.report import FORMATS
from gradcheck_tool.report.context import ReportContext, shown_name
from gradcheck_tool.report.wrapping import wrapped
from gradcheck_tool.sources.discover import absolute
from gradcheck_tool.spelling import nearest
from gradcheck_tool.trust.links import refuse_links
from gradcheck_tool.trust.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.session.session import Outcome, Session
    from gradcheck_tool.sources.lines import SourceLines

# Formats that people read: they get a closing line on standard error.
FOR_PEOPLE = ("full", "concise")
STDOUT = Path("-")
# Formats in which --statistics can be printed.
COUNTED = (*FOR_PEOPLE, "json")


@dataclass(frozen=True)
class Target:
    """One report: its format, and the file it goes to (None: standard output)."""

    format: str
    file: Path | None


@dataclass(frozen=True)
class Output:
    """How one run is printed.

    Attributes:
        folder: file names are shown relative to this folder.
        targets: the reports.
        statistics: counts of each rule take the place of findings.
        quiet: only findings and problems.
        color: when reports are coloured.
    """

    folder: Path
    targets: tuple[Target, ...]
    statistics: bool
    quiet: bool
    color: When = When.AUTO

    @property
    def formats(self) -> list[str]:
        """The formats of the reports."""
        return [target.format for target in self.targets]

    @property
    def only_prints(self) -> bool:
        """Whether no report goes to a file, nor to the page of a job."""
        return all(target.file is None and target.format != "github" for target in self.targets)

    def write(
        self, outcome: Outcome, session: Session, lines: SourceLines, seconds: float
    ) -> tuple[tuple[str, str], bool]:
        """Print findings, problems and a closing line.

        Args:
            outcome: what was found.
            session: what found it.
            lines: source text.
            seconds: how long that took.

        Returns:
            What went to standard output and to standard error, and whether all reports were written.
        """
        said = self.problems(outcome)
        printed = ""
        complete = True
        for target in self.targets:
            text = (
                _statistics(target.format, outcome.findings)
                if self.statistics
                else self._report(target, outcome, session, lines)
            )
            if target.file is None:
                complete &= print_out(text)
                printed += text
            else:
                complete &= write_file(target.file, text)
        closing = _summary(outcome)
        context = ReportContext(self.folder, lines)
        told = timed(closing, seconds, shown=True)
        complete &= add_job_summary(self.formats, "gradlint check", told, outcome.findings, context)
        if self.quiet or all(target.format not in FOR_PEOPLE for target in self.targets):
            return (printed, said), complete
        if sys.stderr.isatty():
            note("\n".join(wrapped(timed(closing, seconds, shown=True), look(sys.stderr)["width"])))
        else:
            note(timed(closing, seconds, shown=False))
        return (printed, f"{said}{closing}\n"), complete

    def tell(self, message: str) -> None:
        """Say what was done, to who wants to hear it."""
        if not self.quiet:
            note(message)

    def refuse_mixtures(self) -> None:
        """Refuse a format that has no form for counts.

        Raises:
            typer.Exit: with status 2.
        """
        wrong = [target.format for target in self.targets if target.format not in COUNTED]
        if self.statistics and wrong:
            fail(f"--statistics is printed as {', '.join(COUNTED)}, not as {wrong[0]}")

    def problems(self, outcome: Outcome) -> str:
        """Say what could not be checked, one line a path; return these lines."""
        lines = [
            f"gradlint: {shown_name(problem.path, self.folder)}: {visible(problem.message)}"
            for problem in outcome.problems
        ]
        for line in lines:
            note(line)
        return "".join(f"{line}\n" for line in lines)

    def _report(self, target: Target, outcome: Outcome, session: Session, lines: SourceLines) -> str:
        if not outcome.findings and target.format in FOR_PEOPLE:
            return ""
        from gradcheck_tool.report import render

        shown = look(sys.stdout, self.color, to_file=target.file is not None)
        context = ReportContext(
            self.folder, lines, session.rules_in_force, **shown, problems=outcome.problems
        )
        return render(target.format, outcome.findings, context)


def targets(
    formats: Sequence[str], file: Path | None, known: tuple[str, ...] = FORMATS
) -> tuple[Target, ...]:
    """The reports that `--output-format FORMAT[=FILE]` and `--output-file FILE` mean.

    The file `-` is standard output.
    """
    found = []
    for text in formats or ("full",):
        name, _, own = text.partition("=")
        if name not in known:
            close = nearest(name, known)
            hint = f"did you mean {close!r}?" if close else f"there are {', '.join(known)}"
            fail(f"--output-format: unknown format {name!r}; {hint}")
        target = Path(own) if own else file
        found.append(Target(name, None if target == STDOUT else target))
    places = [target.file for target in found]
    if len(set(places)) < len(places):
        fail("--output-format: two reports would go to the same place; give one a file: FORMAT=FILE")
    return tuple(found)


def _statistics(form: str, findings: Sequence[Finding]) -> str:
    counts = Counter((finding.code, finding.name) for finding in findings).most_common()
    if form == "json":
        import json

        return (
            json.dumps([{"code": code, "name": name, "count": n} for (code, name), n in counts], indent=2)
            + "\n"
        )
    width = len(str(max((n for _, n in counts), default=0)))
    return "".join(f"{n:>{width}}  {code}  {name}\n" for (code, name), n in counts)


def write_file(path: Path, text: str) -> bool:
    """Write a report to a file, making its folder; say so where that fails."""
    from gradcheck_tool.writing import write_atomically

    try:
        refuse_links(absolute(path), Path.cwd())
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    except OSError as error:
        tell_unwritten(path, error)
        return False
    return True


def _summary(outcome: Outcome) -> str:
    known = f" {count(outcome.known, 'problem')} in the baseline." if outcome.known else ""
    return _found(outcome) + known + _cut_off(outcome)


def _cut_off(outcome: Outcome) -> str:
    """That the analysis came to its end before the code did: what is not found may be there."""
    if not outcome.unfinished:
        return ""
    files = count(len(outcome.unfinished), "file")
    return f" The analysis of {files} ended at the work limit; --verbose says in which functions."


def _found(outcome: Outcome) -> str:
    findings = outcome.findings
    missed = outcome.files - outcome.checked
    rest = f"; {count(missed, 'file')} could not be checked" if missed else ""
    if not findings:
        if not outcome.files:
            return "There are no Python files to check."
        if not outcome.checked:
            return "No file could be checked."
        new = "new " if outcome.known else ""
        return f"No {new}autograd mistakes found in {count(outcome.checked, 'file')}{TIME}{rest}."
    files = len({finding.location.filename for finding in findings})
    checked = count(max(outcome.checked, files), "file")
    return f"Found {count(len(findings), 'problem')} in {checked}{TIME}{_offer(findings)}{rest}."


def fixable(findings: Sequence[Finding]) -> Counter[Applicability]:
    """How many findings have a fix of each kind."""
    return Counter(finding.fix.applicability for finding in findings if finding.fix)


def _offer(findings: Sequence[Finding]) -> str:
    """What --fix could do about them."""
    kinds = fixable(findings)
    safe, unsafe = kinds[Applicability.SAFE], kinds[Applicability.UNSAFE]
    if safe and unsafe:
        return f" ({safe} fixable with --fix, {unsafe} more with --unsafe-fixes)"
    if safe:
        return f" ({safe} fixable with --fix)"
    return f" ({unsafe} fixable with --fix --unsafe-fixes)" if unsafe else ""
