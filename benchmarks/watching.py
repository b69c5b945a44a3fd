"""What watching a run costs: CPU time of a training step, and the most memory that a process needs.

Programs alone, under `gradlint run`, after the steps of `gradlint run --steps`, and in anomaly mode take
turns, a few steps each, so that whatever else the machine does meets all of them; and that in several sets of
processes. Two of each set run alone: what the second costs beside the first is the noise of the figures.

python benchmarks/watching.py [ROUNDS]
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from contextlib import ExitStack
from operator import truediv
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS, SETS = 15, 5
WARM = 5
# Width, depth and batch of a model, and how many steps are a turn.
SIZES = {
    "6 layers of width 256, batch 128": ((256, 6, 128), 20),
    "3 of width 1024, batch 512": ((1024, 3, 512), 2),
}
_RUN = ["-m", "gradcheck_tool", "run", "--quiet"]
WAYS = {
    "alone": [],
    "alone again": [],
    "watched": _RUN,
    "after the watch": [*_RUN, "--steps", str(WARM)],
    "anomaly mode": [],
}


class Turns:
    """A process that makes some steps whenever it is asked."""

    def __init__(self, name: str, way: str) -> None:
        command = [sys.executable, *WAYS[way], __file__, name, way]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, what: str) -> float:
        """Milliseconds of CPU time of a step, or the most memory so far, in MB."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def end(self) -> None:
        """The process ends."""
        self._process.communicate()


def step_of(width: int, depth: int, batch: int) -> Callable[[], None]:
    """A training step of a stack of linear layers, with Adam."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.ReLU())]
    model, inputs, targets = nn.Sequential(*layers), torch.randn(batch, width), torch.randn(batch, width)
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        (model(inputs) - targets).square().mean().backward()
        optimizer.step()

    return step


def most_memory() -> float:
    """The most memory that this process has needed, in MB; 0 where nobody tells: Linux does."""
    if sys.platform != "linux":
        return 0.0
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def take_turns(name: str, way: str) -> None:
    """Make steps whenever the standard input says so, and print what each of them took."""
    import torch

    sizes, steps = SIZES[name]
    step = step_of(*sizes)
    if way == "anomaly mode":
        torch.autograd.set_detect_anomaly(True, check_nan=False)
    for _ in range(WARM):
        step()
    for line in sys.stdin:
        if line.strip() == "memory":
            print(most_memory(), flush=True)
            continue
        started = time.process_time()
        for _ in range(steps):
            step()
        print((time.process_time() - started) / steps * 1e3, flush=True)


class Taken(NamedTuple):
    """What some processes took, by way.

    Attributes:
        times: milliseconds of CPU time of a step.
        ratios: how many times that is what it takes alone.
        memory: the most memory, in MB; 0 where nobody tells.
    """

    times: dict[str, float]
    ratios: dict[str, float]
    memory: dict[str, float]


def taken(name: str, rounds: int) -> Taken:
    """Let a process of each way take its turns; the medians of these."""
    with ExitStack() as stack:
        processes = {way: Turns(name, way) for way in WAYS}
        for process in processes.values():
            stack.callback(process.end)
            process.ask("step")
        took: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way in random.sample(list(WAYS), len(WAYS)):
                took[way].append(processes[way].ask("step"))
        memory = {way: process.ask("memory") for way, process in processes.items()}
    ratios = {way: median(map(truediv, times, took["alone"])) for way, times in took.items()}
    return Taken({way: median(times) for way, times in took.items()}, ratios, memory)


def compare(name: str, rounds: int) -> None:
    """Print the medians of several sets of processes, and the least and the most of their ratios."""
    sets = [taken(name, rounds) for _ in range(SETS)]
    for way in WAYS:
        times, memory = median(one.times[way] for one in sets), median(one.memory[way] for one in sets)
        ratios = sorted(one.ratios[way] for one in sets)
        most = f", {memory:.0f} MB at most" if memory else ""
        shown = f"{median(ratios):.3f} times ({ratios[0]:.3f} to {ratios[-1]:.3f})"
        print(f"{name}: {way:15} {times:7.2f} ms, {shown}{most}", flush=True)


if __name__ == "__main__":
    if sys.argv[2:]:
        take_turns(*sys.argv[1:])
    else:
        for name in SIZES:
            compare(name, int(sys.argv[1]) if sys.argv[1:] else ROUNDS)
