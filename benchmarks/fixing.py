"""Whether fixes leave files as they should be: real files, and real files with mistakes seeded into them.

usage: python benchmarks/fixing.py [--files COUNT] [--seeded] [--seed N] FOLDER...

All rules are in force, and unsafe fixes are applied, too. COUNT files that speak of torch are chosen by
chance among those of the FOLDERs, and each is fixed among the files of its folder; none is written. With
--seeded, mistakes are put into them first: old names, losses that keep graphs, missing parentheses.

Of each file that was fixed it is checked that it compiles, has the comments that it had, and differs only in
lines that a fix is about; that a second run changes nothing; that the findings which were fixed are gone; and
that there is none that was not there before. Prints each file for which one of these does not hold, and the
counts. Exits with 1 where there is one.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.real_files import real_files
from gradcheck_tool.config import Config
from gradcheck_tool.session.files import FileChecker
from gradcheck_tool.session.pool import COLLECT_AT
from gradcheck_tool.sources.errors import SourceError
from tests.fixes.mistakes import with_mistakes
from tests.fixes.properties import Fixing

if TYPE_CHECKING:
    from random import Random


def files(folders: list[Path]) -> list[tuple[Path, Path]]:
    """The files that speak of torch, each with its folder, each content once."""
    return [(path, folder) for path, folder, data in real_files(folders) if b"torch" in data]


def sample(rng: Random, folders: list[Path], count: int, seeded: bool) -> list[tuple[Path, Path, bytes]]:
    """So many files, each with its folder and its bytes, one folder after the other."""
    found = files(folders)
    rng.shuffle(found)
    chosen: list[tuple[Path, Path, bytes]] = []
    for path, folder in found:
        if len(chosen) == count:
            break
        data = path.read_bytes()
        worse = with_mistakes(rng, data) if seeded else data
        if not seeded or worse != data:
            chosen.append((path, folder, worse))
    return sorted(chosen, key=lambda item: str(item[1]))


def main() -> int:
    """Fix files, and print what is wrong with them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--files", type=int, default=1000, metavar="COUNT")
    parser.add_argument("--seeded", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folders = [folder.resolve() for folder in options.folders]
    chosen = sample(random.Random(options.seed), folders, options.files, options.seeded)
    checkers: dict[Path, FileChecker] = {}
    made, changed, wrong = Counter[str](), 0, 0
    gc.disable()
    # One folder after the other: what is known of its files is dropped with it.
    for path, folder, data in chosen:
        if folder not in checkers:
            checkers = {folder: FileChecker()}
            checkers[folder].repository.folder = folder
        fixing = Fixing(checkers[folder], Config(folder, select=("ALL",)))
        try:
            fixing.fix(data, path)
        except SourceError:
            continue
        if fixing.fixed is not None and fixing.fixed.fixed:
            changed += 1
            made.update(finding.code for finding in fixing.fixed.fixed)
            # What an error keeps from being seen, and was there before it.
            hidden = fixing.codes(path.read_bytes(), path) if options.seeded else None
            violations = list(fixing.violations(path, hidden))
            wrong += bool(violations)
            for violation in violations:
                print(f"{path}: {violation}", flush=True)
        if gc.get_count()[0] >= COLLECT_AT:
            gc.collect()
    print(f"files       {len(chosen)}, of them {changed} with fixes")
    print(f"fixes       {made.total()}: {', '.join(f'{code} {n}' for code, n in sorted(made.items()))}")
    print(f"violations  in {wrong} files")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
