"""The `gradlint` command, which is `python -m gradcheck_tool`, too."""

from __future__ import annotations

import os
import sys


def run() -> None:
    """Entry point of the command."""
    try:
        from gradcheck_tool.ending import end_on_signals

        end_on_signals()
    except KeyboardInterrupt:
        os._exit(130)
    from gradcheck_tool.cli import main

    try:
        main()
    except SystemExit as end:
        if sys.argv[1:2] == ["check"] and isinstance(end.code, int):
            _leave(end.code)
        raise


def _leave(status: int) -> None:
    """End the process without taking apart what it has made, which takes as long as checking many files.

    Who traces or profiles it sees a usual end.
    """
    if sys.gettrace() is not None or sys.getprofile() is not None:
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        status = 1
    except OSError:
        status = 2  # a full disk, of which there is nowhere left to tell
    os._exit(status)


if __name__ == "__main__":
    run()
