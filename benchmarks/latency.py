"""How long an editor waits for findings after a key, on a warm server: python benchmarks/latency.py

A real client starts `gradlint server`, opens a training script and types 200 keys into it: once each when all
is known about the one before, once each when the first answer to the one before is there, so that the rest of
that check is outdated. Printed are the median, the 95th percentile and the longest time from a key to its
first diagnostics and to its last ones; the goal is 300 ms for the first answer to 95 of 100 keys. Last
answers that differ from those of the command are counted. What a processor works for each answer, which does
not depend on how busy the machine is, is measured without a client (alone with `--work`).
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
    from collections.abc import Sequence

GOAL = 0.3
# Keys that are typed first and not counted: rules, models and caches are there afterwards.
WARM_UP = 5


@dataclass
class Measured:
    """Seconds from each key to its first answer and to its last, and the codes that the last one gave."""

    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    codes: dict[str, list[str]] = field(default_factory=dict)


async def _type(client: Editor, uri: str, text: str, measured: Measured, *, waits: bool) -> None:
    began = time.perf_counter()
    version = client.change(uri, text)
    await client.first_answer(uri, version)
    measured.first.append(time.perf_counter() - began)
    if waits:
        measured.codes[text] = await client.codes(uri, version)
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
            times = [time.process_time() - began for _ in worker.carry_out(Check(number, root, path, each))]
            if number > WARM_UP:
                measured.first.append(times[0])
                measured.last.append(times[-1])
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


def _differing(measured: Measured) -> int:
    """How many last answers to texts that are programs are not those of the command."""
    different = 0
    for text, codes in measured.codes.items():
        try:
            compile(text, "train.py", "exec")
        except SyntaxError:
            continue
        different += sorted(codes) != sorted(one.code for one in check(text, isolated=True))
    return different


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
    worked = _worked(text, given.edits)
    _print("work for the first answer", worked.first)
    _print("work for all answers", worked.last)
    if given.work:
        return
    waiting = _run(text, given.edits, waits=True)
    _print("first answer, each key after the last answer to the one before", waiting.first)
    _print("last answer", waiting.last)
    hurried = _run(text, given.edits, waits=False)
    _print("first answer, each key after the first answer to the one before", hurried.first)
    print(f"last answers that are not those of the command: {_differing(waiting)}")
    print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
