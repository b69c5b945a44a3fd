"""`gradlint check --watch`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gradcheck_tool.cli.console import fail, note
from gradcheck_tool.config import FILE_NAMES
from gradcheck_tool.sources.discover import IGNORE_FILES, SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

# What decides about findings: programs, configurations, and what is left out.
_WATCHED = (*SUFFIXES, *FILE_NAMES, *IGNORE_FILES)
# Milliseconds after which the watcher says for the first time that nothing has changed.
PAUSE = 100
# Empties the terminal and goes to its first line.
CLEAR = "\x1b[2J\x1b[H"


def keep_watching(check: Callable[[], object], paths: Sequence[Path]) -> None:
    """Check once, and again after every change of what decides about findings, until Ctrl+C.

    Args:
        check: one round, which prints what it finds.
        paths: files and folders; of a file, the folder is watched, for what the file imports.

    Raises:
        typer.Exit: watchfiles is not installed, or a path is not there.
    """
    try:
        from watchfiles import DefaultFilter, watch
    except ImportError:
        fail("--watch needs watchfiles: pip install 'gradcheck-tool[watch]'")
    for path in paths:
        if not path.exists():
            fail(f"{path}: no such file or folder")
    folders = dict.fromkeys(path if path.is_dir() else path.absolute().parent for path in paths)
    usual = DefaultFilter()
    checked = False
    # The first check waits for the watcher: a change between the two would go unnoticed.
    for changes in watch(
        *folders,
        watch_filter=lambda change, path: path.endswith(_WATCHED) and usual(change, path),
        rust_timeout=PAUSE,
        yield_on_timeout=True,
    ):
        if changes or not checked:
            checked = True
            _round(check)


def _round(check: Callable[[], object]) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(CLEAR)
    # Editors recognise the rounds of a background task by these two lines.
    note("Checking.")
    check()
    sys.stdout.flush()
    note("Watching for changes; press Ctrl+C to stop.")
