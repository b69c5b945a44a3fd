"""Compiled parts of a Function run as they are written, where arguments are guessed.

A compiler takes seconds for each new shape and dtype, of which a search and a check have many; what is judged
is the gradient that the program states.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def eagerly() -> Iterator[None]:
    """Let functions made by `torch.compile` run uncompiled, where PyTorch knows how to (from 2.6)."""
    stance = getattr(torch.compiler, "set_stance", None)
    # What nothing has compiled yet has not loaded the compiler, which takes long.
    if stance is None or "torch._dynamo" not in sys.modules:
        yield
        return
    with stance("force_eager"):
        yield
