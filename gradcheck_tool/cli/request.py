"""What one `gradlint check` is asked to do with its findings, and doing it."""

from __future__ import annotations

import gc
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gradcheck_tool.cache.snapshot import Printed
from gradcheck_tool.cli.changes import listed, number_of, without_refused, write_changes
from gradcheck_tool.cli.console import count, fail, note, tell_left_out, tell_unwritten
from gradcheck_tool.cli.fail_on import FailOn
from gradcheck_tool.cli.output import fixable
from gradcheck_tool.cli.patch import print_patch
from gradcheck_tool.cli.progress import progress_bar
from gradcheck_tool.findings import Applicability
from gradcheck_tool.fixes.noqa import CommentForm
from gradcheck_tool.report.context import shown_name
from gradcheck_tool.sources.lines import SourceLines
from gradcheck_tool.trust.links import refuse_links
from gradcheck_tool.trust.visible import visible_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.cache.snapshot import Snapshot
    from gradcheck_tool.cli.output import Output
    from gradcheck_tool.findings import Finding
    from gradcheck_tool.session.fixing import Change
    from gradcheck_tool.session.session import Outcome, Session

STDIN = Path("-")
RUFF = (
    "ruff removes these comments where RUF100 or RUF102 is on, unless its configuration has "
    '`[tool.ruff.lint] external = ["GL"]`.'
)
# The status of a run that could not do its work.
FAILED = 2


