"""Spreading units over the machines of a Ray cluster, with the results that this machine would give.

Each Ray worker is an actor that checks units in isolated processes of its own, as `scheduler` does here.
The sources, the packages and the cache have to be at the same places on all machines, as on a shared disk.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcheck_tool.harness.outcomes import Outcome
from gradcheck_tool.harness.process import WorkerError
from gradcheck_tool.harness.scheduler import Bench, Engine, work_off

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gradcheck_tool.harness.scheduler import Board
    from gradcheck_tool.harness.settings import Settings
    from gradcheck_tool.harness.units import Unit

TRIES = 3
"""How often a unit is begun before it is given up, when the Ray workers that check it die."""

LOOK = 5.0
"""Seconds between two looks at whether the cluster is still there."""

CLOSING = 10.0
"""Seconds that a Ray worker may take to end its processes."""


@dataclass(frozen=True)
class RayEngine:
    """How units are run on a cluster.

    Attributes:
        settings: limits and options.
        jobs: units that are checked at a time; 0: as many as the cluster has cores.
        cache: the `.gradlint_cache` folder with recorded calls.
    """

    settings: Settings
    jobs: int
    cache: Path

    def run(self, units: Sequence[Unit], told: Callable[[Outcome], None] | None = None) -> list[Outcome]:
        """Check all units; see `Engine.run`.

        Raises:
            WorkerError: there is no cluster at `RAY_ADDRESS`, it has no core or loses the last machine that
                has, or its workers cannot import PyTorch.
        """
        import ray
        from ray.exceptions import RayError

        numbered = [device for device in self.settings.devices if ":" in device]
        if numbered:
            raise WorkerError(f"Ray gives a worker a GPU of its own: say cuda instead of {numbered[0]}")
        with _connected():
            has = ray.cluster_resources()
            if has.get("CPU", 0) < 1:
                raise WorkerError("the Ray cluster has no core to check anything on")
            jobs = self.jobs or int(has["CPU"])
            crew = _Crew(replace(self, jobs=jobs), tuple(units), gpus=int(has.get("GPU", 0)))
            try:
                return work_off(units, jobs, lambda board: _RaySlot(crew, board), told)
            except RayError as error:
                raise WorkerError(f"the Ray cluster fails: {_line(error)}") from error


@contextmanager
def _connected() -> Iterator[None]:
    """Be at the cluster at `RAY_ADDRESS`, or at one that is started on this machine.

    Raises:
        WorkerError: there is none at that address.
    """
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray says on standard output, where reports go, at length what befalls its workers.
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        try:
            ray.init(log_to_driver=False, logging_level="error")
        except (ConnectionError, RuntimeError, ValueError) as error:
            address = os.environ.get("RAY_ADDRESS", "this machine")
            raise WorkerError(f"no Ray cluster at {address}: {_line(error)}") from error
        try:
            yield
        finally:
            ray.shutdown()


@dataclass(frozen=True)
class _Crew:
    """What all Ray workers of a run have in common."""

    engine: RayEngine
    units: tuple[Unit, ...]
    gpus: int

    def hire(self, device: str) -> Any:
        """A new actor for units of a device; it waits until some machine has room for it."""
        import ray

        # Without any GPU, the worker itself says that there is none, as it does without Ray.
        needs_gpu = device == "cuda" and self.gpus > 0
        actor = ray.remote(_RayWorker).options(num_cpus=1, num_gpus=int(needs_gpu), max_restarts=0)
        return actor.remote(self.engine, self.units, str(Path.cwd()))


class _RayWorker:
    """The part of a Ray worker: a bench on its machine."""

    def __init__(self, engine: RayEngine, units: Sequence[Unit], folder: str) -> None:
        os.chdir(folder)
        neighbours = min(engine.jobs, os.cpu_count() or 1)
        self._bench = Bench(Engine.of(engine.settings, neighbours, engine.cache), units)

    def check(self, unit: Unit) -> list[Outcome]:
        """Check a unit; see `Bench.check`."""
        return self._bench.check(unit)

    def close(self) -> None:
        """End the processes of the bench."""
        self._bench.close()


class _RaySlot:
    """One Ray worker at a time; a new one, wherever there is room, when it dies."""

    def __init__(self, crew: _Crew, board: Board) -> None:
        self._crew = crew
        self._board = board
        self._actor: Any = None
        self._device = ""

    def check(self, unit: Unit) -> None:
        """Check one unit, again if the worker or its machine dies in the middle of it."""
        from ray.exceptions import RayActorError, RayTaskError

        why = ""
        for _ in range(TRIES):
            try:
                outcomes = self._ask(unit)
            except RayActorError as error:
                why = _line(error)
                self.close()
                continue
            except RayTaskError as error:
                raise error.cause from error
            for outcome in outcomes:
                self._board.put(outcome)
            return
        self._board.put(Outcome(unit, cause=f"{TRIES} Ray workers died while they checked it: {why}"))

    def _ask(self, unit: Unit) -> list[Outcome]:
        import ray

        if self._actor is None or self._device != unit.device:
            self.close()
            self._actor, self._device = self._crew.hire(unit.device), unit.device
        asked = self._actor.check.remote(unit)
        while not ray.wait([asked], timeout=LOOK)[0]:
            # A worker that no machine has room for is waited for without end.
            if not _has_machines():
                raise WorkerError("the Ray cluster has lost the last machine that could check anything")
        outcomes: list[Outcome] = ray.get(asked)
        return outcomes

    def close(self) -> None:
        """Let the worker go, and with it its place in the cluster."""
        import ray
        from ray.exceptions import RayError

        if self._actor is None:
            return
        with suppress(RayError):
            ray.get(self._actor.close.remote(), timeout=CLOSING)
        ray.kill(self._actor)
        self._actor = None


def _has_machines() -> bool:
    """Whether a machine of the cluster lives that has a core."""
    import ray

    return any(node["Alive"] and node["Resources"].get("CPU", 0) >= 1 for node in ray.nodes())


def _line(error: Exception) -> str:
    """What an error says, in one line."""
    return " ".join(str(error).split())[:300]
