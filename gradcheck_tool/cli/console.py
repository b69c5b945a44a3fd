"""What every command prints in the same way."""

from __future__ import annotations

import os
import shutil
import sys
from enum import Enum
from typing import TYPE_CHECKING, NoReturn, TextIO, TypedDict

import typer

from gradcheck_tool.trust.visible import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gradcheck_tool.config import Config


def note(message: str) -> None:
    """Say something that is no finding. Nothing in it controls a terminal or a CI service."""
    typer.echo(visible_lines(message), err=True)


def tell_left_out(configs: Sequence[Config], folder: Path) -> str:
    """Say which packs were left out for want of consent; return the line, or nothing."""
    if not any(config.untrusted for config in configs):
        return ""
    from gradcheck_tool.report.left_out import left_out_line

    line = f"gradlint: {left_out_line(configs, folder)}"
    note(line)
    return f"{line}\n"


def fail(message: str) -> NoReturn:
    """End the run because the tool could not do its work.

    Raises:
        typer.Exit: with status 2.
    """
    note(visible(f"gradlint: error: {message}"))
    raise typer.Exit(2)


def tell_unwritten(path: Path | str, error: OSError) -> None:
    """Say which file could not be written, and why. The run goes on, and ends with status 2."""
    note(f"gradlint: error: {visible(str(path))}: cannot be written: {error.strerror or error}")


def print_out(text: str) -> bool:
    """Print a report to standard output, and say so where that fails.

    What does not fit onto a full disk is known now, not when the interpreter ends.

    Raises:
        BrokenPipeError: nobody reads it any more.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        tell_unwritten("standard output", error)
        drop_output()
        return False
    return True


def drop_output() -> None:
    """What was printed and could not be written must not fail once more when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class When(str, Enum):
    """When something is coloured."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def wants_color(stream_is_terminal: bool, when: When = When.AUTO) -> bool:
    """Whether to colour: on a terminal that is not a dumb one, unless NO_COLOR; anywhere with FORCE_COLOR.

    What the command line says goes before all of that.
    """
    if when is not When.AUTO:
        return when is When.ALWAYS
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream_is_terminal and os.environ.get("TERM") != "dumb"


class Look(TypedDict):
    """How a report is shown where it goes: what `ReportContext` takes."""

    color: bool
    width: int | None
    links: bool


def look(stream: TextIO, when: When = When.AUTO, to_file: bool = False) -> Look:
    """How a report is shown on a stream, or in a file: only a terminal has a width and opens links.

    `FORCE_HYPERLINK` says whether the terminal knows links.
    """
    if to_file:
        return Look(color=False, width=None, links=False)
    is_terminal = stream.isatty()
    color = wants_color(is_terminal, when)
    forced = os.environ.get("FORCE_HYPERLINK")
    links = forced != "0" if forced else is_terminal and color and os.environ.get("TERM") != "linux"
    width = shutil.get_terminal_size().columns if is_terminal else None
    return Look(color=color, width=width, links=links)


def count(number: int, thing: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
