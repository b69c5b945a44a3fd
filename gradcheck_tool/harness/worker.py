"""The program that a worker process runs: import Functions, get their inputs, check them, tell the parent."""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from gradcheck_tool.harness.outcomes import CaseResult, InputResult, pack_case, pack_finding
from gradcheck_tool.harness.protocol import Channel
from gradcheck_tool.harness.strays import adopt_orphans
from gradcheck_tool.harness.units import unpack_unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.gradcheck import Report
    from gradcheck_tool.harness.inputs.case import Case, CasesFound
    from gradcheck_tool.harness.units import Unit

# The part of the time limit after which the stack is written down, and after which no case is begun.
_LATE, _ENOUGH = 0.95, 0.5
_PATIENCE_S = 30.0
"""Seconds of work that one call with arguments that nobody has given may take: inside of native code nothing
else ends it.
"""
_LONG_S = 60.0
"""Seconds after which a report says what took so long."""


def main() -> None:
    """Serve the parent until it closes its end."""
    adopt_orphans()
    channel = Channel.take_over()
    _write_no_core()
    faulthandler.enable(sys.stderr)
    _tell_where_it_leaves()
    try:
        import torch
    except Exception as error:  # noqa: BLE001 - a broken PyTorch raises anything
        channel.tell("ready", error=f"{type(error).__name__}: {error}")
    else:
        channel.tell("ready", torch=torch.__version__)
        for order in channel.orders():
            _serve(channel, order)


def _write_no_core() -> None:
    """A crash leaves no file in the folder of the user."""
    if os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _tell_where_it_leaves() -> None:
    """Let `os._exit` write down the stack, as a crash does."""
    leave, mine = os._exit, os.getpid()

    def leave_and_tell(status: int) -> NoReturn:
        if os.getpid() == mine:
            os.write(2, b"Fatal Python error: os._exit\n")
            faulthandler.dump_traceback(2, all_threads=False)
        leave(status)

    vars(os)["_exit"] = leave_and_tell


def _serve(channel: Channel, order: dict[str, Any]) -> None:
    unit = unpack_unit(order["unit"])
    settings = order["settings"]
    faulthandler.dump_traceback_later(settings["timeout"] * _LATE, file=sys.stderr)
    try:
        with _defaults():
            facts = _check(channel, unit, settings)
    except BaseException as error:  # noqa: BLE001 - checked code may raise anything, SystemExit too
        from gradcheck_tool.harness.loading import described

        facts = {"cause": f"checking it raises {described(error, Path(unit.ref.filename))}"}
    faulthandler.cancel_dump_traceback_later()
    gc.collect()
    channel.tell("done", **facts)


def _check(channel: Channel, unit: Unit, settings: dict[str, Any]) -> dict[str, Any]:
    """Check one unit; the facts for its `done` event."""
    from gradcheck_tool.gradcheck.broken import BrokenDeviceError, broken_device
    from gradcheck_tool.harness import alone, without_cuda
    from gradcheck_tool.harness.loading import (
        LoadError,
        import_samples,
        load_function,
        remarks,
    )

    stages = _Stages()
    channel.tell("stage", stage="import")
    absent = _absent_device(unit.device)
    if absent:
        return {"cause": absent}
    try:
        function = load_function(unit.ref)
    except LoadError as error:
        return {"cause": str(error)}
    notes = [*remarks(unit.ref), *import_samples(unit.ref)]
    gap = _gap(function)
    if gap:
        return {"cause": gap, "lasting": True}
    channel.tell("stage", stage="inputs", stub=_bare_stub(function, unit), patience=_PATIENCE_S)
    stages.begin("arguments")
    try:
        with _beating(function, channel):
            found = _inputs(function, unit, settings)
    except BrokenDeviceError as error:
        return {"end": str(error)}
    if broken := broken_device(unit.device):
        return {"end": broken}
    if not found.cases and (heirs := _heirs(function)):
        return {
            "notes": notes,
            "cause": f"a base class, checked by way of {', '.join(heirs)}",
            "lasting": True,
        }
    if not found.cases:
        return {
            "notes": [*notes, *stages.remarks()],
            "cause": f"no inputs declared, recorded or found by trying: {_last(found.tried)}",
            "tried": found.tried,
            "stub": found.stub,
            "lasting": True,
        }
    notes += [alone.NOTE] * alone.is_joined() + [without_cuda.NOTE] * without_cuda.is_staying()
    stages.begin("checking")
    facts = _check_cases(channel, function, unit, found, settings)
    return {**facts, "notes": [*notes, *stages.remarks(), *facts.get("notes", ())]}


