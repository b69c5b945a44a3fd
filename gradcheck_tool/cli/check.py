"""`gradlint check`."""

from __future__ import annotations

import os
import sys
import time
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradcheck_tool.cli.console import fail, note
from gradcheck_tool.cli.output import Output
from gradcheck_tool.cli.progress import progress_bar
from gradcheck_tool.config import ConfigError, Overrides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.run import Outcome, Run


STDIN = Path("-")


class Format(str, Enum):
    """Output formats."""

    FULL = "full"
    CONCISE = "concise"
    JSON = "json"


def check(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files and folders; `-` reads standard input. [default: .]")
    ] = None,
    output_format: Annotated[Format, typer.Option(help="How findings are printed.")] = Format.FULL,
    output_file: Annotated[
        Path | None, typer.Option("--output-file", "-o", help="Write findings to a file.")
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option(help="Rules to apply instead of the configured ones.")
    ] = None,
    extend_select: Annotated[list[str] | None, typer.Option(help="Rules to apply as well.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Rules to leave out.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Patterns of what is not checked.")] = None,
    extend_exclude: Annotated[
        list[str] | None, typer.Option(help="Further patterns of what is not checked.")
    ] = None,
    force_exclude: Annotated[
        bool, typer.Option("--force-exclude", help="Apply exclusions to named files, too.")
    ] = False,
    respect_gitignore: Annotated[bool, typer.Option(help="Leave out what git ignores.")] = True,
    config: Annotated[Path | None, typer.Option(help="Use this configuration file everywhere.")] = None,
    isolated: Annotated[bool, typer.Option("--isolated", help="Read no configuration file.")] = False,
    target_torch: Annotated[
        str | None, typer.Option(help="The torch version that the code is written for.")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", "-n", help="Neither read nor write results.")
    ] = False,
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="Exit with 0 when there are findings.")
    ] = False,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Count the findings of each rule.")
    ] = False,
    show_files: Annotated[
        bool, typer.Option("--show-files", help="List the files that would be checked.")
    ] = False,
    stdin_filename: Annotated[
        Path | None, typer.Option(help="Name of the program read from standard input.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what is done.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print findings only.")] = False,
) -> None:
    """Find autograd mistakes in Python files and notebooks, without running them."""
    from gradcheck_tool.run import Options, Run

    output = Output(output_format.value, output_file, statistics=statistics, quiet=quiet)
    overrides = Overrides(
        isolated=isolated,
        path=config.absolute() if config else None,
        select=_codes(select),
        extend_select=_codes(extend_select),
        ignore=_codes(ignore),
        exclude=tuple(exclude or ()),
        extend_exclude=tuple(extend_exclude or ()),
        target_torch=target_torch,
    )
    options = Options(overrides, respect_gitignore=respect_gitignore, force_exclude=force_exclude)
    folder = Path.cwd()
    wanted = paths or [Path()]
    try:
        run = Run(folder, options)
        if show_files:
            _show_files(run, wanted, folder)
            return
        known: dict[str, bytes] = {}
        started = time.perf_counter()
        if wanted == [STDIN]:
            name = str(folder / stdin_filename) if stdin_filename else "-"
            known[name] = sys.stdin.buffer.read()
            outcome = run.check_text(known[name], name)
        else:
            with progress_bar() as progress:
                outcome = run.check(wanted, progress)
        if verbose:
            note(f"{outcome.files} files in {time.perf_counter() - started:.2f} s")
    except ConfigError as error:
        fail(str(error))
    output.write(outcome, run, folder, known)
    raise typer.Exit(_status(outcome, exit_zero))


def _codes(values: Sequence[str] | None) -> tuple[str, ...]:
    """Selectors, given one by one or with commas between them."""
    return tuple(code.strip() for value in values or () for code in value.split(",") if code.strip())


def _show_files(run: Run, paths: list[Path], folder: Path) -> None:
    found = run.discover(paths)
    for path in found.files:
        typer.echo(os.path.relpath(path, folder))
    for path in found.missing:
        note(f"gradlint: {path}: no such file or folder")
    if found.missing:
        raise typer.Exit(2)


def _status(outcome: Outcome, exit_zero: bool) -> int:
    if any(problem.fatal for problem in outcome.problems):
        return 2
    return 1 if outcome.findings and not exit_zero else 0
