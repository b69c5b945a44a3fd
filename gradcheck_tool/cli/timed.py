"""Closing lines that say how long something took. Replaying a run imports this, and next to nothing else."""

from __future__ import annotations

# Where a closing line says how long something took: who prints the line again took another time.
TIME = "\0"


def timed(line: str, seconds: float, shown: bool) -> str:
    """A closing line with the time, which logs and scripts are spared: their output stays the same."""
    return line.replace(TIME, f", {seconds:.1f} s" if shown else "")
