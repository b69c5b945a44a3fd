"""Whether any file takes `gradlint check` down: real files, and real files with mutations.

usage: python benchmarks/robustness.py --state FILE [--mutated COUNT] [--seed N] FOLDER...

Every Python file and notebook of the FOLDERs is checked, each content once, among the files of its folder;
then COUNT mutated ones (`odd_files`), made of those below --lines lines that speak of torch. All rules are in
force. Findings are printed in every format, and where there are fixes they are applied to mutated files. A
worker process, which starts anew after some hundred files, has a limit of memory and, for each file, of CPU
time. What is known so far stands in FILE: a run that is interrupted goes on from there.

Prints the internal errors, and what is refused as nested too deeply and is not, each with the shortest part
of a file that shows it; the files that take more than 10 CPU seconds; the largest memory of a worker; and how
many files a second were checked. Exits with 1 where there is an error, or a file takes more than 10 CPU
seconds or 1 GB.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import time
import traceback
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.odd_files.mutator import mutated
from benchmarks.real_files import real_files
from gradcheck_tool.config import Overrides
from gradcheck_tool.report import FORMATS, render
from gradcheck_tool.report.context import ReportContext
from gradcheck_tool.session.pool import COLLECT_AT
from gradcheck_tool.session.session import Options, Outcome, Session
from gradcheck_tool.sources.lines import SourceLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

CPU_SECONDS = 10
# A file that takes so many is given up.
KILLED_AFTER = 60
MEMORY = 1 << 30
# Beyond this the system refuses a worker memory.
REFUSED = 3 << 30
RENEWED = 2000
SAVED_EVERY = 100
# Checks to find the shortest part of a file that shows an error.
SHORTENING = 400
NOWHERE = Path("/nowhere")
# Real files of at most so many bytes come first.
SHORT = 12_000
# What is less deep is to be analysed.
DEEP = 100
# Files with such words are executed; so many of those that are mutated have them.
DIFFERENTIATES = re.compile(rb"\.backward\(|autograd\.Function|\.grad\b|optim\.[A-Z]")
RICH = 0.4


@dataclass(frozen=True)
class Base:
    """A real file, and the folder that it belongs to."""

    path: Path
    root: Path
    small: bool
    differentiates: bool


@dataclass(frozen=True)
class Job:
    """One file to check: a real one, or what a seed makes of it and of another one."""

    name: str
    base: Base
    other: Base | None = None
    seed: int = 0

    @property
    def is_notebook(self) -> bool:
        """Is it checked as a notebook?"""
        return self.name.endswith(".ipynb")

    def data(self) -> bytes:
        """What is checked."""
        data = self.base.path.read_bytes()
        if self.other is None:
            return data
        return mutated(random.Random(self.seed), data, self.other.path.read_bytes(), self.is_notebook)


@dataclass
class Figures:
    """What is known so far."""

    real: int = 0
    mutated: int = 0
    python: int = 0
    findings: int = 0
    fixed: int = 0
    unfinished: int = 0
    cpu: float = 0.0
    peak: int = 0
    peak_of: str = ""
    errors: list[dict[str, str]] = field(default_factory=list)
    slow: list[tuple[float, str]] = field(default_factory=list)
    large: list[tuple[int, str]] = field(default_factory=list)


def bases(folders: list[Path], lines: int) -> list[Base]:
    """The Python files and notebooks of folders, each content once."""
    found = []
    for path, folder, data in real_files(folders):
        is_short = data.count(b"\n") < lines and len(data) < 60 * lines
        small = is_short and b"torch" in data
        found.append(Base(path, folder, small, small and DIFFERENTIATES.search(data) is not None))
    return sorted(found, key=lambda base: base.path.stat().st_size > SHORT)


def jobs(files: list[Base], count: int, seed: int, first: int) -> Iterator[Job]:
    """The jobs from the `first` on: real files, then mutated ones."""
    for base in files[first:]:
        yield Job(str(base.path), base)
    small = [base for base in files if base.small]
    rich = [base for base in small if base.differentiates]
    for number in range(max(first - len(files), 0), count):
        rng = random.Random(seed * 1_000_003 + number)
        base = rng.choice(rich if rng.random() < RICH else small)
        notebook = base.path.suffix == ".ipynb" or rng.random() < 0.06
        # One in ten stands where its original does, among the files that import it and that it imports.
        folder = base.path.parent if rng.random() < 0.1 else NOWHERE
        name = f"{folder}/{base.path.stem}{'.ipynb' if notebook else '.py'}"
        yield Job(name, base, rng.choice(rich), seed * 1_000_003 + number)


class Checker:
    """Checks files in a worker process, with a session for each folder."""

    def __init__(self) -> None:
        self._sessions: dict[Path, Session] = {}

    def run(self, job: Job, data: bytes) -> Outcome:
        """Check a file, print what was found in all formats, and fix what is mutated."""
        root = job.base.root if job.other is None or not job.name.startswith(str(NOWHERE)) else NOWHERE
        if root not in self._sessions:
            self._sessions.clear()
            overrides = Overrides(isolated=True, select=("ALL",), report_unused_suppressions=True)
            self._sessions[root] = Session(root, Options(overrides, respect_gitignore=False))
        session = self._sessions[root]
        if job.other is None:
            outcome = session.check([job.base.path])
            lines = SourceLines()
        else:
            outcome = session.check_text(data, job.name)
            lines = SourceLines({job.name: data})
        for form in FORMATS if outcome.findings else ():
            render(form, outcome.findings, ReportContext(root, lines, session.rules_in_force, False)).encode(
                "utf-8", "backslashreplace"
            )
        return outcome

    def fixed(self, job: Job, data: bytes) -> bytes:
        """The file that was checked last, with all fixes."""
        return self._sessions[next(iter(self._sessions))].fix_text(data, job.name, unsafe=True)


def failure(work: Callable[[], Outcome], data: bytes) -> str | None:
    """The internal error of some work, with the place that raised it."""
    try:
        outcome = work()
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"uncaught {type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    for problem in outcome.problems:
        if "internal error" in problem.message:
            return problem.message
        if "nested too deeply" in problem.message and not is_deep(data):
            return "refused as nested too deeply: RecursionError (unknown)"
    return None


def is_deep(data: bytes) -> bool:
    """Is a program so deep that an analysis may refuse it? What cannot be parsed may be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            left: list[tuple[ast.AST, int]] = [(ast.parse(data), 0)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    while left:
        node, depth = left.pop()
        if depth > DEEP:
            return True
        left += [(child, depth + 1) for child in ast.iter_child_nodes(node)]
    return False


def kind(error: str) -> str:
    """An error without what differs from file to file: its type and its place."""
    return f"{error.partition(': ')[2].partition(':')[0]} {error.rpartition('(')[2]}"


def shortest(job: Job, data: bytes, error: str, checker: Checker) -> bytes:
    """The shortest part of a file that shows an error, as far as leaving out lines goes."""
    left = SHORTENING

    def shows(part: bytes) -> bool:
        nonlocal left
        left -= 1
        told = failure(lambda: checker.run(job, part), part)
        return told is not None and kind(told) == kind(error)

    parts = data.splitlines(keepends=True)
    size = max(len(parts) // 2, 1)
    while left > 0:
        at = 0
        while at < len(parts) and left > 0:
            rest = parts[:at] + parts[at + size :]
            if shows(b"".join(rest)):
                parts = rest
            else:
                at += size
        if size == 1:
            break
        size = max(size // 2, 1)
    return b"".join(parts)


def work(channel: Connection) -> None:
    """Check what comes through a pipe, until the pipe is closed."""
    resource.setrlimit(resource.RLIMIT_AS, (REFUSED, REFUSED))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    checker = Checker()
    while True:
        try:
            job: Job = channel.recv()
        except EOFError:
            return
        channel.send(_result(checker, job))
        if gc.get_count()[0] >= COLLECT_AT:
            gc.collect()
            gc.freeze()


def _result(checker: Checker, job: Job) -> dict[str, Any]:
    data = job.data()
    Path("/proc/self/clear_refs").write_text("5")
    outcomes: list[Outcome] = []

    def check() -> Outcome:
        outcomes.append(checker.run(job, data))
        return outcomes[-1]

    started = time.process_time()
    error = failure(check, data)
    result: dict[str, Any] = {"cpu": time.process_time() - started, "peak": _peak(), "error": error}
    if outcomes:
        outcome = outcomes[0]
        result["findings"], result["python"] = len(outcome.findings), outcome.checked
        result["unfinished"] = bool(outcome.unfinished)
        if job.other is not None and any(finding.fix for finding in outcome.findings):
            error = failure(lambda: Outcome(files=len(checker.fixed(job, data))), data)
            result["error"], result["fixed"] = result["error"] or error, 1
    if result["error"]:
        result["shortest"] = shortest(job, data, result["error"], checker).decode("utf-8", "backslashreplace")
    return result


def _peak() -> int:
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) * 1024


class Workers:
    """One worker process at a time."""

    def __init__(self) -> None:
        self._done = 0
        self._start()

    def _start(self) -> None:
        self._channel, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("fork").Process(target=work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._done = 0

    def renew(self) -> None:
        """Start a worker that has seen no file."""
        self._channel.close()
        self._process.kill()
        self._process.join()
        self._start()

    def run(self, job: Job) -> dict[str, Any]:
        """What became of a file; workers that die or take too long are told, and replaced."""
        if self._done >= RENEWED:
            self.renew()
        self._done += 1
        before = self._cpu()
        self._channel.send(job)
        while not self._channel.poll(1):
            if self._cpu() - before > KILLED_AFTER:
                self.renew()
                return {"cpu": float(KILLED_AFTER), "peak": 0, "error": None}
        try:
            result: dict[str, Any] = self._channel.recv()
        except (EOFError, ConnectionError):
            code = self._process.exitcode
            self.renew()
            return {"cpu": 0.0, "peak": 0, "error": f"uncaught worker died: {code} (worker)"}
        return result

    def _cpu(self) -> float:
        with suppress(OSError):
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return 0.0


def add(figures: Figures, job: Job, result: dict[str, Any], workers: Workers) -> None:
    """Count a file; what a worker has taken for others, too, is measured again in a new one."""
    told = job.name if job.other is None else f"{job.base.path} and {job.other.path}, seed {job.seed}"
    if result["peak"] > MEMORY or result["cpu"] > CPU_SECONDS:
        workers.renew()
        result = workers.run(job)
    if job.other is None:
        figures.real += 1
    else:
        figures.mutated += 1
    figures.cpu += result["cpu"]
    figures.python += result.get("python", 0)
    figures.findings += result.get("findings", 0)
    figures.fixed += result.get("fixed", 0)
    figures.unfinished += result.get("unfinished", False)
    if result["peak"] > figures.peak:
        figures.peak, figures.peak_of = result["peak"], told
    if result["error"]:
        error = {"file": told, "error": result["error"], "shortest": result.get("shortest", "")}
        figures.errors.append(error)
        print(json.dumps(error), flush=True)
    for amount, limit, found in (
        (result["cpu"], CPU_SECONDS, figures.slow),
        (result["peak"], MEMORY, figures.large),
    ):
        if amount > limit:
            found.append((amount, told))
            print(amount, told, flush=True)


def report(figures: Figures) -> None:
    """Print the figures."""
    files = figures.real + figures.mutated
    print(f"files               {files}: {figures.real} real, {figures.mutated} mutated")
    print(f"of them Python      {figures.python}, with {figures.findings} findings; {figures.fixed} fixed")
    print(f"work limit reached  {figures.unfinished}")
    kinds = {kind(error["error"]) for error in figures.errors}
    print(f"internal errors     {len(figures.errors)}, of {len(kinds)} kinds")
    print(f"over {CPU_SECONDS} CPU seconds {len(figures.slow)}")
    print(f"over {MEMORY >> 20} MB        {len(figures.large)}; the most was {figures.peak >> 20} MB")
    print(
        f"files a second      {files / max(figures.cpu, 1e-9):.1f} ({figures.cpu:.0f} CPU seconds)",
        flush=True,
    )


def main() -> int:
    """Check all files that are not checked yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--state", type=Path, required=True, help="the file that keeps what is known so far")
    parser.add_argument("--mutated", type=int, default=0, metavar="COUNT")
    parser.add_argument("--lines", type=int, default=150, help="only shorter files are mutated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-real", action="store_true", help="check mutated files only")
    options = parser.parse_args()
    figures = Figures(**json.loads(options.state.read_text())) if options.state.exists() else Figures()
    files = bases([folder.resolve() for folder in options.folders], options.lines)
    first = figures.real + figures.mutated + (len(files) if options.no_real else 0)
    workers = Workers()
    for number, job in enumerate(jobs(files, options.mutated, options.seed, first), start=1):
        add(figures, job, workers.run(job), workers)
        if number % SAVED_EVERY == 0:
            _save(options.state, figures)
        if number % (10 * SAVED_EVERY) == 0:
            report(figures)
    _save(options.state, figures)
    report(figures)
    for error in {kind(error["error"]): error for error in figures.errors}.values():
        print(f"--- {error['error']}\n{error['file']}\n{error['shortest']}")
    for amount, name in [*figures.slow, *figures.large]:
        print(amount, name)
    return 1 if figures.errors or figures.slow or figures.large else 0


def _save(path: Path, figures: Figures) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(asdict(figures)))
    new.replace(path)


if __name__ == "__main__":
    sys.exit(main())