@dataclass(frozen=True)
class Request:
    """The options of `gradlint check` that are about what happens with findings.

    Attributes:
        paths: files and folders as given; `-` is standard input.
        stdin_filename: the name of the program on standard input (absolute).
        fix, unsafe, diff: make fixes, the unsafe ones too, or only show them.
        fix_only: make fixes, and report nothing.
        show_fixes: list what was fixed.
        fail_on_fix: fixes make the status 1.
        fail_on: the findings that make the status 1.
        since: the commit since which lines have to have changed for findings on them to be reported.
        add_noqa, comments: suppress findings by comments, and how these are written.
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
    fix_only: bool = False
    show_fixes: bool = False
    fail_on_fix: bool = False
    fail_on: FailOn = field(default_factory=FailOn)
    since: str | None = None
    comments: CommentForm = field(default_factory=CommentForm)

    @property
    def only_prints(self) -> bool:
        """Whether no file is changed, and nothing printed that is another each time."""
        return not (self.fix or self.watch or self.verbose or self.with_run or self.since)

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
        fail("`-` (standard input) cannot be combined with other paths")
    if request.stdin_filename is not None and not request.from_stdin:
        fail("--stdin-filename is the name of a program on standard input: pass `-` as the path, or no path")
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
    if request.since is not None:
        if request.from_stdin:
            fail("--since is for files, not for standard input")
        asked += ["--since"] if asked and asked[0] not in ("--show-files", "--watch") else []
    if request.fix_only and request.diff:
        asked.append("--fix-only")
    if len(asked) > 1:
        fail(f"{asked[0]} and {asked[1]} cannot be combined")
    for name, wanted in (
        ("--show-fixes", request.show_fixes),
        ("--exit-non-zero-on-fix", request.fail_on_fix),
    ):
        if wanted and not (request.fix or request.diff):
            fail(f"{name} needs --fix")


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
    _refuse_unknown_codes(request.fail_on, session)
    if request.since is not None:
        outcome.findings = _on_changed_lines(outcome.findings, request.since, output.folder)
    if request.verbose:
        _tell_work(outcome, time.perf_counter() - started)
    if request.write_baseline is not None:
        return _write_baseline(request.write_baseline, outcome, output)
    if request.diff:
        return _show_diff(session.fix(outcome, request.unsafe), outcome, request, output)
    if request.add_noqa:
        return _suppress(session, outcome, request, output)
    fixed = 0
    if request.fix:
        outcome, fixed = _fix(session, outcome, request, output)
        if request.fix_only:
            output.problems(outcome)
            return max(_status_of_work(outcome), fixed)
    if request.with_run is not None:
        outcome.findings = _joined(outcome.findings, request.with_run, session, output.folder)
    printed, complete = output.write(outcome, session, SourceLines(), time.perf_counter() - started)
    status = max(_status(outcome, request), fixed, 0 if complete else FAILED)
    seen = session.seen() if request.only_prints and output.only_prints and status != FAILED else None
    if last is not None and seen is not None:
        out, err = printed
        last.save(session.cache, seen, Printed(out, left_out + err, status))
    return status


def _fix(session: Session, outcome: Outcome, request: Request, output: Output) -> tuple[Outcome, int]:
    """Make the fixes; return the outcome with them, and the exit status that they come to by themselves."""
    changes = session.fix(outcome, request.unsafe)
    made = write_changes(changes)
    outcome = session.recheck(outcome, made)
    if made:
        output.tell(f"Fixed {number_of(made)}" + (":" if request.show_fixes else "."))
        if request.show_fixes:
            output.tell(listed(made, output.folder))
    unwritten = {change.path for change in changes} - {change.path for change in made}
    outcome.findings = without_refused(outcome.findings, unwritten, request.unsafe)
    return outcome, max(_done(made, changes), 1 if made and request.fail_on_fix else 0)


def _suppress(session: Session, outcome: Outcome, request: Request, output: Output) -> int:
    changes = session.add_noqa(outcome, request.comments)
    made = write_changes(changes)
    output.tell(f"Suppressed {number_of(made)}.")
    if made and not request.comments.own:
        output.tell(RUFF)
    output.problems(outcome)
    return max(_status_of_work(outcome), _done(made, changes))


def _on_changed_lines(findings: list[Finding], commit: str, folder: Path) -> list[Finding]:
    from gradcheck_tool.sources.changed import ChangedLines, GitError

    try:
        changed = ChangedLines(commit, folder)
        return [finding for finding in findings if changed.touch(finding)]
    except GitError as error:
        fail(f"--since: {error}")


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
        status = _status_of_work(outcome) if request.fix_only else _status(outcome, request)
        return max(status, 1 if request.fail_on_fix and fixed != data else 0)
    started = time.perf_counter()
    outcome = session.check_text(data, name)
    if request.verbose:
        _tell_work(outcome, time.perf_counter() - started)
    seconds = time.perf_counter() - started
    _, complete = output.write(outcome, session, SourceLines({name: data}), seconds)
    return max(_status(outcome, request), 0 if complete else FAILED)


def _refuse_wrong_settings(session: Session) -> None:
    """What a configuration says wrongly of gradient checks is wrong for who only lints, too.

    Raises:
        ConfigError: a table of the run-time engine cannot be used.
    """
    for config in session.configs_in_force():
        if config.gradcheck:
            from gradcheck_tool.harness.settings import read_settings

            read_settings(config.gradcheck, str(config.origin("gradcheck")))


def _refuse_unknown_codes(fail_on: FailOn, session: Session) -> None:
    if not fail_on.selectors:
        return
    from gradcheck_tool.rulebook.selection import UnknownCodeError

    try:
        fail_on.refuse_unknown(session.rules_known())
    except UnknownCodeError as error:
        fail(f"--{error}")


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
    return _status_of_work(outcome)


def _show_diff(changes: list[Change], outcome: Outcome, request: Request, output: Output) -> int:
    for change in changes:
        print_patch(str(change.path), change.before, change.after, output.folder)
    sys.stdout.flush()
    output.problems(outcome)
    unsafe = 0 if request.unsafe else fixable(outcome.findings)[Applicability.UNSAFE]
    more = f" ({unsafe} more with --unsafe-fixes)" if unsafe else ""
    output.tell(f"Would fix {number_of(changes)}{more}.")
    if request.show_fixes and changes:
        output.tell(listed(changes, output.folder))
    found = 1 if changes and not request.exit_zero else 0
    return max(found, _status_of_work(outcome))


def _done(made: Sequence[Change], wanted: Sequence[Change]) -> int:
    """The status of a run that was to make these changes, and made those."""
    return 0 if len(made) == len(wanted) else FAILED


def _status(outcome: Outcome, request: Request) -> int:
    if any(problem.fatal for problem in outcome.problems):
        return FAILED
    found = any(request.fail_on.counts(finding) for finding in outcome.findings)
    return 1 if found and not request.exit_zero else 0


def _status_of_work(outcome: Outcome) -> int:
    """The status of a run that was not to judge: findings leave it at 0."""
    return FAILED if any(problem.fatal for problem in outcome.problems) else 0
