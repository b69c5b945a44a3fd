"""What watching a run costs: CPU time of a training step unwatched, watched, and in anomaly mode.

python benchmarks/watching.py
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

import gradcheck_tool

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

ROUNDS = 5


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


def main() -> None:
    """Print the least of several rounds, which alternate."""
    torch.set_num_threads(1)
    ways: dict[str, Callable[[], AbstractContextManager[Any]]] = {
        "unwatched": nullcontext,
        "watched": lambda: gradcheck_tool.watch(quiet=True),
        "anomaly mode": lambda: torch.autograd.detect_anomaly(check_nan=False),
    }
    for name, (sizes, steps) in {
        "6 layers of width 256, batch 128": ((256, 6, 128), 60),
        "3 of width 1024, batch 512": ((1024, 3, 512), 8),
    }.items():
        step = step_of(*sizes)
        least = dict.fromkeys(ways, float("inf"))
        for _ in range(ROUNDS):
            for way, around in ways.items():
                least[way] = min(least[way], cpu_time(step, steps, around))
        for way, milliseconds in least.items():
            print(f"{name}: {way:13} {milliseconds:7.2f} ms, {milliseconds / least['unwatched']:.2f} times")


if __name__ == "__main__":
    main()
