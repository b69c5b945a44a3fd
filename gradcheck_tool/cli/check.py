"""`gradlint check`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from gradcheck_tool.cli import options
from gradcheck_tool.cli.completion import formats, selectors
from gradcheck_tool.cli.console import When, fail, note
from gradcheck_tool.cli.fail_on import FailOn
from gradcheck_tool.cli.output import Output, targets
from gradcheck_tool.cli.request import STDIN, Request, carry_out, refuse_mixtures
from gradcheck_tool.config import ConfigError, Overrides, is_version
from gradcheck_tool.fixes.noqa import CommentForm
from gradcheck_tool.report import FORMATS
from gradcheck_tool.sources.discover import absolute
from gradcheck_tool.trust.visible import visible


class CommentWord(str, Enum):
    """How `--add-noqa` writes comments."""

    GRADLINT = "gradlint"
    NOQA = "noqa"


def check(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATHS]...",
            help="Files and folders; `-` reads standard input. [default: .]",
            readable=False,
        ),
    ] = None,
    output_format: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT[=FILE]",
            autocompletion=formats,
            envvar="GRADLINT_OUTPUT_FORMAT",
            help=f"{', '.join(FORMATS)}; several can be made in one run. [default: full]",
        ),
    ] = None,
    output_file: options.OutputFile = None,
    fix: Annotated[bool, typer.Option("--fix", help="Make the safe fixes.")] = False,
    unsafe_fixes: Annotated[
        bool, typer.Option("--unsafe-fixes", help="With --fix or --diff: the unsafe ones, too.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what --fix would change, and change nothing.")
    ] = False,
    fix_only: Annotated[
        bool, typer.Option("--fix-only", help="Make the fixes, as with --fix, and report nothing else.")
    ] = False,
    show_fixes: Annotated[
        bool, typer.Option("--show-fixes", help="With --fix or --diff: list what is fixed.")
    ] = False,
    fixable: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODES", autocompletion=selectors, help="Rules whose fixes are offered. [default: ALL]"
        ),
    ] = None,
    unfixable: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", autocompletion=selectors, help="Rules whose fixes are not offered."),
    ] = None,
    add_noqa: Annotated[
        bool, typer.Option("--add-noqa", help="Suppress every finding by a comment in its statement.")
    ] = False,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --add-noqa: why, written into each comment.")
    ] = None,
    comment_form: Annotated[
        CommentWord,
        typer.Option(
            "--comment-form",
            metavar="FORM",
            help="With --add-noqa: gradlint (`# gradlint: ignore[GL201]`) or noqa (`# noqa: GL201`).",
        ),
    ] = CommentWord.GRADLINT,
    ignore_noqa: Annotated[
        bool, typer.Option("--ignore-noqa", help="Report what comments suppress, too.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(metavar="COMMIT", help="Report only findings on lines that have changed since, in git."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Findings in this file are not reported.")
    ] = None,
    write_baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all findings to this file, for --baseline.")
    ] = None,
    with_run: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Say of each finding what `gradlint run --save FILE` saw of it."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Report only what assumes nothing beyond the code.")
    ] = False,
    report_unused_suppressions: Annotated[
        bool, typer.Option("--report-unused-suppressions", help="Report comments that suppress nothing.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Check again whenever a file changes.")
    ] = False,
    jobs: options.Jobs = 0,
    select: options.Select = None,
    extend_select: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", autocompletion=selectors, help="Rules to apply as well."),
    ] = None,
    ignore: options.Ignore = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERNS", help="What is not checked, not the configured patterns."),
    ] = None,
    extend_exclude: Annotated[
        list[str] | None, typer.Option(metavar="PATTERNS", help="Further patterns of what is not checked.")
    ] = None,
    force_exclude: Annotated[
        bool, typer.Option("--force-exclude", help="Apply exclusions to named files, too.")
    ] = False,
    respect_gitignore: Annotated[bool, typer.Option(help="Leave out what git ignores.")] = True,
    config: options.Config = None,
    isolated: options.Isolated = False,
    trust: options.Trust = False,
    target_torch: Annotated[
        str | None, typer.Option(metavar="VERSION", help="The torch version that the code is written for.")
    ] = None,
    no_cache: options.NoCache = False,
    cache_dir: options.CacheFolder = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SEVERITY|CODES",
            help="Exit with 1 only for findings of this severity (error, warning, info) or a higher one, or "
            "of these rules.",
        ),
    ] = None,
    exit_non_zero_on_fix: Annotated[
        bool, typer.Option("--exit-non-zero-on-fix", help="Exit with 1 where something was fixed.")
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
    color: options.Color = When.AUTO,
    stdin_filename: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Name of the program read from standard input.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what is done.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print findings only.")] = False,
) -> None:
    """Find autograd mistakes in Python files and notebooks.

    Nothing of what is checked is run.
    """
    from gradcheck_tool.session.session import Options, Session

    if target_torch is not None and not is_version(target_torch):
        fail(f'--target-torch: {target_torch!r} is not a version such as "2.6"')
    folder = Path.cwd()
    overrides = Overrides(
        isolated=isolated,
        path=options.config_file(config),
        settings=options.settings(config),
        select=options.codes("--select", select),
        extend_select=options.codes("--extend-select", extend_select),
        ignore=options.codes("--ignore", ignore),
        exclude=options.patterns(exclude),
        extend_exclude=options.patterns(extend_exclude),
        target_torch=target_torch,
        baseline=absolute(baseline) if baseline else None,
        no_baseline=write_baseline is not None,
        strict=strict,
        report_unused_suppressions=report_unused_suppressions,
        fixable=options.codes("--fixable", fixable),
        unfixable=options.codes("--unfixable", unfixable),
        ignore_comments=ignore_noqa,
        cache_folder=options.cache_folder(cache_dir),
        trust=trust,
    )
    wanted = Options(
        overrides,
        respect_gitignore=respect_gitignore,
        force_exclude=force_exclude,
        cache=not no_cache,
        jobs=jobs,
    )
    given = tuple(paths or ([STDIN] if stdin_filename else [Path()]))
    request = Request(
        paths=given,
        stdin_filename=absolute(stdin_filename) if stdin_filename else None,
        fix=fix or fix_only,
        unsafe=unsafe_fixes,
        diff=diff,
        add_noqa=add_noqa,
        write_baseline=absolute(write_baseline) if write_baseline else None,
        with_run=with_run,
        show_files=show_files,
        watch=watch,
        exit_zero=exit_zero,
        verbose=verbose,
        fix_only=fix_only,
        show_fixes=show_fixes,
        fail_on_fix=exit_non_zero_on_fix,
        fail_on=FailOn.of(options.codes("--fail-on", fail_on)),
        since=since,
        comments=CommentForm(comment_form is CommentWord.GRADLINT, " ".join((reason or "").split())),
    )
    refuse_mixtures(request)
    if (reason is not None or comment_form is not CommentWord.GRADLINT) and not add_noqa:
        fail(f"{'--comment-form' if reason is None else '--reason'} needs --add-noqa")
    output = Output(
        folder, targets(output_format or (), output_file), statistics=statistics, quiet=quiet, color=color
    )
    output.refuse_mixtures()

    def once() -> int:
        try:
            return carry_out(Session(folder, wanted), request, output, context.obj)
        except ConfigError as error:
            note(visible(f"gradlint: error: {error}"))
            return 2

    if watch:
        from gradcheck_tool.cli.watch import keep_watching

        keep_watching(once, given)
        return
    raise typer.Exit(once())
