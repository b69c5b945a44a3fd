"""This engine against `torch.autograd.gradcheck`: caught, wrongly failed, time, evaluations.

usage: compare_torch.py [--wrong FILE --right FILE] [--limit SECONDS] [--only functions|large|cost]

Times are CPU seconds. Without files the Functions of this project's tests are used. A file holds a list
ZOO of entries with `cls` and `args()`, and `kind == "cost"` for wasteful but right ones. Every call runs in
a child process, but for `large` and `cost`, which take one thread of one process.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import multiprocessing
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import Function, gradcheck

from gradcheck_tool.gradcheck import check_function

if TYPE_CHECKING:
    from collections.abc import Callable

METHODS = ("this engine", "fast mode", "slow mode")


def load(path: Path) -> list[tuple[Any, Any, bool]]:
    """(callable, arguments, is right) of the entries of a file."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return [(e.cls, e.args, getattr(e, "kind", "") == "cost") for e in module.ZOO]


def own() -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]:
    """The Functions of the test suite."""
    from tests.gradcheck.test_zoo import RIGHT, WRONG

    return [(c, a) for c, a, _ in WRONG], RIGHT


def passes(method: str, func: Any, args: Any) -> bool:
    """Whether the method accepts the gradient."""
    inputs = args()
    if method == METHODS[0]:
        return check_function(func, inputs).ok
    call = func.apply if isinstance(func, type) else func
    try:
        return bool(gradcheck(call, inputs, fast_mode=method == METHODS[1]))
    except Exception:  # noqa: BLE001  (any exception means: not accepted)
        return False


def _child(queue: Any, method: str, func: Any, args: Any) -> None:
    warnings.simplefilter("ignore")
    start = time.process_time()
    answer = passes(method, func, args)
    queue.put((answer, time.process_time() - start))


def timed(method: str, func: Any, args: Any, limit: float) -> tuple[bool, float]:
    """(accepted, CPU seconds) in a child process; a call without an answer counts as not accepted."""
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_child, args=(queue, method, func, args))
    child.start()
    child.join(limit)
    if child.is_alive():
        child.kill()
        return False, limit
    return queue.get() if not queue.empty() else (False, limit)


def functions(wrong: list[tuple[Any, Any]], right: list[tuple[Any, Any]], limit: float) -> None:
    """Print a line per method."""
    for method in METHODS:
        bad = [timed(method, f, a, limit) for f, a in wrong]
        good = [timed(method, f, a, limit) for f, a in right]
        seconds = sum(s for _, s in bad + good)
        caught, failed = sum(not ok for ok, _ in bad), sum(not ok for ok, _ in good)
        print(
            f"{method:12} caught {caught}/{len(wrong)}  wrongly failed {failed}/{len(right)}"
            f"  {seconds:.1f} s",
            flush=True,
        )


FIRST: dict[str, Any] = {
    "variations": False,
    "contracts": False,
    "second_order": False,
    "forward_mode": False,
    "vmap": False,
}
"""Options under which only the first derivative at the given inputs is checked."""

MOST = 10_000_000
"""Entries of a Jacobian from which on slow mode is left out."""


def cheapest(call: Callable[[], object], times: int = 3) -> float:
    """The least CPU time in milliseconds of several calls; what a call raises is an answer, too."""
    spent = []
    for _ in range(times):
        start = time.process_time()
        with suppress(Exception):
            call()
        spent.append(time.process_time() - start)
    return 1e3 * min(spent)


COLUMNS = ("slow mode", "fast mode", "first derivative", "all checks")


def costs(func: Any, args: Callable[[], Any]) -> list[float]:
    """Milliseconds of CPU that PyTorch's two modes and the checks of this engine take for one Function."""
    call = func.apply if isinstance(func, type) else func
    check_function(func, args())  # what is done once in a process is done now
    count = sum(x.numel() for x in args() if isinstance(x, torch.Tensor) and x.requires_grad)
    return [
        math.nan if count**2 > MOST else cheapest(lambda: gradcheck(call, args())),
        cheapest(lambda: gradcheck(call, args(), fast_mode=True)),
        cheapest(lambda: check_function(func, args(), **FIRST)),
        cheapest(lambda: check_function(func, args())),
    ]


def headline() -> None:
    """Print what the columns of a table of costs are."""
    print(f"{'milliseconds of CPU':28}" + "".join(f"{name:>18}" for name in COLUMNS))


