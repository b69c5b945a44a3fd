"""The texts that rules predict: alternatives, and gaps for what depends on the program.

`a | b` are two texts of which PyTorch raises one. `...` in a text stands for what only the run knows, such as
sizes and names.
"""

from __future__ import annotations

ALTERNATIVE = " | "
GAP = "..."


def alternatives(predicted: str | None) -> tuple[str, ...]:
    """The texts of which one is raised."""
    return tuple(filter(None, (predicted or "").split(ALTERNATIVE)))


def is_said(predicted: str | None, message: str) -> bool:
    """Is one of the predicted texts part of what was said?"""
    return any(_is_part(text, message) for text in alternatives(predicted))


def _is_part(text: str, message: str) -> bool:
    at = 0
    for part in text.split(GAP):
        found = message.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True
