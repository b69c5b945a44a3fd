"""A check in a process of its own: a Function that ends its process does not end the caller's.

The child is forked, so it has the Function and its arguments as they are, also those that cannot be pickled.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.codes import CODES
from gradcheck_tool.ending import signal_name
from gradcheck_tool.findings import Finding, Severity
from gradcheck_tool.gradcheck.problem import Evaluations
from gradcheck_tool.gradcheck.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from gradcheck_tool.gradcheck.target import Target

_FRAMES = 8
"""Frames of the stack of a death that are kept."""


@dataclass(frozen=True)
class _Death:
    """How a child ended without a report, and where it was: innermost first, up to what autograd calls."""

    how: str
    stack: tuple[str, ...]


def check_isolated(target: Target, check: Callable[[bool], Report]) -> Report:
    """The report of `check(True)`, which makes risky calls, too, as a forked process makes it.

    A death is told only if a second process dies, too. What a Function is that dies of a risky call is then
    seen without them, by `check(False)`.

    Raises:
        RuntimeError: processes cannot be forked here, or a CUDA context is in use, which no fork survives.
    """
    if not hasattr(os, "fork"):
        raise RuntimeError("isolate=True needs os.fork, which this system does not have")
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        raise RuntimeError("isolate=True cannot be used once CUDA is: a forked process has no CUDA context")
    first = _in_child(lambda: check(True))
    if isinstance(first, Report):
        return first
    again = _in_child(lambda: check(True))
    if isinstance(again, Report):
        note = f"a first process {first.how}; a second one did not, and made this report"
        return replace(again, notes=(*again.notes, note))
    plain = _in_child(lambda: check(False))
    if isinstance(plain, Report):
        text = f"{again.how} for derived inputs: another size, number, stride or value than was given"
        found = _finding(target, text, again, Severity.WARNING)
        return replace(plain, findings=(*plain.findings, found))
    found = _finding(target, f"{plain.how} at the given inputs", plain, None)
    return Report(target.name, (found,), Evaluations(), (), "none")


def _finding(target: Target, text: str, death: _Death, severity: Severity | None) -> Finding:
    entry = CODES["GC304"]
    where = f", in {death.stack[-1]}" if death.stack else ""
    return Finding(
        "GC304",
        entry.name,
        severity or entry.severity,
        f"{target.name.rpartition('.')[2]} {text}{where}",
        target.location,
        url=entry.url,
        function=target.name,
        evidence={"diagnosis": "crash", "how": death.how, "stack": list(death.stack)},
        source="gradcheck",
    )


def _in_child(check: Callable[[], Report]) -> Report | _Death:
    """What a forked process reports, or how it died; what `check` raises there is raised here."""
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as log:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # that other threads are not forked
            child = os.fork()
        if child == 0:
            _serve(check, answer, log)
        try:
            _, status = os.waitpid(child, 0)
        except BaseException:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise
        answer.seek(0)
        log.seek(0)
        if status == 0:
            outcome: Any = pickle.load(answer)  # noqa: S301  (written by our own child)
            if isinstance(outcome, BaseException):
                raise outcome
            report: Report = outcome
            return report
        return _Death(_ending(os.waitstatus_to_exitcode(status)), _stack(log.read().decode(errors="replace")))


def _serve(check: Callable[[], Report], answer: BinaryIO, log: BinaryIO) -> None:
    """The child: write the report, or what was raised, and end without any of the caller's clean-up."""
    status = 1
    try:
        faulthandler.enable(log, all_threads=False)
        torch.set_num_threads(1)  # the threads of the caller were not forked
        try:
            outcome: Report | BaseException = check()
        except Exception as error:  # noqa: BLE001  (raised by the caller of the child)
            outcome = error
        pickle.dump(outcome, answer)
        answer.flush()
        status = 0
    finally:
        os._exit(status)


def _ending(code: int) -> str:
    if code >= 0:
        return f"ends the process with status {code}"
    return f"kills the process: {signal_name(-code)}"


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
