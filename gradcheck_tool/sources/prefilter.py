"""Which files have anything to do with torch: decided on bytes, before anything is decoded or parsed."""

from __future__ import annotations

import re

# Code that trains without ever naming torch is handed its tensors and calls a method of theirs whose
# name nothing else has, or goes through a framework.
_TORCH = (b"torch", b".backward(", b"requires_grad", b"zero_grad")
_FRAMEWORKS = (b"accelerate", b"deepspeed", b"fastai", b"ignite", b"lightning", b"timm", b"transformers")
_IMPORTS = re.compile(rb"(?:import|from)\s+(?:" + b"|".join(_FRAMEWORKS) + rb")\b")


def mentions_torch(data: bytes) -> bool:
    """Whether a file's bytes (a notebook's, too) mention torch or a framework that is built on it."""
    # Looking for fixed words is many times quicker than one pattern of them all.
    if any(word in data for word in _TORCH):
        return True
    return any(word in data for word in _FRAMEWORKS) and _IMPORTS.search(data) is not None
