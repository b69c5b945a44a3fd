"""What a misspelt word may have meant, and how one style of names is spelt in another."""

from __future__ import annotations

import difflib
import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@cache
def snake_case(name: str) -> str:
    """`FreedGraph` -> `freed_graph`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Which of the words is most like a wrong one; None when none is close.

    Case is forgiven, and `_` for `-`; among words that are close, the beginning counts most.
    """
    folded = {_folded(candidate): candidate for candidate in sorted(words)}
    wrong = _folded(word)
    if wrong in folded:
        return folded[wrong]
    close = sorted(difflib.get_close_matches(wrong, folded, n=len(folded) or 1, cutoff=0.6))
    return folded[max(close, key=lambda found: _likeness(found, wrong))] if close else None


def _likeness(found: str, wrong: str) -> tuple[int, float]:
    """How many characters both begin with, then how much of both is alike."""
    pairs = zip(found, wrong, strict=False)
    shared = next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(found), len(wrong)))
    return shared, difflib.SequenceMatcher(None, found, wrong).ratio()


def _folded(word: str) -> str:
    return word.lower().replace("_", "-")
