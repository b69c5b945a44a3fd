"""How what was told in the processes of a watched command reaches `gradlint run`: one file a process."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from gradcheck_tool.observed.run import ObservedProcess
from gradcheck_tool.report.not_watched import NotWatched
from gradcheck_tool.sanitizer.told import Told, location_of
from gradcheck_tool.writing import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RUN = "GRADLINT_RUN"
"""The environment variable that names the folder to the watched processes."""
STEPS = "GRADLINT_RUN_STEPS"
"""The environment variable that says after how many optimizer steps they are left alone."""


KEEP_GOING = "GRADLINT_RUN_KEEP_GOING"
"""The environment variable that is there if they go on after what PyTorch refuses."""
LINES = "GRADLINT_RUN_LINES"
"""The environment variable that is set where the lines that run are wanted."""

# The end of a file's name that says that a process could not leave what it has told.
_LOST = ".lost"


def deliver(
    folder: Path,
    told: Iterable[Told],
    observed: ObservedProcess | None,
    rank: int | None,
    left_alone: Iterable[NotWatched] = (),
) -> None:
    """Leave what this process has told so far, in place of what it left before."""
    path = folder / f"{os.getpid()}.json"
    lost = path.with_suffix(_LOST)
    data = {
        "rank": rank,
        "told": [one.to_json() for one in told],
        "observed": None if observed is None else observed.to_json(),
        "left_alone": [asdict(one) for one in left_alone],
    }
    try:
        write_atomically(path, json.dumps(data), lasting=False)
        lost.unlink(missing_ok=True)
    except FileNotFoundError:
        return  # the command has ended: nobody reads it any more
    except OSError:
        with suppress(OSError):
            lost.touch()  # an empty file has room on a full disk, too


def put_aside(folder: Path) -> None:
    """What this process has left is not replaced by what another program leaves under its number."""
    path = folder / f"{os.getpid()}.json"
    with suppress(OSError):
        path.replace(path.with_stem(f"{path.stem}-{time.time_ns()}"))


@dataclass(frozen=True, slots=True)
class Delivered:
    """What all processes of a run left.

    Attributes:
        told: the mistakes in the order in which the processes ended, each once, with the ranks that saw it.
        observed: what the processes did, where that was kept.
        left_alone: what was not watched.
        lost: processes could not leave all of it, as where the disk is full.
    """

    told: list[Told]
    observed: list[ObservedProcess]
    left_alone: list[NotWatched]
    lost: bool


def delivered(folder: Path) -> Delivered:
    """Read what the processes left."""
    files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    found: dict[object, Told] = {}
    observed: list[ObservedProcess] = []
    ranks: dict[object, set[int]] = {}
    left_alone: dict[NotWatched, None] = {}
    for path in files:
        left = json.loads(path.read_text(encoding="utf-8"))
        left_alone.update(dict.fromkeys(map(not_watched_of, left["left_alone"])))
        if left["observed"] is not None:
            observed.append(ObservedProcess.from_json(left["observed"]))
        for data in left["told"]:
            told = Told.from_json(data)
            found.setdefault(told.key, told)
            if left["rank"] is not None:
                ranks.setdefault(told.key, set()).add(left["rank"])
    with_ranks = [
        replace(told, evidence={**told.evidence, "ranks": _listed(ranks[key])}) if key in ranks else told
        for key, told in found.items()
    ]
    return Delivered(with_ranks, observed, list(left_alone), any(folder.glob(f"*{_LOST}")))


def not_watched_of(data: dict[str, Any]) -> NotWatched:
    """Something that was left alone, from plain data."""
    return NotWatched(data["what"], data["why"], location_of(data["location"]))


def _listed(ranks: Iterable[int]) -> str:
    """Ranks in words: `0-2, 5`."""
    spans: list[list[int]] = []
    for rank in sorted(ranks):
        if spans and rank == spans[-1][-1] + 1:
            spans[-1][1:] = [rank]
        else:
            spans.append([rank])
    return ", ".join("-".join(map(str, span)) for span in spans)
