"""Checkpoints of the old kind, which refuse `torch.autograd.grad`.

Their backward runs another backward, which reaches more than the inputs that are asked for: parameters, which
`grad` is to leave alone. What they return for their own inputs is the gradient all the same.
"""

from __future__ import annotations

import re

import torch

_WANTED = re.compile(r"(?:not compatible|does not work|incompatible) with .*\bgrad\(", re.IGNORECASE)
_plain = torch.autograd._is_checkpoint_valid  # noqa: SLF001 - what they ask


def allowed(problem: str) -> bool:
    """Let them take part where a call has failed for that; whether that was begun now."""
    if torch.autograd._is_checkpoint_valid is not _plain or not _WANTED.search(problem):  # noqa: SLF001
        return False
    torch.autograd._is_checkpoint_valid = lambda: True  # noqa: SLF001
    return True


def leave() -> None:
    """Let them refuse again."""
    torch.autograd._is_checkpoint_valid = _plain  # noqa: SLF001
