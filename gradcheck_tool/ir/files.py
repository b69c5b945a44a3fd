"""What the name of a file tells."""

from __future__ import annotations

from pathlib import PurePath


def is_called_like_tests(filename: str) -> bool:
    """Has a file the name of one of tests?"""
    name = PurePath(filename).stem
    return name.startswith("test_") or name.endswith("_test")
