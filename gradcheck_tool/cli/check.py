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
            help="Files and folders to check; `-` reads standard input. [default: .]",
            readable=False,
        ),
    ] = None,
    output_format: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT[=FILE]",
            autocompletion=formats,
            envvar="GRADLINT_OUTPUT_FORMAT",
            help=f"{', '.join(FORMATS)}; may be given several times. [default: full]",
        ),
    ] = None,
    output_file: options.OutputFile = None,
    fix: Annotated[bool, typer.Option("--fix", help="Apply safe fixes.")] = False,
    unsafe_fixes: Annotated[
        bool,
        typer.Option(
            "--unsafe-fixes", help="Also apply fixes that may change results (with --fix or --diff)."
        ),
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what --fix would change, without changing files.")
    ] = False,
    fix_only: Annotated[
        bool, typer.Option("--fix-only", help="Apply fixes without reporting what is left; implies --fix.")
    ] = False,
    show_fixes: Annotated[
        bool, typer.Option("--show-fixes", help="List the fixes (with --fix or --diff).")
    ] = False,
    fixable: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODES", autocompletion=selectors, help="Rules whose fixes may be applied. [default: ALL]"
        ),
    ] = None,
    unfixable: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODES", autocompletion=selectors, help="Rules whose fixes must not be applied."
        ),
    ] = None,
    add_noqa: Annotated[
        bool, typer.Option("--add-noqa", help="Add a suppression comment for every finding.")
    ] = False,
    reason: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="The reason to write into each comment (with --add-noqa)."),
    ] = None,
    comment_form: Annotated[
        CommentWord,
        typer.Option(
            "--comment-form",
            metavar="FORM",
            help="What --add-noqa writes: gradlint (`# gradlint: ignore[GL201]`) or noqa (`# noqa: GL201`).",
        ),
    ] = CommentWord.GRADLINT,
    ignore_noqa: Annotated[
        bool, typer.Option("--ignore-noqa", help="Report suppressed findings, too.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(metavar="COMMIT", help="Report only findings on lines changed since this git commit."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Do not report the findings recorded in this file.")
    ] = None,
    write_baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Record all findings in this file, for --baseline.")
    ] = None,
    with_run: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Say for each finding whether the run saved by `gradlint run --save FILE` confirms it.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Report only findings that assume nothing about code out of sight."),
    ] = False,
    preview: Annotated[
        bool,
        typer.Option(
            "--preview", envvar="GRADLINT_PREVIEW", help="Also apply rules that are still being tried out."
        ),
    ] = False,
    report_unused_suppressions: Annotated[
        bool,
        typer.Option(
            "--report-unused-suppressions", help="Report suppression comments that suppress nothing."
        ),
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Check again whenever a file changes.")
    ] = False,
    jobs: options.Jobs = 0,
    select: options.Select = None,
    extend_select: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", autocompletion=selectors, help="Rules to enable in addition."),
    ] = None,
    ignore: options.Ignore = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERNS", help="File patterns to skip (replaces the configured `exclude`)."),
    ] = None,
    extend_exclude: Annotated[
        list[str] | None, typer.Option(metavar="PATTERNS", help="Further file patterns to skip.")
    ] = None,
    force_exclude: Annotated[
        bool, typer.Option("--force-exclude", help="Skip excluded files even if they are named.")
    ] = False,
    respect_gitignore: Annotated[bool, typer.Option(help="Skip files that git ignores.")] = True,
    config: options.Config = None,
    isolated: options.Isolated = False,
    trust: options.Trust = False,
    target_torch: Annotated[
        str | None, typer.Option(metavar="VERSION", help="The PyTorch version that the code is written for.")
    ] = None,
    no_cache: options.NoCache = False,
    cache_dir: options.CacheFolder = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SEVERITY|CODES",
            help="Exit with 1 only for findings of these rules, or of at least this severity: error, "
            "warning, info.",
        ),
    ] = None,
    exit_non_zero_on_fix: Annotated[
        bool, typer.Option("--exit-non-zero-on-fix", help="Exit with 1 if anything was fixed.")
    ] = False,
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="Exit with 0 even if there are findings.")
    ] = False,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Show how many findings each rule has.")
    ] = False,
    show_files: Annotated[
        bool, typer.Option("--show-files", help="List the files that would be checked, and exit.")
    ] = False,
    color: options.Color = When.AUTO,
    stdin_filename: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file name of the program on standard input.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the time, and where the analysis was cut off.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print findings only.")] = False,
) -> None:
    """Find autograd mistakes in Python files and notebooks.

    The code is neither imported nor run.
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
        preview=preview,
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
