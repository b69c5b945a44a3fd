"""Derivatives for which PyTorch takes another formula where a dispatch mode is there.

The other one rounds differently, or gives NaN in place of zeros where the gradient is infinite. So our mode
goes when such a node begins; the engine puts it back when the node has ended. What the node computes is not
seen: it is PyTorch's own, and writes nothing of the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import _pop_mode, _push_mode

if TYPE_CHECKING:
    from gradcheck_tool.sanitizer.below import Below

SENSITIVE = frozenset(
    {
        "CumprodBackward0",
        "LinalgDetBackward0",
        "MaskedFillBackward1",
        "MaxBackward1",
        "MedianBackward0",
        "MinBackward1",
        "NanmedianBackward0",
        "ProdBackward0",
        "ProdBackward1",
    }
)
"""The nodes whose derivative looks for modes."""
_core: Any = torch._C


def without(mode: Below) -> bool:
    """Take a mode away from this thread, and leave those of the program. Was it there?"""
    count = _core._len_torch_dispatch_stack()
    if not any(_core._get_dispatch_stack_at(index) is mode for index in range(count)):
        return False
    above: list[Any] = []
    while (top := _pop_mode()) is not mode:
        above.append(top)
    for other in reversed(above):
        _push_mode(other)
    return True
