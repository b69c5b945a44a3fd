"""What every command prints in the same way."""

from __future__ import annotations

import os
from typing import NoReturn

import typer


def note(message: str) -> None:
    """Say something that is no finding."""
    typer.echo(message, err=True)


def fail(message: str) -> NoReturn:
    """End the run because the tool could not do its work.

    Raises:
        typer.Exit: with status 2.
    """
    note(f"gradlint: error: {message}")
    raise typer.Exit(2)


def wants_color(stream_is_terminal: bool) -> bool:
    """Whether to colour: on a terminal, unless NO_COLOR; anywhere with FORCE_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream_is_terminal


def count(number: int, thing: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
