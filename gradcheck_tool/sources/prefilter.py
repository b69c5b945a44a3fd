"""Which files have anything to do with torch: decided on bytes, before anything is decoded or parsed."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Code that trains without ever naming torch is handed its tensors and calls a method of theirs whose
# name nothing else has, or goes through a framework.
_TORCH = b"torch"
_OF_TENSORS = (b".backward(", b"requires_grad", b"zero_grad")
# Frameworks whose tensors have methods of these names, too.
_OTHERS = re.compile(
    rb"\b(?:import|from)\s+(?:chainer|jittor|megengine|mindspore|mxnet|oneflow|paddle|tensorflow|tinygrad)\b"
)
# Frameworks that train and have no model.
_UNMODELLED = ("fastai",)


def mentions_torch(data: bytes, frameworks: Iterable[str]) -> bool:
    """Whether a file's bytes (a notebook's, too) mention torch or import a framework that is built on it.

    What trains with another framework does not, whatever its methods are called.
    """
    # Looking for fixed words is many times quicker than one pattern of them all.
    if _TORCH in data or (any(word in data for word in _OF_TENSORS) and _OTHERS.search(data) is None):
        return True
    words, imports = _imports_of(frozenset((*frameworks, *_UNMODELLED)))
    return any(word in data for word in words) and imports.search(data) is not None


@lru_cache(maxsize=16)
def _imports_of(frameworks: frozenset[str]) -> tuple[tuple[bytes, ...], re.Pattern[bytes]]:
    words = tuple(name.encode() for name in sorted(frameworks))
    return words, re.compile(rb"(?:import|from)\s+(?:" + b"|".join(words) + rb")\b")
