"""`gradlint record`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradcheck_tool.cli.console import count, fail, note

CONTEXT_SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False}
_USAGE = "give it what Python runs: `gradlint record -m pytest tests/` or `gradlint record train.py`"


def record(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="-m MODULE ... | SCRIPT ...", help="What to run, as you would pass it to `python`."
        ),
    ],
) -> None:
    """Run a script or tests, and save their calls of Functions.

    This runs your code: do not use it on code that you do not trust.
    `gradlint gradcheck` then checks every autograd.Function with these calls.
    The exit status is that of your command. Only the cache folder (`.gradlint_cache`) is written.
    """
    if arguments[0] == "-m" and len(arguments) == 1:
        fail(_USAGE)
    if arguments[0] != "-m" and not Path(arguments[0]).exists():
        fail(f"{arguments[0]}: no such file; {_USAGE}")
    from gradcheck_tool.config import ConfigError, Overrides
    from gradcheck_tool.configs import Configs
    from gradcheck_tool.harness.record.command import run_recorded

    try:
        cache = Configs(Path.cwd(), Overrides()).for_folder(Path.cwd()).cache
        recording = run_recorded(arguments, cache)
    except ConfigError as error:
        fail(str(error))
    except OSError as error:
        fail(f"cannot write the cache: {error}")
    kept = sum(recording.calls.values())
    functions = count(len(recording.calls), "autograd.Function")
    if recording.calls or recording.problems:
        note(f"gradlint: recorded {count(kept, 'call')} of {functions} in {recording.cache}")
    else:
        note("gradlint: recorded nothing: no autograd.Function was called")
    for name, problem in recording.problems.items():
        note(f"gradlint: not recorded: a call of {name}: {problem}")
    raise typer.Exit(recording.status)