class _Stages:
    """Seconds by the clock that each stage of a check takes."""

    def __init__(self) -> None:
        self._began = [("importing", time.monotonic())]

    def begin(self, name: str) -> None:
        """The stage before has ended."""
        self._began.append((name, time.monotonic()))

    def remarks(self) -> list[str]:
        """A line where all of it has taken long, with what took the time."""
        ends = [*(start for _, start in self._began[1:]), time.monotonic()]
        took = [f"{name} {end - start:.0f} s" for (name, start), end in zip(self._began, ends, strict=True)]
        whole = ends[-1] - self._began[0][1]
        return [f"took {whole:.0f} s: {', '.join(took)}"] if whole > _LONG_S else []


def _check_cases(
    channel: Channel, function: type, unit: Unit, found: CasesFound, settings: dict[str, Any]
) -> dict[str, Any]:
    from gradcheck_tool.gradcheck.broken import broken_device
    from gradcheck_tool.gradcheck.native import native_code
    from gradcheck_tool.harness.eager import eagerly
    from gradcheck_tool.harness.incoming import check_incoming

    started, native = time.monotonic(), native_code(function) is not None
    notes, causes = [], []
    for number, case in enumerate(found.cases):
        if number and time.monotonic() - started > settings["timeout"] * _ENOUGH:
            notes.append(f"{number} of {len(found.cases)} inputs were checked in the time there is")
            break
        stage = {"stage": "case", "source": case.source, "note": case.note}
        channel.tell("stage", **stage)
        try:
            guessed = case.source == "synthesised" and "compile" not in settings["modes"]
            with _beating(function, channel), eagerly() if guessed else nullcontext():
                if native:
                    # A derived call may not come back from native code: what is known before it is told.
                    report = _report(function, case, settings, risky=False)
                    if _refusal(report, case) is None and not broken_device(unit.device):
                        _tell(channel, case, number, report, list(report.findings))
                        channel.tell("stage", **stage, derived=True, patience=_PATIENCE_S)
                report = _report(function, case, settings)
                incoming = check_incoming(function, unit, case, report)
        except SystemExit as error:
            return {"end": f"calls sys.exit({error})"}
        broken = broken_device(unit.device)
        told = any(finding.code == "GC304" for finding in report.findings)
        if broken and not told:
            return {"end": broken}
        refusal = _refusal(report, case)
        if refusal:
            causes.append(refusal)
            continue
        _tell(channel, case, number, report, [f for f in (*report.findings, incoming) if f is not None])
        if broken:
            return {"notes": notes, "last": True}
    checked = len(causes) < len(found.cases)
    facts: dict[str, Any] = {"notes": notes, "lasting": not notes}
    return facts if checked else {**facts, "cause": causes[0], "tried": found.tried, "stub": found.stub}


def _tell(channel: Channel, case: Case, number: int, report: Report, findings: Sequence[Finding]) -> None:
    """Tell what is known of a case, in the place of what was told of it before."""
    packed = [pack_finding(finding) for finding in findings]
    channel.tell("case", number=number, result=pack_case(_result(report, case)), findings=packed)


def _report(function: type, case: Case, settings: dict[str, Any], *, risky: bool = True) -> Report:
    from gradcheck_tool.gradcheck import check_function

    options = {
        "seed": settings["seed"],
        "modes": tuple(settings["modes"]),
        "surrogates": settings["surrogates"],
        "plots": settings["plots"],
        "risky": risky,
        **case.options,
    }
    return check_function(function, tuple(case.args), dict(case.kwargs), **options)


def _inputs(function: type, unit: Unit, settings: dict[str, Any]) -> CasesFound:
    from gradcheck_tool.harness.inputs.case import InputSettings
    from gradcheck_tool.harness.inputs.finding import cases

    wanted = InputSettings(
        device=unit.device,
        dtype=unit.dtype,
        seed=settings["seed"],
        cache=settings["cache"],
        limit=settings["cases"],
    )
    return cases(function, unit.ref, wanted)