def line(name: str, row: list[float]) -> None:
    """Print one row of a table of costs."""
    print(f"{name:28.28}" + "".join(f"{x:18.1f}" for x in row), flush=True)


def total(name: str, rows: list[list[float]]) -> None:
    """Print the sums of several rows, and how many times PyTorch's fast mode they are."""
    sums = [sum(column) for column in zip(*rows, strict=True)] or [math.nan] * len(COLUMNS)
    line(name, sums)
    print(f"{'  times fast mode':28}" + "".join(f"{x / (sums[1] or math.nan):18.2f}" for x in sums))


def cost(entries: list[tuple[Any, Any, bool]]) -> None:
    """Print the costs Function by Function and in all."""
    torch.set_num_threads(1)
    headline()
    rows: dict[bool, list[list[float]]] = {True: [], False: []}
    for func, args, right in entries:
        rows[right].append(costs(func, args))
        line(f"{'right' if right else 'wrong'} {func.__name__}", rows[right][-1])
    total("right ones", rows[True])
    total("wrong ones", rows[False])
    total("all", rows[True] + rows[False])


class PlantedProduct(Function):
    """A matrix product whose first gradient is off by a thousandth in one entry."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """A b."""
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Right but for entry (123, 456) of the first gradient."""
        a, b = ctx.saved_tensors
        ga = g @ b.T
        ga[123, 456] *= 1.001
        return ga, a.T @ g


class PlantedBlock(Function):
    """A matrix product with a block of its first gradient five percent off, in low precision only."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """A b."""
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Right in double and single precision."""
        a, b = ctx.saved_tensors
        ga = g @ b.T
        if g.dtype == torch.bfloat16:
            ga[256:320, 512:640] *= 1.05
        return ga, a.T @ g


class RightTanh(Function):
    """tanh, for timing."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Tanh x."""
        y = x.tanh()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        """1 - y squared."""
        (y,) = ctx.saved_tensors
        return g * (1 - y * y)


def large() -> None:
    """Print what is found in 1024 x 1024 inputs, and the time for 64 x 64 ones."""
    torch.set_num_threads(1)
    size = 1024
    generator = torch.Generator().manual_seed(0)
    planted = (
        (PlantedProduct, torch.float64),
        (PlantedProduct, torch.float32),
        (PlantedBlock, torch.bfloat16),
    )
    for klass, dtype in planted:
        a, b = (torch.randn(size, size, generator=generator).to(dtype).requires_grad_() for _ in range(2))
        start = time.process_time()
        report = check_function(klass, (a, b))
        found = next((f for f in report.findings if f.severity.value != "info"), None)
        full = 2 * 2 * size * size + size * size
        count = report.evaluations.total
        print(
            f"{klass.__name__} {size}x{size} {dtype}: {found.message if found else 'nothing found'}; "
            f"{report.evaluations}, a full Jacobian needs {full} ({full / count:.0f} times more); "
            f"{time.process_time() - start:.1f} s",
            flush=True,
        )
    x = torch.randn(64, 64, generator=generator, dtype=torch.float64).requires_grad_()
    check_function(RightTanh, (x,))
    start = time.process_time()
    check_function(RightTanh, (x,))
    mine = time.process_time() - start
    start = time.process_time()
    gradcheck(RightTanh.apply, (x,))
    slow = time.process_time() - start
    print(f"64x64: this engine {mine * 1e3:.0f} ms, slow mode {slow * 1e3:.0f} ms ({slow / mine:.0f} times)")


def main() -> None:
    """Parse options and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", type=Path)
    parser.add_argument("--right", type=Path)
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--only", choices=("functions", "large", "cost"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.wrong and options.right:
        entries = load(options.wrong.resolve())
        wrong = [(c, a) for c, a, right in entries if not right]
        right = [(c, a) for c, a, is_right in entries if is_right]
        right += [(c, a) for c, a, _ in load(options.right.resolve())]
    else:
        wrong, right = own()
    if options.only in (None, "functions"):
        functions(wrong, right, options.limit)
    if options.only in (None, "large"):
        large()
    if options.only in (None, "cost"):
        cost([(f, a, False) for f, a in wrong] + [(f, a, True) for f, a in right])


if __name__ == "__main__":
    main()
