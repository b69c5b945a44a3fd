"""How what was told in the processes of a watched command reaches `gradlint run`: one file a process."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RUN = "GRADLINT_RUN"
"""The environment variable that names the folder to the watched processes."""
STEPS = "GRADLINT_RUN_STEPS"
"""The environment variable that says after how many optimizer steps they are left alone."""


KEEP_GOING = "GRADLINT_RUN_KEEP_GOING"
"""The environment variable that is there if they go on after what PyTorch refuses."""


def deliver(folder: Path, told: Iterable[Told]) -> None:
    """Leave what this process has told so far, in place of what it left before."""
    path = folder / f"{os.getpid()}.json"
    draft = path.with_suffix(".draft")
    try:
        draft.write_text(json.dumps([one.to_json() for one in told]), encoding="utf-8")
        draft.replace(path)
    except OSError:
        return  # the command has ended: nobody reads it any more


def delivered(folder: Path) -> list[Told]:
    """What all processes told, in the order in which they ended; the same mistake is told once."""
    files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    found: dict[object, Told] = {}
    for path in files:
        for data in json.loads(path.read_text(encoding="utf-8")):
            told = Told.from_json(data)
            found.setdefault(told.key, told)
    return list(found.values())
