"""`gradlint clean`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradcheck_tool.cli.console import note


def clean(
    path: Annotated[Path, typer.Argument(help="Folder to clean, with all folders below it.")] = Path(),
) -> None:
    """Remove the result caches (`.gradlint_cache`) in a folder and below it."""
    from gradcheck_tool.sources.cache import remove_caches

    for folder in remove_caches(path.absolute()):
        note(f"removed {folder}")
