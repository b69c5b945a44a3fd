"""A check in a process of its own: a Function that ends its process does not end the caller's.

Where that works, the child is forked, so it has the Function and its arguments as they are, also those that
cannot be pickled. No fork can use CUDA, or autograd's threads, once its parent does: then the child is a
fresh process.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import tempfile
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from gradcheck_tool.codes import CODES
from gradcheck_tool.findings import Finding, Severity
from gradcheck_tool.gradcheck.fresh import Death, in_fresh_process, outcome_of
from gradcheck_tool.gradcheck.problem import Evaluations
from gradcheck_tool.gradcheck.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from gradcheck_tool.gradcheck.fresh import Call
    from gradcheck_tool.gradcheck.target import Target


def check_isolated(target: Target, check: Callable[[bool], Report], call: Call) -> Report:
    """The report of `check(True)`, which makes risky calls, too, as another process makes it.

    A death is told only if a second process dies, too. What a Function is that dies of a risky call is then
    seen without them, by `check(False)`.

    Args:
        target: what is checked.
        check: checks it, with risky calls or without.
        call: the same for a process that cannot be forked.

    Raises:
        RuntimeError: this process cannot be forked, and `call` cannot be pickled.
    """
    if can_fork():

        def run(risky: bool) -> Report | Death:
            return _in_fork(lambda: check(risky))
    else:

        def run(risky: bool) -> Report | Death:
            return in_fresh_process(call, risky=risky)

    first = run(True)
    if isinstance(first, Report):
        return first
    again = run(True)
    if isinstance(again, Report):
        note = f"a first process {first.how}; a second one did not, and made this report"
        return replace(again, notes=(*again.notes, note))
    plain = run(False)
    if isinstance(plain, Report):
        text = f"{again.how} for derived inputs: another size, number, stride or value than was given"
        found = _finding(target, text, again, Severity.WARNING)
        return replace(plain, findings=(*plain.findings, found))
    found = _finding(target, f"{plain.how} at the given inputs", plain, None)
    return Report(target.name, (found,), Evaluations(), (), "none")


def can_fork() -> bool:
    """Whether a fork of this process can do what this one can.

    Where PyTorch has a device, the first backward of a process starts autograd's threads, which no fork has.
    """
    if not hasattr(os, "fork") or torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return False
    accelerator = getattr(torch, "accelerator", torch.cuda)
    return not accelerator.is_available()


def _finding(target: Target, text: str, death: Death, severity: Severity | None) -> Finding:
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


def _in_fork(check: Callable[[], Report]) -> Report | Death:
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
            return outcome_of(pickle.load(answer))  # noqa: S301  (written by our own child)
        return Death.of(os.waitstatus_to_exitcode(status), log.read().decode(errors="replace"))


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
