"""What watching a run costs: CPU time of a training step, and the most memory that a process needs.

Steps are measured unwatched, watched, after the watch has ended (as with `--steps`), and in anomaly mode.

python benchmarks/watching.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

import gradcheck_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

ROUNDS = 5
SIZES = {
    "6 layers of width 256, batch 128": ((256, 6, 128), 60),
    "3 of width 1024, batch 512": ((1024, 3, 512), 8),
}


def step_of(width: int, depth: int, batch: int) -> Callable[[], None]:
    """A training step of a stack of linear layers, with Adam."""
    torch.manual_seed(0)
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.ReLU())]
    model, inputs, targets = nn.Sequential(*layers), torch.randn(batch, width), torch.randn(batch, width)
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        (model(inputs) - targets).square().mean().backward()
        optimizer.step()

    return step


def cpu_time(
    step: Callable[[], None], steps: int, around: Callable[[], AbstractContextManager[Any]]
) -> float:
    """Milliseconds of CPU time of a step, once it is warm."""
    with around():
        for _ in range(5):
            step()
        started = time.process_time()
        for _ in range(steps):
            step()
        return (time.process_time() - started) / steps * 1e3


@contextmanager
def hands_off() -> Iterator[None]:
    """What follows a watch that has ended."""
    with gradcheck_tool.watch(quiet=True):
        step_of(8, 1, 1)()
    yield


def peak(name: str, way: str) -> None:
    """Print the most memory, in MB, that this process needs for the steps of a model; Linux tells it."""
    torch.set_num_threads(1)
    sizes, steps = SIZES[name]
    step = step_of(*sizes)
    with gradcheck_tool.watch(quiet=True) if way == "watched" else nullcontext():
        for _ in range(5 * steps):
            step()
    status = Path("/proc/self/status").read_text(encoding="ascii")
    print(int(status.split("VmHWM:")[1].split()[0]) / 1024)


def main() -> None:
    """Print the least of several rounds, which alternate."""
    torch.set_num_threads(1)
    ways: dict[str, Callable[[], AbstractContextManager[Any]]] = {
        "unwatched": nullcontext,
        "watched": lambda: gradcheck_tool.watch(quiet=True),
        "afterwards": hands_off,
        "anomaly mode": lambda: torch.autograd.detect_anomaly(check_nan=False),
    }
    for name, (sizes, steps) in SIZES.items():
        step = step_of(*sizes)
        least = dict.fromkeys(ways, float("inf"))
        for _ in range(ROUNDS):
            for way, around in ways.items():
                least[way] = min(least[way], cpu_time(step, steps, around))
        for way, milliseconds in least.items():
            print(f"{name}: {way:13} {milliseconds:7.2f} ms, {milliseconds / least['unwatched']:.2f} times")
        for way in ("unwatched", "watched") if sys.platform == "linux" else ():
            child = [sys.executable, __file__, name, way]
            most = float(subprocess.run(child, stdout=subprocess.PIPE, check=True).stdout)
            print(f"{name}: {way:13} {most:7.0f} MB at most")


if __name__ == "__main__":
    peak(*sys.argv[1:]) if sys.argv[1:] else main()
