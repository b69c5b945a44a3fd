"""The parent's end of a worker process: starting it, limits on its time and memory, and how it died."""

from __future__ import annotations

import atexit
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import psutil

import gradcheck_tool
from gradcheck_tool.ending import signal_name, starting, undoing
from gradcheck_tool.harness.environment import worker_environment
from gradcheck_tool.harness.strays import end_with_strays

if TYPE_CHECKING:
    from gradcheck_tool.harness.settings import Settings
    from gradcheck_tool.harness.units import Unit

# Not `-m`: that would put the folder of the command before the standard library.
_BOOT = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; sys.path.append({home!r}); "
    "from gradcheck_tool.harness.worker import main; main()"
)
TICK = 0.1
"""Seconds between two looks at a worker's memory."""

START = 120.0
"""Seconds that importing PyTorch may take on a busy machine."""

ABORT = 1.0
"""Seconds that a worker with too much memory has to write down where it is."""

LOG_TAIL = 20_000
"""Characters of what a worker printed last that are looked at."""

STACK = 8
"""Frames of a stack that are reported."""

_FRAME = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)

# Files in whose functions a call spends its time while PyTorch or Triton compile something.
_TRITON = r"triton[/\\](?:compiler|runtime[/\\]autotuner)"  # which tries a kernel with each configuration
_COMPILERS = re.compile(rf'File ".*[/\\](_inductor|_dynamo|{_TRITON}|cpp_extension\.py)\b')

Death = Literal["crash", "hang", "slow", "memory"]


class WorkerError(Exception):
    """A worker cannot do its work at all: PyTorch cannot be imported, or takes more memory than allowed."""


