"""Which files cannot hold a finding: decided on bytes, before anything is decoded or parsed."""

from __future__ import annotations

import re

# Code that trains without ever naming torch goes through one of these, or is handed its tensors and
# calls a method of theirs whose name nothing else has.
_TORCH = (
    b"torch",
    b"backward",
    b"requires_grad",
    b"zero_grad",
    b"lightning",
    b"accelerat",
    b"deepspeed",
    b"transformers",
    b"fastai",
    b"ignite",
    b"timm",
)

# What every finding needs some of, in any spelling: a gradient, a change in place, a name of autograd's.
_HAZARD = re.compile(
    rb"backward|autograd|grad|Variable|volatile|Function|Parameter|\.data\b|\.step\(|numpy\(|deepcopy"
    rb"|[a-z0-9]_\(|\]\s*(?:[-+*/@%&|^]|//|\*\*|<<|>>)?=[^=]|\.\w+\s*(?:[-+*/@%&|^]|//|\*\*|<<|>>)=|inplace|detach"
    rb"|retain_graph|checkpoint|training_step|\bhook"
)


def may_hold_findings(data: bytes) -> bool:
    """Whether a file's bytes (a notebook's, too) mention what every finding depends on."""
    return any(word in data for word in _TORCH) and _HAZARD.search(data) is not None
