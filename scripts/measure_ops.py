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

import torch
from _measure import collect, layers, tables

FOLDER = Path(__file__).parent.parent / "gradcheck_tool" / "engine" / "tables"


def measured(only: set[str] | None = None) -> dict[str, str]:
    """The text of each table file; of these qualified names only, if any are given."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    return {
        "ops.json": tables.dump(tables.table_of(collect.all_calls(only)), "ops"),
        "layers.json": tables.dump(layers.table_of(only), "layers"),
    }


def main() -> None:
    """Write the tables, or print those of some names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", help="qualified names to measure, for a look; prints the tables")
    parser.add_argument("--output", type=Path, default=FOLDER)
    options = parser.parse_args()
    for name, text in measured(set(options.only) if options.only else None).items():
        if options.only:
            sys.stdout.write(text)
        else:
            (options.output / name).write_text(text)


if __name__ == "__main__":
    main()
