"""Measure what the installed PyTorch saves, frees, shares and writes, and write the op tables.

    python scripts/measure_ops.py [--only NAME ...] [--output FOLDER]

Needs torch and, for its operator database, expecttest. The tables are committed; a test measures again
and compares.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from typing import TYPE_CHECKING

import torch
from _measure import collect, patterns, tables

if TYPE_CHECKING:
    from _measure.probe import Call

FOLDER = Path(__file__).parent.parent / "gradcheck_tool" / "autograd" / "tables"


def all_calls(only: set[str] | None = None) -> dict[str, list[Call]]:
    """Every call to watch, by qualified name; the patterns of a name come before its samples."""
    calls: dict[str, list[Call]] = {}
    for line in patterns.lines():
        call = collect.calls_of_source(line, patterns.variables())
        if call is None:
            sys.stderr.write(f"does not fit its signature: {line}\n")
            continue
        calls.setdefault(call.name, []).append(call)
    for name, samples in collect.calls_of_database(only):
        calls.setdefault(name, []).extend(collect.thinned(samples))
    return {name: calls[name] for name in sorted(calls) if only is None or name in only}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", help="qualified names to measure, for a look; prints the table")
    parser.add_argument("--output", type=Path, default=FOLDER)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    only = set(options.only) if options.only else None
    table = tables.table_of(all_calls(only))
    if only:
        sys.stdout.write(tables.dump(table))
    else:
        (options.output / "ops.json").write_text(tables.dump(table))


if __name__ == "__main__":
    main()
