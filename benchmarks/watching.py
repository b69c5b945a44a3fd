"""What watching a run costs: CPU time of a training step, and the most memory that a process needs.

Programs alone, under `gradlint run`, after the steps of `gradlint run --steps`, and in anomaly mode take
turns, a few steps each, so that whatever else the machine does meets all of them. Two processes run alone:
what the second one costs beside the first is the noise of the figures.

python benchmarks/watching.py [ROUNDS]
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 60
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
            status = Path("/proc/self/status").read_text(encoding="ascii")
            print(int(status.split("VmHWM:")[1].split()[0]) / 1024, flush=True)
            continue
        started = time.process_time()
        for _ in range(steps):
            step()
        print((time.process_time() - started) / steps * 1e3, flush=True)


def compare(name: str, rounds: int) -> None:
    """Print the medians of what a step takes, and of how many times that is what it takes alone."""
    with ExitStack() as stack:
        processes = {way: Turns(name, way) for way in WAYS}
        for process in processes.values():
            stack.callback(process.end)
            process.ask("step")
        took: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way in random.sample(list(WAYS), len(WAYS)):
                took[way].append(processes[way].ask("step"))
        memory = {way: process.ask("memory") for way, process in processes.items()} if _is_linux() else {}
    for way, times in took.items():
        ratios = [one / alone for one, alone in zip(times, took["alone"], strict=True)]
        most = f", {memory[way]:.0f} MB at most" if memory else ""
        print(f"{name}: {way:15} {median(times):7.2f} ms, {median(ratios):.3f} times{most}", flush=True)


def _is_linux() -> bool:
    return sys.platform == "linux"


if __name__ == "__main__":
    if sys.argv[2:]:
        take_turns(*sys.argv[1:])
    else:
        for name in SIZES:
            compare(name, int(sys.argv[1]) if sys.argv[1:] else ROUNDS)
