"""What one `gradlint check` is asked to do with its findings, and doing it."""

from __future__ import annotations

import gc
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gradcheck_tool.cache.snapshot import Printed
from gradcheck_tool.cli.console import count, fail, note, tell_left_out, tell_unwritten
from gradcheck_tool.cli.output import fixable
from gradcheck_tool.cli.patch import print_patch
from gradcheck_tool.cli.progress import progress_bar
from gradcheck_tool.findings import Applicability
from gradcheck_tool.report.context import shown_name
from gradcheck_tool.sources.lines import SourceLines
from gradcheck_tool.trust.links import refuse_links
from gradcheck_tool.trust.visible import visible_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradcheck_tool.cache.snapshot import Snapshot
    from gradcheck_tool.cli.output import Output
    from gradcheck_tool.findings import Finding
    from gradcheck_tool.session.fixing import Change
    from gradcheck_tool.session.session import Outcome, Session

STDIN = Path("-")
# The status of a run that could not do its work.
FAILED = 2


@dataclass(frozen=True)
class Request:
    """The options of `gradlint check` that are about what happens with findings.

    Attributes:
        paths: files and folders as given; `-` is standard input.
        stdin_filename: the name of the program on standard input (absolute).
        fix, unsafe, diff: make fixes, the unsafe ones too, or only show them.
        add_noqa: suppress findings by comments.
        write_baseline: file to write all findings to.
        with_run: file that has what a run showed.
        show_files: list the files, and check none.
        watch: check again whenever a file changes.
        exit_zero: findings leave the status at 0.
        verbose: say how long it took, and where the analysis was cut off.
    """

    paths: tuple[Path, ...]
    stdin_filename: Path | None
    fix: bool
    unsafe: bool
    diff: bool
    add_noqa: bool
    write_baseline: Path | None
    with_run: Path | None
    show_files: bool
    watch: bool
    exit_zero: bool
    verbose: bool

    @property
    def only_prints(self) -> bool:
        """Whether no file is changed, and nothing printed that is another each time."""
        return not (self.fix or self.watch or self.verbose or self.with_run)

    @property
    def from_stdin(self) -> bool:
        """Whether the program to check is on standard input."""
        return STDIN in self.paths


def refuse_mixtures(request: Request) -> None:
    """Refuse options of which one would have no effect.

    Raises:
        typer.Exit: with status 2.
    """
    if request.from_stdin and len(request.paths) > 1:
        fail("`-` is standard input, which is checked by itself: give no other path")
    if request.stdin_filename is not None and not request.from_stdin:
        fail("--stdin-filename is the name of a program on standard input: give `-` as the path, or none")
    if request.from_stdin and request.with_run is not None:
        fail("--with-run is for files, not for standard input")
    tasks = {
        "--add-noqa": request.add_noqa,
        "--write-baseline": request.write_baseline is not None,
        "--show-files": request.show_files,
        "--watch": request.watch,
    }
    asked = [name for name, wanted in tasks.items() if wanted]
    if asked and request.from_stdin:
        fail(f"{asked[0]} is for files, not for standard input")
    if request.diff or (request.fix and not request.watch):
        asked.append("--diff" if request.diff else "--fix")
    if len(asked) > 1:
        fail(f"{asked[0]} and {asked[1]} do not go together")


def carry_out(session: Session, request: Request, output: Output, last: Snapshot | None = None) -> int:
    """Check and print, fix or suppress.

    Args:
        session: the session, which has checked nothing yet.
        request: what is wanted.
        output: where it goes.
        last: the last run of the command, in whose place this one steps.

    Returns:
        The exit status.

    Raises:
        ConfigError: a configuration, a selector, a rule pack or a baseline cannot be used.
    """
    if request.show_files:
        return _show_files(session, request.paths, output)
    if request.from_stdin:
        return _check_stdin(session, request, output)
    if not request.watch:
        gc.disable()  # the process ends with this run: its last garbage is not worth looking for
    started = time.perf_counter()
    with progress_bar() as progress:
        outcome = session.check(request.paths, progress)
    _refuse_wrong_settings(session)
    left_out = tell_left_out(session.configs_in_force(), output.folder)
    if request.verbose:
        _tell_work(outcome, time.perf_counter() - started)
    if request.write_baseline is not None:
        return _write_baseline(request.write_baseline, outcome, output)
    if request.diff:
        return _show_diff(session.fix(outcome, request.unsafe), outcome, request, output)
    if request.add_noqa:
        changes = session.add_noqa(outcome)
        made = write_changes(changes)
        output.tell(f"Suppressed {count(sum(change.fixed for change in made), 'problem')}.")
        output.problems(outcome)
        return max(_status(outcome, exit_zero=True), _done(made, changes))
    fixed = 0
    if request.fix:
        changes = session.fix(outcome, request.unsafe)
        made = write_changes(changes)
        outcome = session.recheck(outcome, made)
        if made:
            output.tell(f"Fixed {count(sum(change.fixed for change in made), 'problem')}.")
        fixed = _done(made, changes)
        unwritten = {change.path for change in changes} - {change.path for change in made}
        outcome.findings = _without_refused(outcome.findings, unwritten, request.unsafe)
    if request.with_run is not None:
        outcome.findings = _joined(outcome.findings, request.with_run, session, output.folder)
    printed, complete = output.write(outcome, session, SourceLines())
    status = max(_status(outcome, request.exit_zero), fixed, 0 if complete else FAILED)
    seen = session.seen() if request.only_prints and output.only_prints and status != FAILED else None
    if last is not None and seen is not None:
        out, err = printed
        last.save(session.root, seen, Printed(out, left_out + err, status))
    return status


