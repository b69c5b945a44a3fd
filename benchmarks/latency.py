"""How long an editor waits for findings after a key, on a warm server: python benchmarks/latency.py

A real client starts `gradlint server`, opens a training script and types 200 keys into it: once each when all
is known about the one before, once each when the first answer to the one before is there, so that the rest of
that check is outdated. Printed are the median, the 95th percentile and the longest time from a key to its
first diagnostics and to its last ones; the goal is 300 ms for the first answer to 95 of 100 keys. Last
answers that are those of the command for the same text are counted; for a text that is no program the command
has none, and the server keeps what it has shown. What a processor works for each answer, which depends little
on how busy the machine is, is measured without a client (alone with `--work`).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from editing.script import script  # noqa: E402
from editing.typing import edits  # noqa: E402

from gradcheck_tool import check  # noqa: E402
from gradcheck_tool.server.tasks import Check, Settings  # noqa: E402
from gradcheck_tool.server.worker import Worker  # noqa: E402
from tests.server.editor import Editor, editor  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradcheck_tool.findings import Finding

# A code and the row in which it is shown.
Told = tuple[str, int]
GOAL = 0.3
# Keys that are typed first and not counted: rules, models and caches are there afterwards.
WARM_UP = 5


@dataclass
class Measured:
    """Seconds from each key to its first answer and to its last, and what the last one gave for each text."""

    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    told: list[tuple[str, list[Told]]] = field(default_factory=list)


async def _type(client: Editor, uri: str, text: str, measured: Measured, *, waits: bool) -> None:
    began = time.perf_counter()
    version = client.change(uri, text)
    await client.first_answer(uri, version)
    measured.first.append(time.perf_counter() - began)
    if waits:
        answer = await client.answer(uri, version)
        measured.told.append((text, sorted((str(one.code), one.range.start.line + 1) for one in answer)))
        measured.last.append(time.perf_counter() - began)


async def _measured(folder: Path, text: str, count: int, *, waits: bool) -> Measured:
    path = folder / "train.py"
    path.write_text(text, encoding="utf-8")
    (folder / "gradlint.toml").write_text("", encoding="utf-8")
    async with editor(folder) as client:
        uri = client.open(path, text)
        await client.answer(uri)
        for number in range(WARM_UP):
            await client.answer(uri, client.change(uri, f"{text}\n# {number}\n"))
        await client.answer(uri, client.change(uri, text))
        measured = Measured()
        for each in edits(text, count):
            await _type(client, uri, each, measured, waits=waits)
    return measured


def _run(text: str, count: int, *, waits: bool) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measured(Path(folder), text, count, waits=waits))


def _worked(text: str, count: int) -> Measured:
    """Seconds that the process which analyses works until each answer."""
    measured, worker = Measured(), Worker(Settings())
    with tempfile.TemporaryDirectory() as folder:
        root, path = Path(folder), Path(folder, "train.py")
        path.write_text(text, encoding="utf-8")
        (root / "gradlint.toml").write_text("", encoding="utf-8")
        warm = [f"{text}\n# {number}\n" for number in range(WARM_UP)]
        for number, each in enumerate([*warm, text, *edits(text, count)]):
            began = time.process_time()
            answers = worker.carry_out(Check(number, root, path, each))
            timed = [(time.process_time() - began, answer) for answer in answers]
            if number > WARM_UP:
                measured.first.append(timed[0][0])
                measured.last.append(timed[-1][0])
                measured.told.append((each, _places(timed[-1][1].findings)))
            gc.collect(0)
    return measured


def _print(words: str, times: Sequence[float]) -> None:
    ordered = sorted(times)
    percentile = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    print(
        f"{words}: median {statistics.median(times) * 1000:.0f} ms, "
        f"95th percentile {percentile * 1000:.0f} ms, longest {ordered[-1] * 1000:.0f} ms, "
        f"{sum(each <= GOAL for each in times)} of {len(times)} keys within {GOAL * 1000:.0f} ms"
    )


def _places(findings: Iterable[Finding]) -> list[Told]:
    return sorted((one.code, one.location.start.row) for one in findings)


def _print_same(words: str, measured: Measured, by_command: dict[str, list[Told]]) -> None:
    """Print to how many texts that are programs the last answer is that of the command."""
    programs = [(text, told) for text, told in measured.told if text in by_command]
    same = sum(told == by_command[text] for text, told in programs)
    broken = len(measured.told) - len(programs)
    print(f"{words}: {same} of {len(programs)} are those of the command; {broken} texts are no programs")


def _by_command(text: str, count: int) -> dict[str, list[Told]]:
    """What the command finds in each text that is a program."""
    told: dict[str, list[Told]] = {}
    for each in edits(text, count):
        with suppress(SyntaxError):
            compile(each, "train.py", "exec")
            if each not in told:
                told[each] = _places(check(each, isolated=True))
    return told


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edits", type=int, default=200, help="keys")
    parser.add_argument("--work", action="store_true", help="measure the work alone")
    given = parser.parse_args()
    text = script()
    compile(text, "train.py", "exec")
    print(f"{given.edits} keys in a script of {text.count(chr(10))} lines")
    waiting = Measured()
    if not given.work:
        waiting = _run(text, given.edits, waits=True)
        _print("first answer, each key after the last answer to the one before", waiting.first)
        _print("last answer", waiting.last)
        hurried = _run(text, given.edits, waits=False)
        _print("first answer, each key after the first answer to the one before", hurried.first)
    load = os.getloadavg()[0]
    worked = _worked(text, given.edits)
    _print("work for the first answer", worked.first)
    _print("work for all answers", worked.last)
    by_command = _by_command(text, given.edits)
    _print_same("last answers of the work alone", worked, by_command)
    if not given.work:
        _print_same("last answers to the client", waiting, by_command)
    print(f"load of the machine {load:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
