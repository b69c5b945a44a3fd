"""The command line: one thin module per command, imported only when the command runs."""

from __future__ import annotations

import gc
import io
import sys
from typing import NoReturn

from gradcheck_tool import __version__


def main() -> None:
    """Entry point of the `gradlint` command.

    The version is printed before anything is imported: scripts and editors ask for it often.
    """
    if sys.argv[1:] in (["version"], ["--version"], ["-V"]):
        sys.stdout.write(f"gradlint {__version__}\n")
        return
    # Nothing that start-up makes is garbage: looking for some only costs time. `app` lets it begin.
    gc.disable()
    from gradcheck_tool.cli.app import app

    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a character of somebody's source shows a question mark.
        sys.stdout.reconfigure(errors="replace")
    try:
        app(prog_name="gradlint")
    except Exception as error:  # noqa: BLE001 - status 1 means findings, and a traceback explains nothing
        _give_up(error)


def _give_up(error: Exception) -> NoReturn:
    """End a run that failed in a way that no command foresaw."""
    import traceback
    from pathlib import Path

    what = str(error) if isinstance(error, OSError) else f"internal error: {type(error).__name__}: {error}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    sys.stderr.write(f"gradlint: error: {what} ({Path(last.filename).name}:{last.lineno})\n")
    if {"-v", "--verbose"} & set(sys.argv):
        traceback.print_exception(error)
    raise SystemExit(2) from error
