"""`gradlint gradcheck`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradcheck_tool.cli import options
from gradcheck_tool.cli.console import When, count, fail, look, note, print_out
from gradcheck_tool.cli.output import Target, targets
from gradcheck_tool.cli.progress import progress_bar
from gradcheck_tool.config import ConfigError, Overrides
from gradcheck_tool.ending import undoing
from gradcheck_tool.report import FORMATS
from gradcheck_tool.trust.visible import visible, visible_name

if TYPE_CHECKING:
    from gradcheck_tool.findings import Finding
    from gradcheck_tool.harness.outcomes import Outcome
    from gradcheck_tool.harness.run import EngineMaker, Harness, Plan, Verdicts
    from gradcheck_tool.harness.settings import Settings

# What only a run of Functions can be shown as, beside the formats of findings.
PAGE = "html"
REPORT = "json-report"
FAIL_ON = ("error", "warning", "info", "unchecked", "crash", "never")
ENGINES = ("local", "ray")
LINE_S = 10.0
"""Seconds between two lines that say how far a run is, where there is no terminal for a bar."""


def gradcheck(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TARGETS]", help="Paths, packages, `module:Name`, `path.py:Name`. [default: .]"
        ),
    ] = None,
    device: Annotated[
        list[str] | None,
        typer.Option("--device", metavar="DEVICE", help="cpu, cuda, cuda:1, ... [default: cpu]"),
    ] = None,
    dtype: Annotated[
        list[str] | None,
        typer.Option(
            "--dtype",
            metavar="DTYPE",
            help="float32, bfloat16, ... [default: what the Function is made for]",
        ),
    ] = None,
    select_by: Annotated[
        str | None,
        typer.Option("-k", metavar="EXPRESSION", help="Select Functions by name, as with pytest -k."),
    ] = None,
    shard: Annotated[str | None, typer.Option(metavar="I/N", help="Check only part I of N.")] = None,
    jobs: options.Jobs = 0,
    engine: Annotated[
        str,
        typer.Option(
            metavar="WHERE", help="local, or ray: the Ray cluster at RAY_ADDRESS (needs the extra `ray`)."
        ),
    ] = "local",
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=1, help="Time limit for one Function. [default: 120]"),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Memory limit for one worker, such as 4G. [default: its share of 80%]"
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Seed of all random inputs. [default: 0]")
    ] = None,
    fail_on: Annotated[
        str, typer.Option(metavar="WHAT", help=f"What makes the exit status 1: {', '.join(FAIL_ON)}.")
    ] = "error",
    output_format: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT[=FILE]",
            help=f"{', '.join((*FORMATS, REPORT))}; may be given several times. [default: full]",
        ),
    ] = None,
    output_file: options.OutputFile = None,
    plots: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Save heat maps of errors in this folder (needs matplotlib)."),
    ] = None,
    pass_env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A further environment variable (or pattern) to pass to your code."
        ),
    ] = None,
    select: options.Select = None,
    ignore: options.Ignore = None,
    config: options.Config = None,
    isolated: options.Isolated = False,
    no_cache: options.NoCache = False,
    cache_dir: options.CacheFolder = None,
    color: options.Color = When.AUTO,
    list_only: Annotated[bool, typer.Option("--list", help="List what would be checked, and exit.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show for every Function what was tried and reported.")
    ] = False,
) -> None:
    """Check the gradients of autograd Functions by running them.

    What `backward` returns is compared with the derivatives of `forward`.

    This imports and runs the code that it checks, as your tests do: do not use it on code that you do not
    trust. Worker processes see few of your environment variables; --pass-env adds others.
    """
    try:
        from gradcheck_tool.harness.process import WorkerError
        from gradcheck_tool.harness.run import Harness
        from gradcheck_tool.harness.targets import TargetError
    except ModuleNotFoundError as error:
        fail(f"{error.name} is missing; gradcheck needs `pip install 'gradcheck-tool[torch]'`")

    reports = targets(output_format or (), output_file, (*FORMATS, REPORT))
    if fail_on not in FAIL_ON:
        fail(f"--fail-on: unknown value {fail_on!r}; choose from {', '.join(FAIL_ON)}")
    make_engine = _engine(engine)
    folder = Path.cwd()
    overrides = Overrides(
        isolated=isolated,
        path=options.config_file(config),
        settings=options.settings(config),
        select=_known("--select", select),
        ignore=_known("--ignore", ignore),
        cache_folder=options.cache_folder(cache_dir),
    )
    try:
        harness = Harness(folder, overrides)
        settings = _settings(harness, device, dtype, timeout, memory, seed, plots, pass_env)
        plan = harness.plan(what or ["."], settings, part=shard, select=select_by)
    except (ConfigError, TargetError, ValueError) as error:
        fail(str(error))
    if list_only:
        for unit in plan.units:
            typer.echo(visible_name(unit.name))
        return
    if settings.plots is not None and find_spec("matplotlib") is None:
        fail("heat maps need matplotlib: `pip install 'gradcheck-tool[plots]'`")
    sofar: list[Outcome] = []

    def broken_off() -> None:
        note(f"Interrupted: {len(sofar)} of {count(len(plan.units), 'check')} done.")
        if sofar:
            _print(plan, harness.verdicts(list(sofar)), reports, verbose, color)
            sys.stdout.flush()

    try:
        # Workers import torch first, and one Function may take minutes.
        with undoing(broken_off), progress_bar(patience=0, every=LINE_S) as progress:
            verdicts = harness.check(
                plan, jobs, keep=not no_cache, progress=progress, make_engine=make_engine, sofar=sofar
            )
    except (ConfigError, WorkerError) as error:
        fail(str(error))
    complete = _print(plan, verdicts, reports, verbose, color) and not plan.unread
    raise typer.Exit(_status(verdicts, fail_on) if complete else 2)


def _known(option: str, values: Sequence[str] | None) -> tuple[str, ...]:
    """The selectors that were given, each of which has to match a code of the run-time engine."""
    from gradcheck_tool.codes import CODES
    from gradcheck_tool.rulebook.selection import UnknownCodeError, check_selectors

    selectors = options.codes(option, values)
    try:
        check_selectors(option, selectors, CODES)
    except UnknownCodeError as error:
        fail(str(error))
    return selectors


def _engine(name: str) -> EngineMaker:
    """What makes the engine of a name.

    Raises:
        typer.Exit: with status 2, if there is none or it needs a package that is missing.
    """
    from gradcheck_tool.harness.scheduler import Engine

    if name == "local":
        return Engine.of
    if name not in ENGINES:
        fail(f"--engine: unknown value {name!r}; choose from {', '.join(ENGINES)}")
    if find_spec("ray") is None:
        fail("--engine ray needs Ray: `pip install 'gradcheck-tool[ray]'`")
    from gradcheck_tool.harness.ray_engine import RayEngine

    return RayEngine


def _settings(
    harness: Harness,
    device: Sequence[str] | None,
    dtype: Sequence[str] | None,
    timeout: float | None,
    memory: str | None,
    seed: int | None,
    plots: Path | None,
    pass_env: Sequence[str] | None,
) -> Settings:
    """The configured settings with the command line's choices.

    Raises:
        ValueError: a device, a dtype or a size that means nothing.
    """
    from gradcheck_tool.harness.settings import check_devices, check_dtypes, parse_size

    return harness.settings.with_choices(
        devices=check_devices(tuple(dict.fromkeys(device))) if device else None,
        dtypes=check_dtypes(tuple(dict.fromkeys(dtype))) if dtype else None,
        timeout=timeout,
        memory=None if memory is None else parse_size(memory),
        seed=seed,
        plots=None if plots is None else str(plots.absolute()),
        pass_env=tuple(pass_env or ()) or None,
    )


def _print(plan: Plan, verdicts: Verdicts, reports: Sequence[Target], verbose: bool, color: When) -> bool:
    """Findings to their reports; what could not be read, and the summary, to standard error.

    Returns:
        Whether all reports were written.
    """
    from gradcheck_tool.cli.job_summary import add_job_summary
    from gradcheck_tool.cli.output import write_file
    from gradcheck_tool.harness.json_report import json_report
    from gradcheck_tool.harness.junit import junit
    from gradcheck_tool.harness.page import page
    from gradcheck_tool.harness.summary import summarise
    from gradcheck_tool.report import render
    from gradcheck_tool.report.context import ReportContext, shown_name
    from gradcheck_tool.sources.lines import SourceLines

    for filename, why in plan.problems:
        note(f"gradlint: {shown_name(filename, plan.folder)}: {visible(why)}")
    lines = SourceLines()
    complete = True
    for report in reports:
        context = ReportContext(plan.folder, lines, **look(sys.stdout, color, report.file is not None))
        if report.format == PAGE:
            text = page(verdicts.outcomes, plan.problems, plan.folder)
        elif report.format == REPORT:
            text = json_report(verdicts.outcomes, verdicts.findings, plan.problems)
        elif report.format == "junit":
            text = junit(verdicts.outcomes, context)
        else:
            text = render(report.format, verdicts.findings, context)
        complete &= print_out(text) if report.file is None else write_file(report.file, text)
    if plan.found and not plan.units:
        note(f"None of {count(plan.found, 'autograd Function')} is selected.")
        return complete
    told = summarise(verdicts.outcomes, verbose=verbose)
    for line in told:
        note(line)
    closing = told[-1] if told else ""
    context = ReportContext(plan.folder, lines)
    formats = [report.format for report in reports]
    return complete & add_job_summary(formats, "gradlint gradcheck", closing, verdicts.findings, context)


def _status(verdicts: Verdicts, fail_on: str) -> int:
    """1 where something was found that the run is to fail on. Code that kills its process always counts."""
    if fail_on == "never":
        return 0
    if any(outcome.death == "crash" for outcome in verdicts.outcomes):
        return 1
    if fail_on == "crash":
        return int(any(outcome.death in ("hang", "memory") for outcome in verdicts.outcomes))
    if fail_on == "unchecked":
        if any(not outcome.is_checked for outcome in verdicts.outcomes):
            return 1
        fail_on = "error"
    return int(any(_weight(finding) >= _WEIGHTS[fail_on] for finding in verdicts.findings))


_WEIGHTS = {"info": 0, "warning": 1, "error": 2}


def _weight(finding: Finding) -> int:
    return _WEIGHTS[finding.severity.value]
