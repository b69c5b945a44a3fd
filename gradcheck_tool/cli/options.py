"""Options that more than one command has, each declared once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from gradcheck_tool.cli.completion import selectors
from gradcheck_tool.cli.console import When, fail
from gradcheck_tool.sources.discover import absolute

Config = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        metavar="FILE|KEY=VALUE",
        help="Use this configuration file, or override a setting such as 'target-torch=\"2.6\"'.",
    ),
]
Isolated = Annotated[bool, typer.Option("--isolated", help="Ignore all configuration files.")]
Trust = Annotated[
    bool, typer.Option("--trust", help="Load the rule packs and model packs that configuration files name.")
]
NoCache = Annotated[
    bool,
    typer.Option("--no-cache", "-n", envvar="GRADLINT_NO_CACHE", help="Do not read or write the cache."),
]
CacheFolder = Annotated[
    Path | None,
    typer.Option(
        "--cache-dir",
        metavar="FOLDER",
        envvar="GRADLINT_CACHE_DIR",
        help="Keep the cache in this folder. [default: .gradlint_cache beside the configuration]",
    ),
]
Color = Annotated[
    When,
    typer.Option(
        "--color", metavar="WHEN", envvar="GRADLINT_COLOR", help="When to use colours: auto, always or never."
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=0,
        envvar="GRADLINT_JOBS",
        help="Number of processes; 0 means one per core.",
    ),
]
OutputFile = Annotated[
    Path | None,
    typer.Option(
        "--output-file",
        "-o",
        metavar="FILE",
        envvar="GRADLINT_OUTPUT_FILE",
        help="Write the report to this file.",
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="CODES",
        autocompletion=selectors,
        help="Rules to enable (replaces the configured `select`).",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="CODES", autocompletion=selectors, help="Rules to disable."),
]


def cache_folder(folder: Path | None) -> Path | None:
    """The cache folder that was named (absolute), or None.

    Raises:
        typer.Exit: with status 2, where it holds what gradlint has not made.
    """
    if folder is None:
        return None
    from gradcheck_tool.cache.folder import why_foreign

    found = absolute(folder)
    reason = why_foreign(found)
    if reason is not None:
        fail(f"--cache-dir: {folder} is not used as a cache: {reason}")
    return found


# A comma that is not in braces.
_BETWEEN = re.compile(r",(?![^{}]*\})")


def config_file(values: Sequence[str] | None) -> Path | None:
    """The file among what `--config` was given.

    Raises:
        typer.Exit: with status 2, where there are two.
    """
    files = [value for value in values or () if _is_file(value)]
    if len(files) > 1:
        fail(f"--config: {files[0]} and {files[1]} cannot both be used")
    return absolute(Path(files[0])) if files else None


def settings(values: Sequence[str] | None) -> tuple[str, ...]:
    """The settings among what `--config` was given."""
    return tuple(value for value in values or () if not _is_file(value))


def _is_file(value: str) -> bool:
    return "=" not in value or Path(value).exists()


def patterns(values: Sequence[str] | None) -> tuple[str, ...]:
    """Patterns of files, given one by one or with commas between them; commas in braces are their own."""
    return tuple(
        pattern.strip() for value in values or () for pattern in _BETWEEN.split(value) if pattern.strip()
    )


def codes(option: str, values: Sequence[str] | None) -> tuple[str, ...]:
    """Selectors, given one by one or with commas between them.

    Raises:
        typer.Exit: with status 2, where commas are all that was given.
    """
    found = tuple(code.strip() for value in values or () for code in value.split(",") if code.strip())
    if values and not found:
        fail(f"{option}: no rule is named")
    return found
