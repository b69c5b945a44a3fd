"""`gradlint clean`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradcheck_tool.cli import options
from gradcheck_tool.cli.console import count, fail, note


def clean(
    path: Annotated[Path, typer.Argument(help="Folder to clean, including all folders below it.")] = Path(),
    cache_dir: options.CacheFolder = None,
) -> None:
    """Remove the caches in a folder and below it.

    A `.gradlint_cache` holds results, and the calls that `gradlint record` has saved. One that is a link, or
    that contains files not made by gradlint, is left alone.
    """
    from gradcheck_tool.cache.store import remove_cache, remove_caches
    from gradcheck_tool.sources.discover import absolute
    from gradcheck_tool.trust.visible import visible, visible_name

    if not path.is_dir():
        fail(f"{path}: no such folder")
    found = list(remove_caches(absolute(path)))
    named = options.cache_folder(cache_dir)
    if named is not None and named.exists():
        found.append(remove_cache(named))
    for cleaned in found:
        if cleaned.left is None:
            note(f"removed {visible_name(str(cleaned.folder))} ({count(cleaned.files, 'file')})")
        else:
            note(f"left {visible_name(str(cleaned.folder))}: {visible(cleaned.left)}")
    if not found:
        note("There is no cache to remove.")