@dataclass(slots=True)
class Answer:
    """What a worker reported about one unit, and how it died, if it did.

    Attributes:
        stage: the last `stage` event, as it was.
        cases: the `case` events, in order.
        done: the `done` event; None where the worker did not get that far.
        death: how it died: by itself, in one call that did not return, of the time limit while it was
            getting on, or of the memory limit.
        how: the death in words.
        stack: where the checked code was, innermost first, as `file:row in function`.
        seconds: what it took.
    """

    stage: dict[str, Any] = field(default_factory=dict)
    cases: list[dict[str, Any]] = field(default_factory=list)
    done: dict[str, Any] | None = None
    death: Death | None = None
    how: str = ""
    stack: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Worker:
    """A running worker process. One thread at a time may use it.

    Attributes:
        history: the units that it has been given, in order.
    """

    def __init__(self, device: str, settings: Settings, cache: Path | None, threads: int) -> None:
        """Start the process and wait until it has imported PyTorch.

        Args:
            device: what the worker is for; without a GPU, Triton's kernels run in its interpreter.
            settings: limits and options of the run.
            cache: the `.gradlint_cache` folder with recorded calls.
            threads: threads that PyTorch may use.

        Raises:
            WorkerError: PyTorch cannot be imported, or takes more memory than a worker may.
        """
        self.history: list[Unit] = []
        self._settings = settings
        self._cache = cache
        self._mark = uuid.uuid4().hex
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self._run = ExitStack()
        with starting:
            self._process = subprocess.Popen(  # noqa: S603 - this Python, and this package
                [sys.executable, "-c", _BOOT.format(home=str(Path(gradcheck_tool.__file__).parents[1]))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                text=True,
                encoding="utf-8",
                env=worker_environment(device, threads, settings.pass_env, self._mark),
                start_new_session=True,
            )
            # A worker that hangs would outlive the run, which may end in the middle.
            self._run.enter_context(undoing(self._kill))
        atexit.register(self._kill)
        self._events: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self._wait_until_ready()

    def check(self, unit: Unit) -> Answer:
        """Have one unit checked, within the limits. Afterwards the worker may be dead: see `alive`."""
        self.history.append(unit)
        answer = Answer()
        started = time.monotonic()
        self._send(unit)
        self._follow(answer, started + self._settings.timeout)
        answer.seconds = time.monotonic() - started
        if answer.done and answer.done.get("end"):
            answer.death, answer.how = "crash", answer.done["end"]
        elif answer.done and answer.done.get("last"):
            self.close()
        if answer.death is not None:
            if answer.death == "memory" or (answer.death == "hang" and "patience" in answer.stage):
                self._abort()
            self.close()
            printed = self._printed()
            answer.stack = _stack(printed)
            if answer.death == "hang" and _compiles(printed, unit.ref.filename):
                answer.death, answer.how = "slow", f"{answer.how}; it was compiling"
        return answer

    @property
    def alive(self) -> bool:
        """Whether the worker can be given more."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process, at once if it is in the middle of something."""
        self._kill()
        self._process.wait()
        self._run.close()
        atexit.unregister(self._kill)

    def _abort(self) -> None:
        """Let the process die in the way in which it writes down where it was."""
        if os.name == "posix":
            self._process.send_signal(signal.SIGABRT)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(ABORT)

    def _kill(self) -> None:
        """Kill the process and those that it has started, which may live on after it."""
        end_with_strays(self._process.pid, self._mark)

    def _read(self) -> None:
        """Move events from the pipe to the queue until the worker's end of the pipe is closed."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith("\n"):  # else the worker died while it wrote
                self._events.put(json.loads(line))
        self._events.put(None)

    def _send(self, unit: Unit) -> None:
        settings = self._settings
        order = {
            "unit": unit.packed(),
            "settings": {
                "timeout": settings.timeout,
                "seed": settings.seed,
                "cases": settings.cases,
                "modes": settings.modes,
                "surrogates": dict(settings.surrogates),
                "plots": settings.plots,
                "cache": str(self._cache) if self._cache else None,
            },
        }
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
        except OSError:
            return  # it has died meanwhile, which reading its events will show

    def _wait_until_ready(self) -> None:
        try:
            event = self._events.get(timeout=START)
        except queue.Empty:
            event = None
        if event is None or event.get("error"):
            self.close()
            late = f"importing it took more than {START:g} s"
            why = event["error"] if event else self._printed().strip()[-500:] or late
            raise WorkerError(f"a worker process cannot import torch: {why}")
        limit, used = self._settings.memory, self._memory()
        if limit is not None and used > limit:
            self.close()
            taken = f"a worker takes {used / 2**20:.0f} MiB before anything is checked"
            raise WorkerError(f"{taken}; the memory limit is {limit / 2**20:.0f} MiB")

    def _follow(self, answer: Answer, deadline: float) -> None:
        """Take events until the unit is done or the worker dead."""
        heard, spent = time.monotonic(), 0.0
        was_alive = True
        while True:
            try:
                event = self._events.get(timeout=TICK)
            except queue.Empty:
                # Processes that the checked code has forked may hold the pipe open.
                event = None
                if was_alive:
                    was_alive = self.alive
                    spent = spent or self._work()
                    if self._exceeds(answer, deadline, heard) or self._is_stuck(answer, spent):
                        return
                    continue
            heard, spent = time.monotonic(), 0.0
            if event is None:
                answer.death, answer.how = "crash", _ending(self._process.wait())
                return
            kind = event["event"]
            if kind == "stage":
                answer.stage = event
            elif kind == "case":
                answer.cases = [c for c in answer.cases if c["number"] != event["number"]] + [event]
            elif kind == "done":
                answer.done = event
                return
            elif time.monotonic() > deadline and self._exceeds(answer, deadline, heard):
                return

    def _exceeds(self, answer: Answer, deadline: float, heard: float) -> bool:
        """Whether the worker is over a limit; its death is noted, if so."""
        settings, now = self._settings, time.monotonic()
        if now > deadline:
            stuck = now - heard > settings.timeout / 2
            answer.death = "hang" if stuck else "slow"
            answer.how = f"did not end within {settings.timeout:g} s"
            return True
        used = self._memory() if settings.memory is not None else 0
        if settings.memory is not None and used > settings.memory:
            answer.death = "memory"
            answer.how = f"took {used / 2**20:.0f} MiB; the limit is {settings.memory / 2**20:.0f} MiB"
            return True
        return False

    def _is_stuck(self, answer: Answer, spent: float) -> bool:
        """Whether a call has taken more work than the worker has patience for; its death is noted, if so.

        `spent` is the work that the process had done when it was last heard of.
        """
        patience = answer.stage.get("patience")
        if patience is None or self._work() - spent <= patience:
            return False
        answer.death, answer.how = "hang", f"did not end within {patience:g} s of work"
        return True

    def _work(self) -> float:
        """Seconds of work that the process has done."""
        try:
            times = psutil.Process(self._process.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    def _memory(self) -> int:
        try:
            return int(psutil.Process(self._process.pid).memory_info().rss)
        except psutil.Error:
            return 0

    def _printed(self) -> str:
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - LOG_TAIL))
        return self._log.read().decode("utf-8", "replace")


def _ending(status: int) -> str:
    """How a process ended by itself."""
    if status >= 0:
        return f"ended the process with status {status}"
    return f"killed the process: {signal_name(-status)}"


def _last_stack(printed: str) -> str:
    """What faulthandler wrote last, of the thread that died if one did; empty where it wrote nothing."""
    last = max(printed.rfind(mark) for mark in ("Fatal Python error", "Timeout ("))
    text = printed[last:] if last >= 0 else ""
    _, current, stack = text.partition("\nCurrent thread")
    return stack.partition("\n\n")[0] if current else text


def _compiles(printed: str, filename: str) -> bool:
    """Whether the code of a file was waiting for a compiler; what called that code does not count."""
    inside = _last_stack(printed).partition(f'  File "{filename}"')[0]
    return _COMPILERS.search(inside) is not None


def _stack(printed: str) -> list[str]:
    """The stack that faulthandler wrote last, without the frames of gradlint and PyTorch."""
    package = str(Path(gradcheck_tool.__file__).parent)
    return [
        f"{name}:{row} in {function}"
        for name, row, function in _FRAME.findall(_last_stack(printed))
        if not name.startswith(("<", package)) and f"{os.sep}site-packages{os.sep}torch{os.sep}" not in name
    ][:STACK]
