"""`gradlint clean`."""

from __future__ import annotations

from pathlib import Path

import click

from gradcheck_tool.cli.console import note
from gradcheck_tool.cli.options import PATH


@click.command
@click.argument("path", type=PATH, default=Path())
def clean(path: Path) -> None:
    """Remove the result caches (`.gradlint_cache`) in a folder and below it.

    PATH is the current folder where none is given.
    """
    from gradcheck_tool.sources.cache import remove_caches

    for folder in remove_caches(path.absolute()):
        note(f"removed {folder}")