def _without_refused(findings: list[Finding], unwritten: set[Path], unsafe: bool) -> list[Finding]:
    """The findings that are left after their fixes were tried: one that was refused is offered no more."""
    return [
        replace(finding, fix=None)
        if finding.fix
        and (unsafe or finding.fix.applicability is Applicability.SAFE)
        and Path(finding.location.filename) not in unwritten
        else finding
        for finding in findings
    ]


def _joined(findings: list[Finding], path: Path, session: Session, folder: Path) -> list[Finding]:
    """The findings with what a run says of them."""
    from gradcheck_tool.observed.run import NotARunError, read
    from gradcheck_tool.observed.verdicts import judged

    try:
        run = read(path, folder)
    except NotARunError:
        fail(f"{path}: not a file that `gradlint run --save FILE` wrote")
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    return judged(findings, run, {rule.code: rule.effect for rule in session.rules_known()})


def _tell_work(outcome: Outcome, seconds: float) -> None:
    for path, functions in outcome.unfinished.items():
        note(f"{visible_name(str(path))}: work limit reached in {', '.join(functions)}")
    note(f"{count(outcome.files, 'file')} in {seconds:.2f} s")


def _check_stdin(session: Session, request: Request, output: Output) -> int:
    """Findings go to standard output; with --fix or --diff the program does, and findings do not."""
    data = sys.stdin.buffer.read()
    name = "-" if request.stdin_filename is None else str(request.stdin_filename)
    is_excluded = session.leaves_out(name)
    _refuse_wrong_settings(session)
    tell_left_out(session.configs_in_force(), output.folder)
    if is_excluded:
        if request.fix and not request.diff:
            sys.stdout.buffer.write(data)
        return 0
    if request.fix or request.diff:
        fixed = session.fix_text(data, name, request.unsafe)
        if request.diff:
            print_patch(name, data, fixed, output.folder)
            return 1 if fixed != data and not request.exit_zero else 0
        sys.stdout.buffer.write(fixed)
        outcome = session.check_text(fixed, name)
        output.problems(outcome)
        return _status(outcome, request.exit_zero)
    started = time.perf_counter()
    outcome = session.check_text(data, name)
    if request.verbose:
        _tell_work(outcome, time.perf_counter() - started)
    _, complete = output.write(outcome, session, SourceLines({name: data}))
    return max(_status(outcome, request.exit_zero), 0 if complete else FAILED)


def _refuse_wrong_settings(session: Session) -> None:
    """What a configuration says wrongly of gradient checks is wrong for who only lints, too.

    Raises:
        ConfigError: a table of the run-time engine cannot be used.
    """
    for config in session.configs_in_force():
        if config.gradcheck:
            from gradcheck_tool.harness.settings import read_settings

            read_settings(config.gradcheck, str(config.origin("gradcheck")))


def _show_files(session: Session, paths: Sequence[Path], output: Output) -> int:
    found = session.discover(paths)
    for path in found.files:
        typer.echo(shown_name(str(path), output.folder))
    for path in found.missing:
        note(f"gradlint: {shown_name(str(path), output.folder)}: no such file or folder")
    for path in found.unreadable:
        note(f"gradlint: {shown_name(str(path), output.folder)}: folder cannot be read")
    return 2 if found.missing or found.unreadable else 0


def _write_baseline(path: Path, outcome: Outcome, output: Output) -> int:
    from gradcheck_tool.sources.baseline import write_baseline

    try:
        refuse_links(path, output.folder)
        write_baseline(path, outcome.findings, SourceLines())
    except OSError as error:
        tell_unwritten(path, error)
        output.problems(outcome)
        return FAILED
    output.problems(outcome)
    output.tell(f"Wrote {count(len(outcome.findings), 'finding')} to {path}.")
    return _status(outcome, exit_zero=True)


def _show_diff(changes: list[Change], outcome: Outcome, request: Request, output: Output) -> int:
    for change in changes:
        print_patch(str(change.path), change.before, change.after, output.folder)
    sys.stdout.flush()
    output.problems(outcome)
    unsafe = 0 if request.unsafe else fixable(outcome.findings)[Applicability.UNSAFE]
    more = f" ({unsafe} more with --unsafe-fixes)" if unsafe else ""
    output.tell(f"Would fix {count(sum(change.fixed for change in changes), 'problem')}{more}.")
    found = 1 if changes and not request.exit_zero else 0
    return max(found, _status(outcome, exit_zero=True))


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
                note(f"gradlint: error: {change.path}: not changed: it is not what was checked any more")
                continue
            if now != change.after:
                write_atomically(change.path, change.after)
        except OSError as error:
            tell_unwritten(change.path, error)
        else:
            made.append(change)
    return made


def _done(made: Sequence[Change], wanted: Sequence[Change]) -> int:
    """The status of a run that was to make these changes, and made those."""
    return 0 if len(made) == len(wanted) else FAILED


def _status(outcome: Outcome, exit_zero: bool) -> int:
    if any(problem.fatal for problem in outcome.problems):
        return FAILED
    return 1 if outcome.findings and not exit_zero else 0
