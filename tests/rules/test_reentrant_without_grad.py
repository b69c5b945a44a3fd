"""Reentrant checkpoints: what is reported is what PyTorch warns of."""

from __future__ import annotations

import warnings

import pytest

from tests.open_programs import told

HEAD = """
import functools, torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
import torch.utils.checkpoint as cp
layer = torch.nn.Linear(2, 2)
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
data, trained = torch.ones(4, 2), torch.ones(4, 2, requires_grad=True)
"""
WRONG = [
    "checkpoint(layer, data, use_reentrant=True)",
    "cp.checkpoint(layer, data, use_reentrant=True)",
    "functools.partial(checkpoint, use_reentrant=True)(layer, data)",
    "checkpoint(layer, *[data], **{'use_reentrant': True})",
    "checkpoint_sequential(net, 2, data, use_reentrant=True)",
]
RIGHT = [
    "checkpoint(layer, data, use_reentrant=False)",
    "checkpoint(layer, trained, use_reentrant=True)",
    "checkpoint(torch.exp, trained, use_reentrant=True)",
    "checkpoint_sequential(net, 1, data, use_reentrant=True)",
    "checkpoint_sequential(net, 2, trained, use_reentrant=True)",
    "view = data[0]; data.mul_(trained); checkpoint(layer, view, use_reentrant=True)",
]


def _warns(program: str) -> bool:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        exec(compile(program, "program.py", "exec"), {})
    return any("None of the inputs have requires_grad" in str(warning.message) for warning in seen)


@pytest.mark.parametrize(("call", "is_wrong"), [(c, True) for c in WRONG] + [(c, False) for c in RIGHT])
def test_what_pytorch_warns_of_is_reported(call: str, is_wrong: bool) -> None:
    program = f"{HEAD}{call}\n"
    assert _warns(program) is is_wrong
    assert ([finding.code for finding in told(program)] == ["GL808"]) is is_wrong
