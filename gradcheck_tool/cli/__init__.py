"""The command line: one thin module per command, imported only when the command runs."""

from __future__ import annotations

import gc
import io
import sys

from gradcheck_tool import __version__


def main() -> None:
    """Entry point of the `gradlint` command.

    The version is printed before anything is imported: scripts and editors ask for it often.
    """
    if sys.argv[1:] in (["version"], ["--version"], ["-V"]):
        sys.stdout.write(f"gradlint {__version__}\n")
        return
    # Nothing that start-up makes is garbage: looking for some only costs time.
    gc.disable()
    from gradcheck_tool.cli.app import app

    gc.enable()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a character of somebody's source shows a question mark.
        sys.stdout.reconfigure(errors="replace")
    app(prog_name="gradlint")
