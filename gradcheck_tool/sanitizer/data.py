"""`tensor.data = other`: the tensor has other memory from then on, and no operation is called."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.sanitizer.replacing import replaced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor


class _Data:
    """The attribute `data` of tensors; of the class it is PyTorch's own, which programs compare."""

    def __init__(self, moves: Callable[[Tensor], None]) -> None:
        self._original: Any = vars(torch.Tensor).get("data", torch.Tensor.data)
        self._moves = moves

    def __get__(self, tensor: Tensor | None, kind: type) -> Any:
        return self._original.__get__(tensor, kind)

    def __set__(self, tensor: Tensor, value: Any) -> None:
        self._moves(tensor)
        self._original.__set__(tensor, value)

    def __delete__(self, tensor: Tensor) -> None:
        self._original.__delete__(tensor)


@contextmanager
def data_watched(moves: Callable[[Tensor], None]) -> Iterator[None]:
    """`moves` is told of each tensor that is about to be given other memory."""
    attribute: Any = _Data(moves)
    with replaced(torch.Tensor, data=attribute):
        yield
