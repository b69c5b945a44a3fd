"""A command that finds everything as its last run left it: what that printed is printed again."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.cache.cache_key import identity
from gradcheck_tool.cache.snapshot import Snapshot
from gradcheck_tool.cli.timed import timed
from gradcheck_tool.sources.discover import absolute

if TYPE_CHECKING:
    from collections.abc import Sequence

# What reports depend on besides the command, its own variables and the files.
_ENVIRONMENT = ("CI_PROJECT_DIR", "FORCE_COLOR", "GITHUB_WORKSPACE", "HOME", "NO_COLOR", "TERM")
_STARTED = time.perf_counter()
_OPTION, _VARIABLE = "--cache-dir", "GRADLINT_CACHE_DIR"


def snapshot() -> Snapshot:
    """Of this very command: the same words, in the same folder, printed to the same kind of place."""
    own = (name for name in os.environ if name.startswith("GRADLINT_"))
    surroundings = [(name, os.environ.get(name)) for name in (*_ENVIRONMENT, *sorted(own))]
    asked = (identity(), sys.argv[1:], sys.stdout.isatty(), surroundings)
    return Snapshot(Path.cwd(), asked, _named_cache(sys.argv[1:]))


def _named_cache(words: Sequence[str]) -> Path | None:
    """The cache folder that the command names, read before anything parses the command."""
    named = os.environ.get(_VARIABLE)
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if word == _OPTION:
            named = following
        elif word.startswith(f"{_OPTION}="):
            named = word.partition("=")[2]
    return absolute(Path(named)) if named else None


def replay(last: Snapshot) -> int | None:
    """Print what the last run printed.

    Returns:
        Its exit status; None where something has changed since, or there was none.
    """
    printed = last.load()
    if printed is None:
        return None
    sys.stdout.write(printed.out)
    sys.stdout.flush()
    sys.stderr.write(timed(printed.err, time.perf_counter() - _STARTED, shown=sys.stderr.isatty()))
    return printed.status
