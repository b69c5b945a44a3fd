"""Spreading units over worker processes, and finding the culprit when one of them dies."""

from __future__ import annotations

import os
import threading
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import psutil

from gradcheck_tool.findings import Severity
from gradcheck_tool.harness.outcomes import (
    Outcome,
    environment_finding,
    merged,
    unpack_case,
    unpack_finding,
)
from gradcheck_tool.harness.process import Answer, Worker
from gradcheck_tool.session.pool import default_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.harness.settings import Settings
    from gradcheck_tool.harness.units import Unit

SUSPECTS = 8
"""How many of the units before a crash are looked at again when the crash does not repeat alone."""

_CODES = {"crash": "GC304", "hang": "GC305", "memory": "GC306"}


@dataclass(frozen=True)
class Engine:
    """How units are run.

    Attributes:
        settings: limits and options.
        jobs: worker processes at a time.
        cache: the `.gradlint_cache` folder with recorded calls, if any.
        threads: threads of PyTorch in each worker.
    """

    settings: Settings
    jobs: int
    cache: Path | None
    threads: int

    @classmethod
    def of(cls, settings: Settings, jobs: int, cache: Path | None) -> Engine:
        """An engine that shares the machine's cores, and four fifths of its memory, among the workers.

        Without a number of `jobs` there is one for each core that this process may use.
        """
        jobs = jobs or default_jobs()
        memory = settings.memory or int(psutil.virtual_memory().total * 0.8) // jobs
        threads = max(1, (os.cpu_count() or 1) // jobs)
        return cls(replace(settings, memory=memory), jobs, cache, threads)

    def run(self, units: Sequence[Unit], told: Callable[[Outcome], None] | None = None) -> list[Outcome]:
        """Check all units.

        Args:
            units: those of one root and device beside each other; a worker continues with such.
            told: is called with every outcome as it comes, from any thread.

        Returns:
            One outcome for each unit, in their order.

        Raises:
            WorkerError: PyTorch cannot be imported.
        """
        return work_off(units, self.jobs, lambda board: _LocalSlot(self, board), told)


class Slot(Protocol):
    """What checks units one at a time, wherever it does so."""

    def check(self, unit: Unit) -> None:
        """Check one unit; the slot's board has its outcome afterwards."""

    def close(self) -> None:
        """Give back what the slot holds."""


def work_off(
    units: Sequence[Unit],
    jobs: int,
    slot_on: Callable[[Board], Slot],
    told: Callable[[Outcome], None] | None,
) -> list[Outcome]:
    """Check all units in slots, each with a thread of its own.

    Args:
        units: those of one kind beside each other.
        jobs: slots at a time.
        slot_on: makes a slot that puts its outcomes on a board.
        told: is called with every outcome as it comes, from any thread.

    Returns:
        One outcome for each unit, in their order.
    """
    board = Board(units, told)
    threads = [
        threading.Thread(target=_work, args=(slot_on(board), board), daemon=True)
        for _ in range(min(jobs, len(units)))
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        board.stop()
    return board.finished()


def _work(slot: Slot, board: Board) -> None:
    """Check units until there are none."""
    try:
        like = None
        while (unit := board.take(like)) is not None:
            like = _kind(unit)
            slot.check(unit)
    except BaseException as error:  # noqa: BLE001 - told to the thread that waits
        board.fail(error)
    finally:
        slot.close()


class Bench:
    """Checks units one at a time, as a test runner asks for them, in a worker that is kept between them."""

    def __init__(self, engine: Engine, units: Sequence[Unit]) -> None:
        """`units` are all that may be asked for."""
        self._board = Board(units, None)
        self._slot = _LocalSlot(engine, self._board)

    def check(self, unit: Unit) -> list[Outcome]:
        """Check one unit: its outcome, then new ones of earlier units to which a crash was traced.

        Raises:
            WorkerError: PyTorch cannot be imported.
        """
        told = {id(outcome) for outcome in self._board.finished()}
        self._slot.check(unit)
        new = [outcome for outcome in self._board.finished() if id(outcome) not in told]
        return sorted(new, key=lambda outcome: outcome.unit != unit)

    def close(self) -> None:
        """End the worker."""
        self._slot.close()


class Board:
    """What is still to do and what is done; shared by all slots."""

    def __init__(self, units: Sequence[Unit], told: Callable[[Outcome], None] | None) -> None:
        self._todo = deque(enumerate(units))
        self._done: dict[int, Outcome] = {}
        self._places = {unit: number for number, unit in enumerate(units)}
        self._told = told
        self._lock = threading.Lock()
        self._failure: BaseException | None = None

    def take(self, like: tuple[str, str] | None) -> Unit | None:
        """The next unit, one that the slot's worker can continue with if there is any."""
        with self._lock:
            if not self._todo:
                return None
            found = next((item for item in self._todo if _kind(item[1]) == like), self._todo[0])
            self._todo.remove(found)
            return found[1]

    def put(self, outcome: Outcome) -> None:
        """Note the outcome of a unit, in the place of an earlier one."""
        with self._lock:
            first = self._places[outcome.unit] not in self._done
            self._done[self._places[outcome.unit]] = outcome
        if first and self._told is not None:
            self._told(outcome)

    def blame(self, unit: Unit, how: str, answer: Answer, victim: Unit) -> None:
        """Add a finding to a unit that was thought to be finished."""
        found = environment_finding(
            "GC304",
            unit,
            f"{unit.ref.qualname} corrupts the process: after it, checking {victim.ref.qualname} {how}",
            {"how": how, "stack": answer.stack},
        )
        with self._lock:
            place = self._places[unit]
            before = self._done[place]
            self._done[place] = replace(before, findings=(*before.findings, found), lasting=False)

    def fail(self, error: BaseException) -> None:
        """Give up: nothing more is handed out."""
        with self._lock:
            self._failure = self._failure or error
            self._todo.clear()

    def stop(self) -> None:
        """Hand out nothing more."""
        with self._lock:
            self._todo.clear()

    def finished(self) -> list[Outcome]:
        """The outcomes so far, in the order of the units; or the error for which it was given up."""
        if self._failure is not None:
            raise self._failure
        return [self._done[number] for number in sorted(self._done)]


def _kind(unit: Unit) -> tuple[str, str]:
    """Units of one kind can share a worker: modules of two roots may have the same name."""
    return (unit.ref.root, unit.device)


class _LocalSlot:
    """One worker process of this machine at a time."""

    def __init__(self, engine: Engine, board: Board) -> None:
        self._engine = engine
        self._board = board
        self._worker: Worker | None = None

    def check(self, unit: Unit) -> None:
        """Check one unit; the board has its outcome afterwards."""
        worker = self._worker_for(unit)
        before = list(worker.history)
        answer, note = worker.check(unit), None
        if answer.death == "crash" or (answer.death == "memory" and before):
            # A crash is told when it comes again in a new process.
            again = self._alone([unit])
            if again.death is None and answer.death == "crash":
                note = self._find_culprit(before, unit, answer)
            answer = again
        outcome = outcome_of(unit, answer)
        self._board.put(replace(outcome, notes=(*outcome.notes, note), lasting=False) if note else outcome)

    def _find_culprit(self, before: Sequence[Unit], victim: Unit, crash: Answer) -> str:
        """The crash does not repeat alone: which of the units before the victim brings it about?

        Returns:
            A remark for the victim.
        """
        for suspect in reversed(before[-SUSPECTS:]):
            if self._alone([suspect, victim]).death == "crash":
                self._board.blame(suspect, crash.how, crash, victim)
                return f"after {suspect.name}, checking it {crash.how}"
        after = ", after others," if before else ""
        return f"checking it {crash.how} once{after} and not again"

    def _alone(self, units: Sequence[Unit]) -> Answer:
        """Check units one after the other in a process of their own; the last answer, or the first death."""
        self.close()
        answer = Answer()
        for unit in units:
            answer = self._worker_for(unit).check(unit)
            if answer.death is not None:
                break
        self.close()
        return answer

    def _worker_for(self, unit: Unit) -> Worker:
        worker = self._worker
        if worker is not None and (not worker.alive or _kind(worker.history[-1]) != _kind(unit)):
            self.close()
        if self._worker is None:
            engine = self._engine
            self._worker = Worker(unit.device, engine.settings, engine.cache, engine.threads)
        return self._worker

    def close(self) -> None:
        """End the worker, if there is one."""
        if self._worker is not None:
            self._worker.close()
        self._worker = None


def outcome_of(unit: Unit, answer: Answer) -> Outcome:
    """Make an outcome of what a worker reported before it was done or dead."""
    done = answer.done or {}
    findings = [unpack_finding(data) for event in answer.cases for data in event["findings"]]
    notes = [*done.get("notes", ())]
    cause = done.get("cause")
    if answer.death is not None:
        found, cause = _judge_death(unit, answer)
        findings += found
        if answer.cases:
            cause = None
            notes.append(f"{len(answer.cases)} inputs were checked before the process ended")
    return Outcome(
        unit=unit,
        findings=merged(findings),
        cases=tuple(unpack_case(event["result"]) for event in answer.cases),
        cause=cause,
        tried=tuple(done.get("tried", ())),
        stub=done.get("stub", "") if answer.death is None else answer.stage.get("stub", ""),
        notes=tuple(notes),
        seconds=answer.seconds,
        lasting=bool(done.get("lasting")) and answer.death is None,
        death=answer.death,
    )


def _judge_death(unit: Unit, answer: Answer) -> tuple[list[Finding], str]:
    """A finding where a call of the Function ended the worker; and in any case why it was not checked."""
    stage = answer.stage.get("stage", "import")
    doing = {"import": "importing its module", "inputs": "looking for inputs", "case": "checking it"}[stage]
    mine = [frame for frame in answer.stack if _is_inside(frame, unit)]
    place, _, function = mine[0].rpartition(" in ") if mine else ("", "", "")
    cause = f"{doing} {answer.how}" + (f"; it was in {function} ({Path(place).name})" if mine else "")
    if answer.death in (None, "slow") or not (stage == "case" or (stage == "inputs" and mine)):
        return [], cause
    return [_death_finding(unit, answer, function)], cause


def _death_finding(unit: Unit, answer: Answer, function: str) -> Finding:
    """What was called, and how that ended.

    Arguments that gradlint guessed may be at fault themselves: then it is a warning, and no more than
    information while such arguments were still looked for.
    """
    assert answer.death is not None
    name, inside = unit.ref.qualname, f" in {function}" if function else ""
    message = {
        "crash": f"{name} {answer.how}{inside}",
        "hang": f"a call of {name} {answer.how}{inside and f'; it was{inside}'}",
        "memory": f"checking {name} {answer.how}{inside and f'; it was{inside}'}",
    }[answer.death]
    if answer.stage["stage"] == "inputs":
        severity, case = Severity.INFO, "arguments that were tried"
        message += ", with arguments that were guessed"
    else:
        source, derived = answer.stage["source"], answer.stage.get("derived", False)
        severity = Severity.WARNING if source == "synthesised" or derived else Severity.ERROR
        case = f"{source} input {answer.stage['note']}".rstrip()
        message += ", with arguments derived from those given" if derived else ""
    evidence = {"how": answer.how, "case": case, **({"stack": answer.stack} if answer.stack else {})}
    found = environment_finding(_CODES[answer.death], unit, message, evidence)
    return replace(found, severity=severity)


def _is_inside(frame: str, unit: Unit) -> bool:
    """Whether a frame, `file:row in function`, is in the class of the unit or in what it inherits."""
    where, _, function = frame.rpartition(" in ")
    place, _, row = where.rpartition(":")
    rows = unit.ref.rows
    own = place == unit.ref.filename and row.isdigit() and rows.first <= int(row) <= rows.last
    return own or function in ("forward", "backward", "vjp", "jvp", "setup_context")
