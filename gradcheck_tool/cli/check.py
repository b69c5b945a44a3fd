"""`gradlint check`."""

from __future__ import annotations

from pathlib import Path

import click

from gradcheck_tool.cli import options
from gradcheck_tool.cli.console import fail, note
from gradcheck_tool.cli.output import Output, targets
from gradcheck_tool.cli.request import STDIN, Request, carry_out, refuse_mixtures
from gradcheck_tool.config import ConfigError, Overrides, is_version
from gradcheck_tool.report import FORMATS


@click.command
@click.argument("paths", nargs=-1, type=options.PATH)
@options.reports(FORMATS)
@click.option("--fix", is_flag=True, help="Make the safe fixes.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: the unsafe ones, too.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option("--add-noqa", is_flag=True, help="Suppress every finding by a comment in its statement.")
@click.option("--baseline", metavar="FILE", type=options.PATH, help="Findings in this file are not reported.")
@click.option(
    "--write-baseline",
    metavar="FILE",
    type=options.PATH,
    help="Write all findings to this file, for --baseline.",
)
@click.option("--report-unused-suppressions", is_flag=True, help="Report comments that suppress nothing.")
@click.option("--watch", "-w", is_flag=True, help="Check again whenever a file changes.")
@options.jobs("Processes")
@options.codes("--select", "Rules to apply instead of the configured ones.")
@options.codes("--extend-select", "Rules to apply as well.")
@options.codes("--ignore", "Rules to leave out.")
@click.option("--exclude", metavar="PATTERN", multiple=True, help="Patterns of what is not checked.")
@click.option(
    "--extend-exclude", metavar="PATTERN", multiple=True, help="Further patterns of what is not checked."
)
@click.option("--force-exclude", is_flag=True, help="Apply exclusions to named files, too.")
@click.option(
    "--respect-gitignore/--no-respect-gitignore",
    default=True,
    show_default=True,
    help="Leave out what git ignores.",
)
@options.config
@options.isolated
@click.option("--target-torch", metavar="VERSION", help="The torch version that the code is written for.")
@options.no_cache
@click.option("--exit-zero", is_flag=True, help="Exit with 0 when there are findings.")
@click.option("--statistics", is_flag=True, help="Count the findings of each rule.")
@click.option("--show-files", is_flag=True, help="List the files that would be checked.")
@click.option(
    "--stdin-filename",
    metavar="FILE",
    type=options.PATH,
    help="Name of the program read from standard input.",
)
@options.verbose("Say what is done.")
@click.option("--quiet", "-q", is_flag=True, help="Print findings only.")
def check(
    paths: tuple[Path, ...],
    output_format: tuple[str, ...],
    output_file: Path | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    add_noqa: bool,
    baseline: Path | None,
    write_baseline: Path | None,
    report_unused_suppressions: bool,
    watch: bool,
    jobs: int,
    select: tuple[str, ...],
    extend_select: tuple[str, ...],
    ignore: tuple[str, ...],
    exclude: tuple[str, ...],
    extend_exclude: tuple[str, ...],
    force_exclude: bool,
    respect_gitignore: bool,
    config: Path | None,
    isolated: bool,
    target_torch: str | None,
    no_cache: bool,
    exit_zero: bool,
    statistics: bool,
    show_files: bool,
    stdin_filename: Path | None,
    verbose: bool,
    quiet: bool,
) -> None:
    """Find autograd mistakes in Python files and notebooks, without running them.

    PATHS are files and folders, and the current folder where none is given; `-` reads standard input.
    """
    from gradcheck_tool.pool import default_jobs
    from gradcheck_tool.run import Options, Run

    if target_torch is not None and not is_version(target_torch):
        fail(f'--target-torch: {target_torch!r} is not a version such as "2.6"')
    folder = Path.cwd()
    overrides = Overrides(
        isolated=isolated,
        path=config.absolute() if config else None,
        select=select,
        extend_select=extend_select,
        ignore=ignore,
        exclude=exclude,
        extend_exclude=extend_exclude,
        target_torch=target_torch,
        baseline=baseline.absolute() if baseline else None,
        no_baseline=write_baseline is not None,
        report_unused_suppressions=report_unused_suppressions,
    )
    wanted = Options(
        overrides,
        respect_gitignore=respect_gitignore,
        force_exclude=force_exclude,
        cache=not no_cache,
        jobs=jobs or default_jobs(),
    )
    given = paths or ((STDIN,) if stdin_filename else (Path(),))
    request = Request(
        paths=given,
        stdin_filename=stdin_filename,
        fix=fix,
        unsafe=unsafe_fixes,
        diff=diff,
        add_noqa=add_noqa,
        write_baseline=write_baseline.absolute() if write_baseline else None,
        show_files=show_files,
        watch=watch,
        exit_zero=exit_zero,
        verbose=verbose,
    )
    refuse_mixtures(request)
    output = Output(folder, targets(output_format, output_file), statistics=statistics, quiet=quiet)
    output.refuse_mixtures()

    def once() -> int:
        try:
            return carry_out(Run(folder, wanted), request, output)
        except ConfigError as error:
            note(f"gradlint: error: {error}")
            return 2

    if watch:
        from gradcheck_tool.cli.watch import keep_watching

        keep_watching(once, given)
        return
    raise click.exceptions.Exit(once())
