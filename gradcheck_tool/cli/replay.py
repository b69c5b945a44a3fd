"""A command that finds everything as its last run left it: what that printed is printed again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gradcheck_tool.cache.cache_key import identity
from gradcheck_tool.cache.snapshot import Snapshot

# What reports depend on besides the command and the files.
_ENVIRONMENT = ("CI_PROJECT_DIR", "FORCE_COLOR", "GITHUB_WORKSPACE", "HOME", "NO_COLOR")


def snapshot() -> Snapshot:
    """Of this very command: the same words, in the same folder, printed to the same kind of place."""
    surroundings = [os.environ.get(name) for name in _ENVIRONMENT]
    return Snapshot(Path.cwd(), (identity(), sys.argv[1:], sys.stdout.isatty(), surroundings))


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
    sys.stderr.write(printed.err)
    return printed.status
