"""Does the test suite notice when the model is wrong? Breaks the package on purpose, one break at a time.

    python benchmarks/mutation.py                    # all breaks: some minutes
    python benchmarks/mutation.py --only retain      # those whose names contain it
    python benchmarks/mutation.py --list

Each break replaces one piece of text in one file of a temporary copy of the tree, never in the checkout,
and runs the tests that should notice, with `-x -q -n 0`. Prints for each break whether they do, and the
share that is caught. Exits with 1 where less than 95% is, and with 2 where a break does not apply any more
because its text is gone.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.breaks import catalogue
from benchmarks.breaks.base import Break, StaleBreakError

ROOT = Path(__file__).resolve().parent.parent
WANTED = 0.95
COPIED = ("gradcheck_tool", "rules", "tests", "fixtures", "benchmarks", "docs", "scripts")
FILES = (
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "hatch_build.py",
    "constraints.txt",
)
SECONDS = 600
# What pytest exits with where a test fails, and where none could even be collected.
FAILED = (1, 2)


def main() -> None:
    """Run the breaks that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="NAME", help="breaks whose names contain it")
    parser.add_argument("--list", action="store_true", help="print the breaks and run nothing")
    options = parser.parse_args()
    chosen = [one for one in catalogue.BREAKS if options.only in one.name]
    if options.list:
        for one in chosen:
            print(f"{one.path}: {one.name}")
        return
    try:
        for one in chosen:
            one.applied(ROOT)
    except StaleBreakError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    sys.exit(run(chosen))


def run(chosen: list[Break]) -> int:
    """Apply and undo each break in a copy of the tree; the exit status."""
    with tempfile.TemporaryDirectory(prefix="gradlint-mutation-") as folder:
        tree = Path(folder)
        copy(tree)
        caught = 0
        for one in chosen:
            noticed = is_caught(tree, one)
            caught += noticed
            print(f"{'caught' if noticed else 'NOT CAUGHT':10s}  {one.path}: {one.name}", flush=True)
    share = caught / max(len(chosen), 1)
    print(f"{caught} of {len(chosen)} breaks caught ({100 * share:.1f}%)")
    return int(share < WANTED)


def copy(tree: Path) -> None:
    """Copy what the tests need."""
    for name in COPIED:
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, tree / name)


def is_caught(tree: Path, one: Break) -> bool:
    """Do the tests that are named fail with the break?"""
    path = tree / one.path
    text = path.read_text("utf-8")
    path.write_text(one.applied(tree), "utf-8")
    command = [
        sys.executable,
        "-B",
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        *one.tests,
    ]
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=environment(tree),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(text, "utf-8")
    if done.returncode not in (0, *FAILED):
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
    return done.returncode in FAILED


def environment(tree: Path) -> dict[str, str]:
    """Variables with which the copy is imported, not the package that is installed."""
    import os

    return {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}


if __name__ == "__main__":
    main()
