"""Calls as users write them, for what PyTorch's own samples do not show.

The files in `patterns/` have one call a line, over the variables of `variables()`: `x`, `y`, `z` floating-point matrices of one shape that
is not square, `v`, `w` vectors as long as their rows, `h`, `g` as long as their columns, `s` a 0-dim tensor, `b`,
`c` batches of matrices, `im` images, `seq` (batch, channels, length), `vol` volumes, `p`, `t` probabilities, `q`
and `r` factors of a product, `idx` an integer vector, `ii` an integer matrix, `m` a mask, `cls` class indices, `n`
an integer matrix as data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

FOLDER = Path(__file__).parent / "patterns"
# A name's calls are watched in the order in which the files have them.
GROUPS = (
    "operators", "indexing", "pointwise", "reductions", "shapes", "products", "gathering", "conversions",
    "in_place", "factories", "comparisons", "activations", "functional", "losses", "images", "attributes",
    "special", "lists", "initialisation", "signals",
)  # fmt: skip


def variables() -> dict[str, Any]:
    """Fresh values of the patterns' variables."""
    torch.manual_seed(0)
    square = torch.rand(4, 4)
    return {
        "x": torch.rand(3, 4) + 0.1, "y": torch.rand(3, 4) + 0.1, "z": torch.rand(3, 4) + 0.1,
        "p": torch.rand(3, 4) * 0.8 + 0.1, "t": torch.rand(3, 4) * 0.8 + 0.1, "m": torch.rand(3, 4) > 0.5,
        "v": torch.rand(4) + 0.1, "w": torch.rand(4) + 0.1, "u": torch.rand(5) + 0.1, "s": torch.rand(()) + 0.5,
        "h": torch.rand(3) + 0.1, "g": torch.rand(3) + 0.1,
        "b": torch.rand(3, 5, 4), "c": torch.rand(3, 5, 4),
        "b4": torch.rand(2, 3, 5, 4), "c4": torch.rand(2, 3, 6, 4),
        "im": torch.rand(2, 4, 6, 8), "seq": torch.rand(2, 4, 8), "vol": torch.rand(2, 4, 3, 6, 8),
        "q": torch.rand(5, 4), "r": torch.rand(4, 3), "q3": torch.rand(2, 5, 4), "r3": torch.rand(2, 4, 3),
        "q4": torch.rand(2, 3, 5, 4), "r4": torch.rand(2, 3, 4, 6), "o": torch.rand(5, 3), "mask": torch.rand(5, 6),
        "x64": torch.rand(3, 4, dtype=torch.float64), "x16": torch.rand(3, 4, dtype=torch.bfloat16),
        "n32": torch.tensor([[1, 2, 3]], dtype=torch.int32), "square": square, "positive": square @ square.T + torch.eye(4),
        "cx": torch.randn(3, 4, dtype=torch.complex64), "a": np.ones((2, 3), dtype="float32"),
        "idx": torch.tensor([2, 0, 1]), "ii": torch.tensor([[0, 1, 2, 1], [2, 0, 1, 0]]), "k": torch.tensor(1),
        "m1": torch.tensor([True, False, True]), "cls": torch.tensor([0, 2, 1]),
        "n": torch.tensor([[1, 2, 3, 4], [2, 1, 1, 3]]),
        "ids": torch.tensor([[0, 1, 1], [2, 3, 0]]), "table": torch.rand(6, 4),
        "kern": torch.rand(4, 4, 3, 3), "kern1": torch.rand(4, 4, 3), "kern3": torch.rand(4, 4, 2, 2, 2),
        "mean": torch.zeros(4), "var": torch.ones(4),
    }  # fmt: skip


def lines() -> list[str]:
    """The patterns, one statement each."""
    return [line for group in GROUPS for line in _read(group)]


def layer_lines() -> list[str]:
    """The patterns of layers: a constructor, ` :: `, and the arguments of the call."""
    return _read("layers")


def _read(group: str) -> list[str]:
    return (FOLDER / f"{group}.txt").read_text(encoding="utf-8").splitlines()
