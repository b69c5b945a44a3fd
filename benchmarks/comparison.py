"""What gradlint, TorchFix and PyTorch's anomaly mode say of the same programs.

    python benchmarks/comparison.py [--torchfix path/to/torchfix]

The programs are those of fixtures/ that need PyTorch alone. A mark `# expect: CODE` names a line that is
wrong. Counted are: marked lines that a linter reports, programs without a mark that it reports anything
of, programs that raise under `torch.autograd.set_detect_anomaly(True)`, and, of those that raise because
memory was changed in place, the ones whose output names the line of the change. Needs torch.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import runpy
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Program:
    """One program: its file, the rows that are wrong, and the rows that change saved memory."""

    path: Path
    wrong: frozenset[int]
    writes: frozenset[int]


def main() -> None:
    """Run everything and print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torchfix", help="the torchfix command; without it, TorchFix is left out")
    torchfix = parser.parse_args().torchfix
    paths = [path for path in sorted((ROOT / "fixtures").rglob("*.py")) if "# needs:" not in path.read_text()]
    found, writes = gradlint(paths)
    programs = [Program(path, marked(path), writes.get(path, frozenset())) for path in paths]
    lint("gradlint", programs, found)
    if torchfix:
        lint("TorchFix", programs, torchfix_rows(torchfix, paths))
    anomaly([program for program in programs if program.wrong])


def marked(path: Path) -> frozenset[int]:
    """The rows that a program says are wrong."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return frozenset(row for row, line in enumerate(lines, start=1) if "# expect:" in line)


def gradlint(paths: list[Path]) -> tuple[dict[Path, set[int]], dict[Path, frozenset[int]]]:
    """Reported rows, and the rows where something that was saved is changed, as the traces have them."""
    command = [sys.executable, "-m", "gradcheck_tool", "check", "--isolated", "--no-cache"]
    result = run([*command, "--output-format", "json", *map(str, paths)])
    found: dict[Path, set[int]] = {}
    writes: dict[Path, frozenset[int]] = {}
    for item in json.loads(result.stdout):
        path = Path(item["filename"])
        found.setdefault(path, set()).add(item["location"]["row"])
        if "modified by an inplace operation" in (item["predicts"] or ""):
            changing = (step for step in item["trace"] if "change" in step["message"])
            writes[path] = frozenset(step["location"]["row"] for step in changing)
    return found, writes


def torchfix_rows(command: str, paths: list[Path]) -> dict[Path, set[int]]:
    """Rows that TorchFix reports with all its rules. It prints names of files without their folders."""
    by_name = {path.name: path for path in paths}
    assert len(by_name) == len(paths), "two programs have the same name"
    found: dict[Path, set[int]] = {}
    for line in run([command, "--select=ALL", *map(str, paths)]).stdout.splitlines():
        match = re.match(r"(.+?):(\d+):\d+: ", line)
        if match:
            found.setdefault(by_name[Path(match.group(1)).name], set()).add(int(match.group(2)))
    return found


def lint(name: str, programs: list[Program], found: dict[Path, set[int]]) -> None:
    """Print what a linter reports of wrong lines and of right programs."""
    wrong = sum(len(program.wrong) for program in programs)
    hit = sum(len(program.wrong & found.get(program.path, set())) for program in programs)
    right = [program for program in programs if not program.wrong]
    alarms = sum(bool(found.get(program.path)) for program in right)
    print(f"{name}: {hit} of {wrong} wrong lines, and {alarms} of {len(right)} right programs")


def anomaly(programs: list[Program]) -> None:
    """Print what running the wrong programs in anomaly mode says."""
    raised = changed = told = named = 0
    # Each program gets a process of its own, which need not import PyTorch again.
    torch.autograd.set_detect_anomaly(mode=True)
    workers = multiprocessing.get_context("fork")
    for program in programs:
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as said:
            worker = workers.Process(target=execute, args=(program.path, said.name))
            worker.start()
            worker.join()
            text = said.read()
        raised += worker.exitcode != 0
        if "modified by an inplace operation" in text:
            changed += 1
            told += bool(program.writes)
            places = re.findall(rf'File "{re.escape(str(program.path))}", line (\d+)', text)
            named += bool(program.writes & set(map(int, places)))
    print(f"anomaly mode: {raised} of {len(programs)} programs with wrong lines raise")
    print(f"changes in place that raise: {changed}; the changing line is named in {named} by anomaly mode,")
    print(f"in {told} by gradlint")


def execute(path: Path, said: str) -> None:
    """Run a program with its standard error in a file, and without what it prints."""
    os.dup2(os.open(said, os.O_WRONLY), sys.stderr.fileno())
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    runpy.run_path(str(path), run_name="__main__")


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command and wait for it."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main()
