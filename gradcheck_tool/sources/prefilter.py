"""Which files cannot hold a finding: decided on bytes, before anything is decoded or parsed."""

from __future__ import annotations

import re

# Code that trains without ever naming torch is handed its tensors and calls a method of theirs whose
# name nothing else has, or goes through a framework.
_TORCH = (b"torch", b".backward(", b"requires_grad", b"zero_grad")
_FRAMEWORKS = (b"accelerate", b"deepspeed", b"fastai", b"ignite", b"lightning", b"timm", b"transformers")
_IMPORTS = re.compile(rb"(?:import|from)\s+(?:" + b"|".join(_FRAMEWORKS) + rb")\b")

# What every finding needs some of, in any spelling: a gradient, a module, a change in place, a name of
# autograd's.
_HAZARD = re.compile(
    rb"backward|autograd|grad|\bnn\b|Variable|volatile|Function|Parameter|\.data\b|\.step\(|numpy\(|deepcopy"
    rb"|[a-z0-9]_\(|\]\s*=[^=]|[\w\])]\s*(?:[-+*/@%&|^]|//|\*\*|<<|>>)=|inplace|detach"
    rb"|retain_graph|checkpoint|training_step|hook|\breinforce\b|autocast|GradScaler"
)


def may_hold_findings(data: bytes) -> bool:
    """Whether a file's bytes (a notebook's, too) mention what every finding depends on."""
    return _mentions_torch(data) and _HAZARD.search(data) is not None


def _mentions_torch(data: bytes) -> bool:
    # Looking for fixed words is many times quicker than one pattern of them all.
    if any(word in data for word in _TORCH):
        return True
    return any(word in data for word in _FRAMEWORKS) and _IMPORTS.search(data) is not None
