"""`gradlint run`."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Annotated

import typer

from gradcheck_tool.cli import options
from gradcheck_tool.cli.completion import formats
from gradcheck_tool.cli.console import When, fail, note, tell_left_out, tell_unwritten
from gradcheck_tool.cli.output import FOR_PEOPLE, Target, targets, write_file
from gradcheck_tool.config import ConfigError, Overrides
from gradcheck_tool.report import FORMATS
from gradcheck_tool.sources.discover import absolute

if TYPE_CHECKING:
    from gradcheck_tool.harness.record.command import Recording
    from gradcheck_tool.report.not_watched import NotWatched
    from gradcheck_tool.sanitizer.command import Run
    from gradcheck_tool.session.session import Outcome, Session

CONTEXT_SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False}
_USAGE = "give it what Python runs: `gradlint run -m pytest tests/` or `gradlint run train.py`"


def run(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="-m MODULE ... | SCRIPT ...", help="What to run, as you would pass it to `python`."
        ),
    ],
    output_format: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT[=FILE]",
            autocompletion=formats,
            help=f"{', '.join(FORMATS)}; may be given several times. [default: full]",
        ),
    ] = None,
    output_file: options.OutputFile = None,
    steps: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Stop watching after N optimizer steps."),
    ] = None,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", help="Report errors that PyTorch raises, and continue where possible."),
    ] = False,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save what the run showed, for `gradlint check --with-run`."),
    ] = None,
    record: Annotated[
        bool, typer.Option(help="Save calls of autograd.Functions as inputs for `gradlint gradcheck`.")
    ] = True,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Do not report the findings recorded in this file.")
    ] = None,
    error_exitcode: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=255, help="Exit with N if there are findings and the command succeeded."
        ),
    ] = 0,
    select: options.Select = None,
    ignore: options.Ignore = None,
    config: options.Config = None,
    isolated: options.Isolated = False,
    trust: options.Trust = False,
    color: options.Color = When.AUTO,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print findings only.")] = False,
) -> None:
    """Run a script or tests, and report their autograd mistakes.

    This runs your code: do not use it on code that you do not trust.

    The command behaves as it would without gradlint, and its exit status is kept. Findings are printed to
    standard error when it ends.
    """
    from gradcheck_tool.session.session import Options, Session

    wanted = targets(output_format or (), output_file)
    command = _command(arguments)
    overrides = Overrides(
        isolated=isolated,
        path=options.config_file(config),
        settings=options.settings(config),
        select=options.codes("--select", select),
        ignore=options.codes("--ignore", ignore),
        baseline=absolute(baseline) if baseline else None,
        trust=trust,
    )
    from gradcheck_tool.harness.record.command import recorded, recorder
    from gradcheck_tool.sanitizer.command import run_watched
    from gradcheck_tool.sanitizer.findings import completed

    folder = Path.cwd()
    try:
        session = Session(folder, Options(overrides))
        session.rules_known()
        cache, started = session.cache, time.time_ns()
        watched = run_watched(
            command,
            *([recorder(cache)] if record else ()),
            steps=steps,
            keep_going=keep_going,
            lines=save is not None,
        )
        outcome = completed(watched.told, session)
    except ConfigError as error:
        fail(str(error))
    tell_left_out(session.configs_in_force(), folder)
    if watched.lost:
        note(f"gradlint: error: some of what was seen is lost: {gettempdir()} is not writable")
    complete = not watched.lost
    complete &= save is None or _save(save, folder, session, watched)
    complete &= _print(outcome, session, wanted, folder, quiet, watched.left_alone, color)
    if not quiet:
        _tell_not_watched(watched.left_alone, folder)
    if record:
        _tell_recorded(recorded(cache, started, watched.status), quiet)
    raise typer.Exit(watched.status or (2 if not complete else error_exitcode if outcome.findings else 0))


def _command(arguments: list[str]) -> list[str]:
    """What follows `python`; the name of an installed command stands for its script."""
    if arguments[0] == "-m":
        if len(arguments) == 1:
            fail(_USAGE)
        return arguments
    if Path(arguments[0]).exists():
        return arguments
    if arguments[0].startswith("-"):
        fail(f"No such option: {arguments[0]}. See `gradlint run --help`.")
    script = shutil.which(arguments[0])
    if script is None:
        fail(f"{arguments[0]}: no such file; {_USAGE}")
    return [script, *arguments[1:]]


def _tell_not_watched(left_alone: list[NotWatched], folder: Path) -> None:
    """Say what was left alone."""
    from gradcheck_tool.report.context import relative_name
    from gradcheck_tool.report.not_watched import in_a_line

    if left_alone:
        note(f"gradlint: {in_a_line(left_alone, lambda name: relative_name(name, folder))}")


def _tell_recorded(recording: Recording, quiet: bool) -> None:
    """Say what `gradlint gradcheck` can use now; most programs have no Functions of their own."""
    from gradcheck_tool.cache.store import mark
    from gradcheck_tool.cli.console import count

    if not recording.calls:
        return
    mark(recording.cache)
    if not quiet:
        functions = count(len(recording.calls), "autograd.Function")
        note(f"gradlint: recorded {count(sum(recording.calls.values()), 'call')} of {functions}")


def _save(path: Path, folder: Path, session: Session, watched: Run) -> bool:
    from gradcheck_tool.observed.run import write
    from gradcheck_tool.report.json import to_dict
    from gradcheck_tool.sanitizer.findings import findings_of
    from gradcheck_tool.trust.links import refuse_links

    try:
        findings = [to_dict(finding) for finding in findings_of(watched.told, session)]
        refuse_links(absolute(path), folder)
        write(path, folder, findings, watched.observed)
    except OSError as error:
        tell_unwritten(path, error)
        return False
    return True


def _print(
    outcome: Outcome,
    session: Session,
    wanted: tuple[Target, ...],
    folder: Path,
    quiet: bool,
    left_alone: list[NotWatched],
    color: When,
) -> bool:
    """Standard output belongs to the command: what goes to no file goes to standard error.

    Returns:
        Whether all reports were written.
    """
    from gradcheck_tool.cli.console import count, look
    from gradcheck_tool.cli.job_summary import add_job_summary
    from gradcheck_tool.report import render
    from gradcheck_tool.report.context import ReportContext
    from gradcheck_tool.sources.lines import SourceLines

    lines = SourceLines()
    complete = True
    for target in wanted:
        if not outcome.findings and target.file is None and target.format in FOR_PEOPLE:
            continue
        shown = look(sys.stderr, color, to_file=target.file is not None)
        context = ReportContext(folder, lines, session.rules_in_force, **shown, not_watched=left_alone)
        text = render(target.format, outcome.findings, context)
        if target.file is None:
            sys.stderr.write(text)
        else:
            complete &= write_file(target.file, text)
    known = f" {count(outcome.known, 'problem')} in the baseline." if outcome.known else ""
    found = (
        f"Found {count(len(outcome.findings), 'problem')}"
        if outcome.findings
        else "No autograd mistakes seen"
    )
    closing = f"{found} in this run.{known}"
    if not quiet and any(target.format in FOR_PEOPLE for target in wanted):
        note(f"gradlint: {closing}")
    context = ReportContext(folder, lines)
    return complete & add_job_summary(
        [target.format for target in wanted], "gradlint run", closing, outcome.findings, context
    )
