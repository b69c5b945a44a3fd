"""Options that more than one command has, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gradcheck_tool.cli.completion import formats, selectors
from gradcheck_tool.cli.console import fail

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Command = TypeVar("Command", bound="Callable[..., Any]")

PATH = click.Path(path_type=Path)

config = click.option("--config", metavar="FILE", type=PATH, help="Use this configuration file everywhere.")
isolated = click.option("--isolated", is_flag=True, help="Read no configuration file.")
no_cache = click.option("--no-cache", "-n", is_flag=True, help="Neither read nor write results.")


def jobs(what: str) -> Callable[[Command], Command]:
    """How many processes work; the option's value is 0 for one on each core."""
    return click.option(
        "--jobs",
        "-j",
        metavar="N",
        type=click.IntRange(min=0),
        default=0,
        help=f"{what}; 0 is one for each core.",
    )


def verbose(what: str) -> Callable[[Command], Command]:
    """Whether more is said."""
    return click.option("--verbose", "-v", is_flag=True, help=what)


def reports(known: Sequence[str]) -> Callable[[Command], Command]:
    """`output_format` and `output_file`, which `output.targets` understands."""

    def declared(command: Command) -> Command:
        command = click.option(
            "--output-file", "-o", metavar="FILE", type=PATH, help="Where a format without a file goes."
        )(command)
        return click.option(
            "--output-format",
            metavar="FORMAT[=FILE]",
            multiple=True,
            shell_complete=lambda _ctx, _param, incomplete: formats(incomplete, known),
            help=f"{', '.join(known)}; several can be made in one run. [default: full]",
        )(command)

    return declared


def codes(name: str, what: str) -> Callable[[Command], Command]:
    """Selectors of rules, given one by one or with commas between them; the value is a flat tuple."""
    return click.option(
        name, metavar="CODES", multiple=True, callback=_split, shell_complete=selectors, help=what
    )


def _split(_: click.Context, option: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    found = tuple(code.strip() for value in values for code in value.split(",") if code.strip())
    if values and not found:
        fail(f"{option.opts[0]}: no rule is named")
    return found
