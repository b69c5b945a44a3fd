"""Where in an input the gradient is wrong, as text for a terminal and as a picture."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import torch
from torch import Tensor

from gradcheck_tool.trust.links import refuse_links
from gradcheck_tool.writing import write_atomically

_SHADES = " .:-=+*#%@"
_WIDEST = 64
_TALLEST = 16


def _grid(heat: Tensor, rows: int, columns: int) -> Tensor:
    """The largest values of blocks: at most `rows` x `columns`, any shape flattened to two axes."""
    matrix = heat.detach().to(torch.float64)
    matrix = matrix.reshape(-1, matrix.shape[-1]) if matrix.dim() >= 1 else matrix.reshape(1, 1)
    size = (min(rows, matrix.shape[0]), min(columns, matrix.shape[1]))
    return torch.nn.functional.adaptive_max_pool2d(matrix[None, None], size)[0, 0]


def peak(heat: Tensor) -> float:
    """The largest error of a map."""
    return float(heat.detach().max()) if heat.numel() else 0.0


def text(heat: Tensor) -> str:
    """A map of at most 16 lines of 64 characters; the darkest character is the largest error."""
    if not heat.numel():
        return ""
    grid = _grid(heat, _TALLEST, _WIDEST)
    darkest = float(grid.max()) or 1.0
    lines = ["".join(_SHADES[min(9, int(9 * float(x) / darkest + 0.999))] for x in row) for row in grid]
    return "\n".join(f"|{line}|" for line in lines)


def picture(heat: Tensor, folder: str, name: str) -> Path:
    """Write a PNG of the map into `folder` and return its path.

    Raises:
        ImportError: if matplotlib is not installed (the extra `plots`).
        LeadsOutError: a link of the tree leads out of it.
    """
    from matplotlib.figure import Figure

    path = Path(folder) / (re.sub(r"[^\w.-]+", "_", name) + ".png")
    refuse_links(path.absolute(), Path.cwd())
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(_grid(heat, 512, 512).cpu().numpy(), aspect="auto", interpolation="nearest")
    axes.set_title(f"error of the gradient: {name}")
    axes.set_xlabel("last axis")
    axes.set_ylabel("other axes")
    figure.colorbar(image)
    drawn = BytesIO()
    figure.savefig(drawn, format="png")
    write_atomically(path, drawn.getvalue())
    return path
