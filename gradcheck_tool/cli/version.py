"""`gradlint version`."""

from __future__ import annotations

import typer

from gradcheck_tool import __version__


def version() -> None:
    """Print the version."""
    typer.echo(f"gradlint {__version__}")
