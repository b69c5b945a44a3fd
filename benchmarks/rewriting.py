"""Are the verdicts of `gradlint check` the same for programs that are written another way?

    python benchmarks/rewriting.py                      # fixtures and the examples of all rules
    python benchmarks/rewriting.py FOLDER ...           # the Python files of other folders
    python benchmarks/rewriting.py --only in_a_method --show

Each program is rewritten in each of the ways of `tests/rewriting/`, which change nothing of what it does.
What is reported is compared: the codes and, where the statements keep their places, at which statement.
Prints for each rewriting to how many programs it applies and how many verdicts it changes. With `--run` the
programs are run in PyTorch instead, and rewritings that change what happens there are named: these are
mistakes of theirs. Exits with 1 where a verdict changes.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.rewriting.judge import REWRITINGS, Changed, changed, examples, numbered, rewritten

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent


class Program(NamedTuple):
    """A program and what it is called."""

    name: str
    source: str


def programs(folders: list[Path]) -> Iterator[Program]:
    """The programs of folders; those of the project without one."""
    for folder in folders or [ROOT / "fixtures"]:
        for path in sorted(folder.rglob("*.py")):
            yield Program(str(path.relative_to(folder)), path.read_text("utf-8"))
    if not folders:
        for name, source in examples():
            yield Program(name, source)


def main() -> None:
    """Rewrite, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="folders with programs")
    parser.add_argument("--only", default="", metavar="NAME", help="rewritings whose names contain it")
    parser.add_argument("--program", default="", metavar="NAME", help="programs whose names contain it")
    parser.add_argument("--show", action="store_true", help="print each verdict that changes")
    parser.add_argument("--source", action="store_true", help="print the rewritten program, too")
    parser.add_argument(
        "--sample", type=int, default=1, metavar="N", help="of N rewritings of a program one, in turn"
    )
    parser.add_argument("--run", action="store_true", help="run the programs in PyTorch instead")
    options = parser.parse_args()
    applied: Counter[str] = Counter()
    differing: defaultdict[str, list[str]] = defaultdict(list)
    names = [name for name in REWRITINGS if options.only in name]
    done = 0
    # What there is so far is reported where the run is interrupted.
    with contextlib.suppress(KeyboardInterrupt):
        for number, program in enumerate(programs(options.folders)):
            if options.program not in program.name:
                continue
            for name in names[number % options.sample :: options.sample]:
                told = _runs(program, name) if options.run else _compared(program, name, options.source)
                applied[name] += told is not None
                if told:
                    differing[name].append(told)
                    if options.show or options.source or options.run:
                        print(f"{name}: {told}", flush=True)
            done += 1
    print(f"{done} programs")
    _report(applied, differing)
    sys.exit(bool(differing))


def _compared(program: Program, name: str, source: bool) -> str | None:
    """What a rewriting changes of a verdict, in words; None where it does not apply."""
    found = changed(program.source, name)
    if not isinstance(found, Changed):
        return None if found is False else ""
    text = f"{program.name}: lost {found.lost}, new {found.new}"
    return f"{text}\n{found.source}" if source else text


def _runs(program: Program, name: str) -> str | None:
    """How a rewriting changes what a program does in PyTorch; None where it does not apply."""
    import libcst

    module = numbered(libcst.parse_module(program.source))
    other = rewritten(module, name)
    if other is None:
        return None
    first, second = _outcome(module.code), _outcome(other)
    return "" if first == second else f"{program.name}: {first} -> {second}"


def _outcome(source: str) -> str:
    """The class and the first words of what a program raises."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.set_grad_enabled(True)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            exec(compile(source, "<program>", "exec"), {"__name__": "__main__"})
    except Exception as error:  # noqa: BLE001 - whatever the program raises is what happens
        return f"{type(error).__name__}: {str(error)[:60]}"
    return "ends well"


def _report(applied: Counter[str], differing: dict[str, list[str]]) -> None:
    for name, count in applied.items():
        print(f"{name:45s} {count:4d} programs  {len(differing.get(name, ())):4d} changed")
    total, wrong = sum(applied.values()), sum(map(len, differing.values()))
    share = 100 * (total - wrong) / max(total, 1)
    print(f"{len(applied)} rewritings, {total} rewritten programs, {wrong} changed: {share:.2f}% the same")


if __name__ == "__main__":
    main()
