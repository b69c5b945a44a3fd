"""The error of a wrong input over its entries, small enough for a report."""

from __future__ import annotations

import torch
from torch import Tensor

LARGEST = 64
"""Rows and columns that a picture has at most."""


def largest(values: Tensor) -> float:
    """The largest of these errors that is a number: what the darkest colour stands for."""
    return (
        float(torch.nan_to_num(values.detach().abs(), nan=0.0, posinf=0.0).max()) if values.numel() else 0.0
    )


def small_heat(values: Tensor) -> list[list[float]]:
    """Rows of numbers from 0 to 1: the largest error of every block of entries, leading sizes joined.

    Args:
        values: sizes of errors, of any shape; NaN counts as the largest.
    """
    flat = values.detach().to("cpu", torch.float64).abs()
    top = largest(values)
    scaled = torch.nan_to_num(flat / top if top else flat, nan=1.0, posinf=1.0)
    grid = scaled.reshape(-1, scaled.shape[-1]) if scaled.ndim else scaled.reshape(1, 1)
    if not grid.numel():
        return []
    size = (min(grid.shape[0], LARGEST), min(grid.shape[1], LARGEST))
    pooled = torch.nn.functional.adaptive_max_pool2d(grid[None, None], size)[0, 0]
    return [[round(entry, 3) for entry in row] for row in pooled.tolist()]
