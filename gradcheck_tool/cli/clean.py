"""`gradlint clean`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradcheck_tool.cli.console import fail, note


def clean(
    path: Annotated[Path, typer.Argument(help="Folder to clean, with all folders below it.")] = Path(),
) -> None:
    """Remove the caches in a folder and below it.

    A `.gradlint_cache` holds results, and the calls that `gradlint record` has kept.
    """
    from gradcheck_tool.cache.store import remove_caches
    from gradcheck_tool.sources.discover import absolute

    if not path.is_dir():
        fail(f"{path}: no such folder")
    removed = list(remove_caches(absolute(path)))
    for folder in removed:
        note(f"removed {folder}")
    if not removed:
        note("There is no cache to remove.")
