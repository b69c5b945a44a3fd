"""What recording costs: the same test suite with and without `gradlint record`.

Usage: python benchmarks/record.py [--rounds N] [-- PYTHON ARGUMENTS]

Without arguments a suite is written that does nothing but call Functions, forward and backward, on small
tensors: the worst case. With arguments (`-- -m pytest tests/`) that command is measured in the current
folder.
Rounds alternate; the medians are compared. What is measured is the time of the child process.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUITE = """
import pytest
import torch


class Gelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, scale):
        ctx.save_for_backward(x, weight)
        ctx.scale = scale
        return torch.nn.functional.gelu(x * weight) * scale

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        with torch.enable_grad():
            leaf = (x * weight).detach().requires_grad_()
            (inner,) = torch.autograd.grad(torch.nn.functional.gelu(leaf), leaf, g * ctx.scale)
        return inner * weight, (inner * x).sum(0), None


FUNCTIONS = [type(f"Gelu{number}", (Gelu,), {}) for number in range(20)]


@pytest.mark.parametrize("size", range(4, 14))
@pytest.mark.parametrize("number", range(20))
def test_training(number, size):
    function = FUNCTIONS[number]
    x, weight = torch.randn(8, size), torch.randn(size, requires_grad=True)
    for _ in range(30):
        loss = function.apply(x.requires_grad_(), weight, 1.5).square().mean()
        loss.backward()
    assert torch.isfinite(weight.grad).all()
"""


def main() -> int:
    """Measure, print a table, and end with 0 where recording costs at most a tenth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        where, command = Path.cwd(), options.command
        if not command:
            where = Path(folder)
            (where / "test_suite.py").write_text(SUITE, encoding="utf-8")
            command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_suite.py"]
        plain, recorded = [], []
        for _ in range(options.rounds):
            plain.append(seconds(command, where))
            recorded.append(seconds(["-m", "gradcheck_tool", "record", *command], where))
    before, after = statistics.median(plain), statistics.median(recorded)
    print(f"alone     {before:7.2f} s   (from {min(plain):.2f} to {max(plain):.2f})")
    print(f"recorded  {after:7.2f} s   (from {min(recorded):.2f} to {max(recorded):.2f})")
    print(f"overhead  {100 * (after / before - 1):7.1f} %")
    return 0 if after <= 1.1 * before else 1


def seconds(command: list[str], where: Path) -> float:
    """User and system time of one run, children included: what other programs do meanwhile does not count."""
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    before = os.times()
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, *command],
        cwd=where,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    after = os.times()
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return used or time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
