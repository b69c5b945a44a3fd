"""How long `gradlint check` takes for each file, in times of `libcst.parse_module` on the same file.

usage: python benchmarks/per_file.py [--limit TIMES] FOLDER...

One process checks all files of a FOLDER without a cache, as `gradlint check --jobs 1` does: what a file
imports is executed once, on its account, and garbage is collected between files, on nobody's account; what
that takes is told beside. Prints the slowest files by their ratio, and what share of all time is spent where
the work limit was reached. Exits with 1 where a file takes more than TIMES (10) its parse.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import libcst

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gradcheck_tool.config import Config
from gradcheck_tool.session.files import FileChecker
from gradcheck_tool.session.pool import COLLECT_AT

if TYPE_CHECKING:
    from collections.abc import Callable

SHOWN = 10
QUICKEST_OF = 2
# Finds something, so that all that is imported and compiled once is there before anything is measured.
WARM_UP = b"import torch\nw = torch.ones(2, requires_grad=True)\nloss = w.sum()\nloss.backward()\nw += 1\n"


class Cost(NamedTuple):
    """CPU seconds of one file: how many times its parse, the check, the parse."""

    ratio: float
    check: float
    parse: float
    path: Path
    unfinished: bool


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds that something takes."""
    started = time.process_time()
    work()
    return time.process_time() - started


def parse_time(data: bytes) -> float | None:
    """CPU seconds of the quickest of several parses; None for what libcst does not parse."""
    try:
        return min(seconds(lambda: libcst.parse_module(data)) for _ in range(QUICKEST_OF))
    except libcst.ParserSyntaxError:
        return None


def costs(folder: Path) -> tuple[list[Cost], float]:
    """The costs of all files of a folder, the largest ratio first, and CPU seconds of collecting garbage."""
    gc.disable()
    garbage = 0.0
    checker, config = FileChecker(), Config(folder)
    checker.check_data(WARM_UP, str(folder / "warm_up.py"), config)
    found = []
    for path in sorted(folder.rglob("*.py")):
        parse = parse_time(path.read_bytes())
        if parse is None:
            continue
        started = time.process_time()
        result = checker.check_file(path, config)
        check = time.process_time() - started
        found.append(Cost(check / parse, check, parse, path, bool(result.unfinished)))
        if gc.get_count()[0] >= COLLECT_AT:
            garbage += seconds(gc.collect)
            gc.freeze()
    gc.enable()
    return sorted(found, reverse=True), garbage


def main() -> int:
    """Print the slowest files of each folder; 1 where one is above the limit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("folders", type=Path, nargs="+")
    options = parser.parse_args()
    above = 0
    for folder in options.folders:
        all_costs, garbage = costs(folder.resolve())
        over = sum(cost.ratio > options.limit for cost in all_costs)
        check, parse = sum(cost.check for cost in all_costs), sum(cost.parse for cost in all_costs)
        cut = sum(cost.check for cost in all_costs if cost.unfinished)
        print(
            f"{folder.name}: {len(all_costs)} files, {check / parse:.2f}x parse in all, {over} above"
            f" {options.limit:g}x; {cut / check:.0%} of the time in files that reached the work limit;"
            f" collecting garbage {garbage / parse:.2f}x"
        )
        for cost in all_costs[:SHOWN]:
            name = cost.path.relative_to(folder.resolve())
            print(
                f"  {cost.ratio:5.1f}x  {cost.check * 1000:6.0f} ms of {cost.parse * 1000:5.1f} ms  {name}",
                flush=True,
            )
        above += over
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
