"""A check in a process that is started anew, and is given the Function and its arguments as a file."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.ending import signal_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradcheck_tool.gradcheck.report import Report
    from gradcheck_tool.gradcheck.session import Options

_FRAMES = 8
"""Frames of the stack of a death that are kept."""

_MAIN = "__main__"

LOADING: list[str] = []
"""In a child, the program that it runs to find what is defined there."""


@dataclass(frozen=True)
class Call:
    """What `check_function` was asked to check."""

    func: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    options: Options


@dataclass(frozen=True)
class Death:
    """How a child ended without a report, and where it was: innermost first, up to what autograd calls."""

    how: str
    stack: tuple[str, ...] = ()

    @classmethod
    def of(cls, status: int, printed: str) -> Death:
        """The death of a process with an exit status (the negative of a signal), which printed its stack."""
        how = f"ends the process with status {status}"
        return cls(how if status >= 0 else f"kills the process: {signal_name(-status)}", _stack(printed))


def outcome_of(answer: Any) -> Report:
    """The report that a child has written down.

    Raises:
        BaseException: what the check raised there.
    """
    if isinstance(answer, BaseException):
        raise answer
    report: Report = answer
    return report


def in_fresh_process(call: Call, *, risky: bool) -> Report | Death:
    """What a fresh process reports of `call`, or how it died; what the check raises there is raised here.

    Raises:
        RuntimeError: the Function or its arguments cannot be pickled, or not found by another process; or
            it is that process that asks.
    """
    if LOADING:
        raise RuntimeError(
            f"another process runs {LOADING[0]}, too: put what starts checks under "
            "`if __name__ == '__main__':`"
        )
    with tempfile.TemporaryDirectory() as folder:
        order, answer = Path(folder, "order"), Path(folder, "answer")
        _write_order(call, order, risky=risky)
        script = f"from {__name__}_child import serve; serve({str(order)!r}, {str(answer)!r})"
        home = str(Path(__file__).parents[2])
        child = subprocess.run(  # noqa: S603  (this Python, with arguments of our own)
            [sys.executable, "-c", f"import sys; sys.path[:0] = {[*sys.path, home]!r}; {script}"],
            capture_output=True,
            check=False,
        )
        if answer.exists():
            return outcome_of(pickle.loads(answer.read_bytes()))  # noqa: S301  (written by our own child)
        return Death.of(child.returncode, child.stderr.decode(errors="replace"))


def _write_order(call: Call, order: Path, *, risky: bool) -> None:
    """Write down the call, and the file of the program where something is defined in that."""
    try:
        torch.save((call.func, call.args, dict(call.kwargs), vars(call.options), risky), order)
        written = order.read_bytes()
    except Exception as error:
        why = f"the process cannot be forked, and the call cannot be given to another one: {error}"
        raise RuntimeError(f"isolate=True cannot be used here: {why}") from error
    main = getattr(sys.modules.get(_MAIN), "__file__", None) if _MAIN.encode() in written else None
    order.with_name("main").write_text(str(Path(main).resolve()) if main else "")


def _stack(printed: str) -> tuple[str, ...]:
    """The user's frames in what faulthandler wrote, as `file:row in function`."""
    found = []
    for line in printed.splitlines():
        parts = line.strip().split('"')
        if len(parts) == 3 and parts[0] == "File ":
            row, _, function = parts[2].removeprefix(", line ").partition(" in ")
            found.append(f"{parts[1]}:{row} in {function}")
    homes = tuple(str(Path(file).parent) for file in (__file__, torch.__file__))
    own = [k for k, frame in enumerate(found) if frame.startswith(homes)]
    return tuple(found[: min(own, default=len(found))][:_FRAMES])
