"""Does the test suite notice when the model is wrong? Breaks the package on purpose, one break at a time.

    python benchmarks/mutation.py                    # all breaks: some twenty minutes of one core
    python benchmarks/mutation.py --only retain      # those whose names or paths contain it
    python benchmarks/mutation.py --near             # without the whole suite
    python benchmarks/mutation.py --list

Each break replaces one piece of text in one file of a temporary copy of the tree, never in the checkout.
What should notice is tried first: the tests that mirror the broken module and those that the break names,
with `-x -q -n 0`. Only where these pass does the whole suite run. A break that it notices is caught, too, but
named, because a test nearer to the mistake is missing. Before the first break the tests that are named run in
the copy as it is.

A break with which the near tests use ten minutes of processor time does not end: that is caught, and named.
Time on the clock says nothing on a busy machine; a break with which the tests do not answer in two hours is
not caught.

Prints for each break whether it is caught, and the share that is. Exits with 1 where less than 95% is, and
with 2 where a break does not apply any more because its text is gone, or the tests fail without one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import libcst
import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.breaks import catalogue
from benchmarks.breaks.base import Break, StaleBreakError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
# Of user time: a run without end is a break that is noticed. The whole suite takes longer.
SECONDS = 600
SECONDS_OF_ALL = 3600
# On the clock: tests that wait for something for so long tell nothing.
PATIENCE = 2 * 3600
# What compares the breaks with the text of the package fails with any break.
WHOLE_SUITE = ("tests", "--ignore=tests/benchmarks")
# What each run would import itself. The package and its tests are imported from the copy.
SLOW = (hypothesis, libcst, torch)
# What pytest exits with where a test fails, and where none could even be collected.
FAILED = (1, 2)
# What a run ends with that used up its processor time, and one that was waited for in vain.
ENDLESS, NO_ANSWER = 10, 11
CAUGHT, CAUGHT_AFAR, NO_END, NOT_CAUGHT = "caught", "CAUGHT AFAR", "NO END", "NOT CAUGHT"


def main() -> None:
    """Run the breaks that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="NAME", help="breaks whose names or paths contain it")
    parser.add_argument("--near", action="store_true", help="never run the whole suite")
    parser.add_argument("--list", action="store_true", help="print the breaks and run nothing")
    options = parser.parse_args()
    chosen = [one for one in catalogue.BREAKS if options.only in one.name or options.only in one.path]
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
    sys.exit(run(chosen, options.near))


def run(chosen: list[Break], is_near: bool) -> int:
    """Apply and undo each break in a copy of the tree; the exit status."""
    with tempfile.TemporaryDirectory(prefix="gradlint-mutation-") as folder:
        tree = Path(folder)
        copy(tree)
        forget_the_checkout()
        named = dict.fromkeys(argument for one in chosen for argument in tests_of(tree, one))
        if in_a_child(lambda: tested(tree, list(named), SECONDS_OF_ALL)):
            print("the tests fail without a break", file=sys.stderr)
            return 2
        caught = 0
        for one in chosen:
            told = outcome(tree, one, is_near)
            caught += told != NOT_CAUGHT
            print(f"{told:11s}  {one.path}: {one.name}", flush=True)
    share = caught / max(len(chosen), 1)
    print(f"{caught} of {len(chosen)} breaks caught ({100 * share:.1f}%)")
    return int(share < WANTED)


def copy(tree: Path) -> None:
    """Copy what the tests need."""
    for name in COPIED:
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, tree / name)


def forget_the_checkout() -> None:
    """Let nothing of the package be imported but from the copy."""
    sys.dont_write_bytecode = True
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != ROOT]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("gradcheck_tool", "tests")]:
        del sys.modules[name]


def tests_of(tree: Path, one: Break) -> tuple[str, ...]:
    """The tests that mirror the broken module, where it has its own, then those that the break names."""
    path = Path(one.path)
    mirror = Path("tests", *path.parent.parts[1:], f"test_{path.name}")
    near = (str(mirror),) if (tree / mirror).is_file() else ()
    return tuple(dict.fromkeys((*near, *one.tests)))


def outcome(tree: Path, one: Break, is_near: bool) -> str:
    """Who notices a break."""
    path = tree / one.path
    text = path.read_text("utf-8")
    path.write_text(one.applied(tree), "utf-8")
    try:
        told = told_by(tree, one, tests_of(tree, one), SECONDS, CAUGHT)
        if told == NOT_CAUGHT and not is_near:
            return told_by(tree, one, WHOLE_SUITE, SECONDS_OF_ALL, CAUGHT_AFAR)
        return told
    finally:
        path.write_text(text, "utf-8")


def told_by(tree: Path, one: Break, tests: Sequence[str], seconds: int, caught: str) -> str:
    """What tests tell of a break, where failing is called `caught`."""
    status = in_a_child(lambda: tested(tree, tests, seconds))
    if status not in (0, ENDLESS, *FAILED):
        print(f"the tests end with {status}: {one.name}", file=sys.stderr)
    if status == ENDLESS:
        return NO_END
    return caught if status in FAILED else NOT_CAUGHT


def in_a_child(work: Callable[[], int]) -> int:
    """The status with which some work ends in a process of its own, with what is slow imported already."""
    child = os.fork()
    if child == 0:
        status = 3
        try:
            status = work()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def tested(tree: Path, tests: Sequence[str], seconds: int) -> int:
    """Run tests on the package in a tree, and say nothing; more seconds of user time end it."""
    signal.signal(signal.SIGVTALRM, lambda *_: os._exit(ENDLESS))
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    signal.signal(signal.SIGALRM, lambda *_: os._exit(NO_ANSWER))
    signal.alarm(PATIENCE)
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    return int(pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "", *tests]))


if __name__ == "__main__":
    main()
