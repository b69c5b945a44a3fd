"""The command line: one thin module per command, imported only when the command runs."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from gradcheck_tool import __version__

if TYPE_CHECKING:
    from gradcheck_tool.cache.snapshot import Snapshot


# Why something cannot be written to what is open already.
_UNWRITTEN = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)


def main() -> None:
    """The `gradlint` command.

    The version is printed before anything is imported: scripts and editors ask for it often.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a character of somebody's source shows a question mark.
        sys.stdout.reconfigure(errors="replace")
    try:
        if sys.argv[1:] in (["version"], ["--version"], ["-V"]):
            sys.stdout.write(f"gradlint {__version__}\n")
            sys.stdout.flush()
            return
        last = _last_run()
        # Nothing that start-up makes is garbage: looking for some only costs time. `app` lets it begin.
        gc.disable()
        from gradcheck_tool.cli.app import app

        app(prog_name="gradlint", obj=last)
    except BrokenPipeError:
        # Who reads the output has seen enough.
        from gradcheck_tool.cli.console import drop_output

        drop_output()
        raise SystemExit(1) from None
    except Exception as error:  # noqa: BLE001 - status 1 means findings, and a traceback explains nothing
        _give_up(error)
    finally:
        gc.freeze()  # the end of a process would look once more for garbage, which costs time


def _last_run() -> Snapshot | None:
    """The last run of this command. Where nothing has changed since, this one ends here."""
    if sys.argv[1:2] != ["check"] or "--no-cache" in sys.argv or os.environ.get("GRADLINT_NO_CACHE"):
        return None
    from gradcheck_tool.cli.replay import replay, snapshot

    last = snapshot()
    status = replay(last)
    if status is not None:
        raise SystemExit(status)
    return last


def _give_up(error: Exception) -> NoReturn:
    """End a run that failed in a way that no command foresaw."""
    import traceback
    from pathlib import Path

    from gradcheck_tool.cli.console import drop_output, tell_unwritten
    from gradcheck_tool.trust.visible import visible

    if isinstance(error, OSError) and error.errno in _UNWRITTEN and error.filename is None:
        # What is written to files is told where that is done: this is a stream.
        drop_output()
        tell_unwritten("standard output", error)
        raise SystemExit(2) from error
    what = str(error) if isinstance(error, OSError) else f"internal error: {type(error).__name__}: {error}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    sys.stderr.write(visible(f"gradlint: error: {what} ({where})") + "\n")
    if {"-v", "--verbose"} & set(sys.argv):
        traceback.print_exception(error)
    raise SystemExit(2) from error
