"""Which files cannot hold a finding: decided on bytes, before anything is decoded or parsed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.trigger import Trigger

# What code that runs makes gradients with. What comes of it is known in detail, and may be any event.
_MAKES_GRADIENTS = re.compile(rb"grad|\bnn\b|\.data\b")


class Prefilter:
    """The fixed words of triggers, and the patterns of those that have none."""

    def __init__(self, triggers: Iterable[Trigger]) -> None:
        triggers = tuple(triggers)
        self._judges_events = any(not trigger.is_name for trigger in triggers)
        needed = {
            (trigger.words, trigger.in_file, "" if trigger.words else trigger.pattern) for trigger in triggers
        }
        self._words = sorted({(_encoded(words), _encoded(near)) for words, near, _ in needed if words})
        self._patterns = [
            (re.compile(pattern.encode()), _encoded(near)) for words, near, pattern in needed if not words
        ]

    def passes(self, data: bytes) -> bool:
        """May a trigger find something in a file (a notebook, too) of these bytes?"""
        if self._judges_events and _MAKES_GRADIENTS.search(data):
            return True
        return any(_has_any(data, words) and _has_any(data, near) for words, near in self._words) or any(
            _has_any(data, near) and pattern.search(data) for pattern, near in self._patterns
        )


def _encoded(words: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(word.encode() for word in words)


def _has_any(data: bytes, words: tuple[bytes, ...]) -> bool:
    return not words or any(word in data for word in words)
