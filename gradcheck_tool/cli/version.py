"""`gradlint version`."""

from __future__ import annotations

import click

from gradcheck_tool import __version__


@click.command
def version() -> None:
    """Print the version."""
    click.echo(f"gradlint {__version__}")
