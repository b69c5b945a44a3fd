"""A path that could not be checked, or not as its author meant it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """A path that could not be checked, or not as its author meant it.

    Attributes:
        fatal: the run as a whole failed for it: the path was named by the user, its bytes could not
            be had, or gradlint broke down. A file found in a folder that is not Python is mentioned,
            and no more.
    """

    path: str
    message: str
    fatal: bool