def _last(tried: Sequence[str]) -> str:
    """Why the last of the ways to get inputs gave none."""
    return tried[-1].partition(": ")[2] if tried else "nothing was tried"


def _bare_stub(function: type, unit: Unit) -> str:
    """Samples to complete, in case the search for inputs does not finish."""
    from gradcheck_tool.harness.inputs.stub import stub
    from gradcheck_tool.harness.inputs.synthesised.parameters import parameters_of_function

    try:
        names = [parameter.name for parameter in parameters_of_function(function)]
    except (ValueError, TypeError):
        names = []
    return stub(unit.ref, names, ())


def _refusal(report: Report, case: Case) -> str | None:
    """Why a report says nothing about the gradient: then it is no verdict, unless the user gave the input."""
    codes = {finding.code for finding in report.findings}
    if "GC303" in codes or ("GC302" in codes and case.source != "declared"):
        return next(f.message for f in report.findings if f.code in ("GC302", "GC303"))
    return None


def _result(report: Report, case: Case) -> CaseResult:
    from gradcheck_tool.harness.heat import largest, small_heat

    return CaseResult(
        source=case.source,
        note=case.note,
        inputs=tuple(InputResult(v.index, v.verdict, v.oracle, v.sensitivity, v.name) for v in report.inputs),
        calls=report.evaluations.total,
        oracle=report.oracle,
        text=report.text(),
        notes=report.notes,
        heat={index: small_heat(values) for index, values in report.heat.items()},
        largest={index: largest(values) for index, values in report.heat.items()},
    )


def _gap(function: type) -> str | None:
    """What a base class leaves to its subclasses; a Function without it cannot be checked."""
    from torch.autograd import Function

    def own(name: str) -> bool:
        return getattr(function, name, None) is not getattr(Function, name, None)

    if not own("forward"):
        return "defines no forward: a base class of others"
    if not (own("backward") or own("vjp") or own("jvp")):
        return "defines no backward: a base class of others, or not differentiable"
    return (
        "its backward returns None for every argument: there is no gradient to check"
        if _blind(function)
        else None
    )


def _blind(function: type) -> bool:
    """Whether backward is seen to return a gradient for no argument."""
    from gradcheck_tool.harness.inputs.synthesised.parameters import parameters_of_function

    try:
        parameters = parameters_of_function(function)
    except (ValueError, TypeError):
        return False
    return bool(parameters) and all(parameter.gradient is False for parameter in parameters)


def _heirs(function: type) -> list[str]:
    """The subclasses of a Function in its package, each of which is checked."""
    package = function.__module__.partition(".")[0]
    heirs: list[type] = function.__subclasses__()
    return [
        heir.__qualname__
        for heir in heirs
        if heir.__module__.partition(".")[0] == package and heir.__qualname__ != function.__qualname__
    ]


def _absent_device(device: str) -> str | None:
    """Why a device cannot be used here."""
    import torch

    try:
        torch.empty(1, device=device)
    except Exception as error:  # noqa: BLE001 - backends raise errors of their own
        return f"device {device!r} cannot be used here: {' '.join(str(error).split())[:200]}"
    return None


@contextmanager
def _beating(function: Any, channel: Channel) -> Iterator[None]:
    """Tell the parent whenever a call returns, so that it can tell a hang from slow progress."""
    original, own = function.apply, "apply" in vars(function)

    def apply(*args: Any, **kwargs: Any) -> Any:
        channel.beat()
        return original(*args, **kwargs)

    before = vars(function).get("apply")
    function.apply = staticmethod(apply)
    try:
        yield
    finally:
        if own:
            function.apply = before
        else:
            del function.apply


@contextmanager
def _defaults() -> Iterator[None]:
    """Put back what checked code may have set for the whole process."""
    import torch

    from gradcheck_tool.harness import alone, checkpoints, without_cuda

    dtype, folder = torch.get_default_dtype(), Path.cwd()
    deterministic, grad = torch.are_deterministic_algorithms_enabled(), torch.is_grad_enabled()
    try:
        yield
    finally:
        alone.leave()
        without_cuda.leave()
        checkpoints.leave()
        torch.set_default_dtype(dtype)
        torch.set_default_device(None)
        torch.use_deterministic_algorithms(deterministic)
        torch.set_grad_enabled(grad)
        os.chdir(folder)
