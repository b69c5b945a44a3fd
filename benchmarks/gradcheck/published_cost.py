"""What checking the Functions of installed packages costs, beside `torch.autograd.gradcheck`.

usage: python -m benchmarks.gradcheck.published_cost FOLDER [FOLDER ...] [--limit SECONDS]

The folders are those of importable packages. Functions are found and given arguments as `gradlint gradcheck`
does without configuration; all three checks get the first of these calls that runs, in double precision. Each
Function has a child process of one thread, in which everything is timed. Left out are Functions for which
there are no arguments, and those that PyTorch refuses to check.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import gradcheck
from torch.autograd.gradcheck import GradcheckError

from benchmarks.gradcheck.compare_torch import costs, headline, line, total
from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.harness.discovery import Discovery
from gradcheck_tool.harness.inputs.case import InputSettings
from gradcheck_tool.harness.inputs.synthesised import synthesised_cases
from gradcheck_tool.harness.loading import load_function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.harness.functions import FunctionRef


def wide(leaf: Any) -> Any:
    """A copy of an argument, of floating-point and complex tensors in double precision."""
    if not isinstance(leaf, torch.Tensor):
        return leaf
    copy = leaf.detach().clone()
    if copy.is_floating_point() or copy.is_complex():
        copy = copy.to(torch.complex128 if copy.is_complex() else torch.float64)
    return copy.requires_grad_(leaf.requires_grad)


def is_checked(func: Any, args: Sequence[Any]) -> str | None:
    """What PyTorch's fast mode makes of a call: `passes` or `fails`; None where it refuses to look."""
    try:
        func.apply(*map(wide, args))
        gradcheck(func.apply, tuple(map(wide, args)), fast_mode=True)
    except GradcheckError:
        return "fails"
    except Exception:  # noqa: BLE001 - of arguments in double precision as well
        return None
    return "passes"


def measured(ref: FunctionRef) -> tuple[list[float], str] | None:
    """The costs of one Function and what it is called by both; None where nothing is to be compared."""
    func: Any = load_function(ref)
    for case in synthesised_cases(func, ref, InputSettings()).cases:
        answer = None if case.kwargs else is_checked(func, case.args)
        if answer is not None:
            row = costs(func, lambda: tuple(map(wide, case.args)))  # noqa: B023
            mine = check_function(func, tuple(map(wide, case.args))).text().splitlines()[0]
            return row, f"{answer}; {mine}"
    return None


def _child(queue: Any, ref: FunctionRef) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    queue.put(measured(ref))


def within(ref: FunctionRef, limit: float) -> tuple[list[float], str] | None:
    """`measured` in a child process; None where that ends, raises or takes too long."""
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_child, args=(queue, ref))
    child.start()
    child.join(limit)
    if child.is_alive():
        child.kill()
        child.join()
    return None if queue.empty() else queue.get()


def main() -> None:
    """Parse options and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--limit", type=float, default=120.0)
    options = parser.parse_args()
    headline()
    rows, failed = [], []
    for folder in options.folders:
        for ref in Discovery().functions(sorted(folder.resolve().rglob("*.py"))):
            sys.stdout.flush()
            answer = within(ref, options.limit)
            if answer is not None:
                row, said = answer
                (failed if said.startswith("fails") else rows).append(row)
                line(ref.name.rpartition(".")[2], row)
                print(f"    {ref.name}: gradcheck {said}")
    total("passed by gradcheck", rows)
    total("failed by gradcheck", failed)
    total(f"all {len(rows + failed)}", rows + failed)


if __name__ == "__main__":
    main()
