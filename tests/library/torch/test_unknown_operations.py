"""What the op tables lack is unknown: no error is predicted for its result, or for what it may write to."""

from __future__ import annotations

import itertools

import pytest

from tests.running import Analysis

HEAD = """
import torch
from torch import nn
import torch.nn.functional as F
x = torch.ones(3, requires_grad=True)
y = x * 2
z = torch.ones(3)
"""
# Each makes `z`, of which nothing may be known afterwards.
MAKERS = [
    "z = torch.no_such(y)",
    "z = torch.no_such(input=y)",
    "z = torch.no_such([y, x])",
    "z = torch.linalg.no_such(y)",
    "z = torch.ops.mine.no_such(y)",
    "z = y.no_such()",
    "z = F.no_such(y)",
    "z = nn.NoSuch(3)(y)",
    "z = torch.exp(y, 3, 4)",
    "z = nn.NoSuch(inplace=True)(y)",
]
# Each may write to `z`, which is a leaf that requires grad, a result, or a constant before.
WRITERS = [
    f"z = {given}\n{writer}"
    for given, writer in itertools.product(
        ["x", "y", "z"],
        [
            "z.no_such_()",
            "torch.no_such_(z)",
            "F.no_such_(z)",
            "F.no_such(z, inplace=True)",
            "nn.init.no_such_(z)",
            "torch.no_such(torch.ones(3), out=z)",
            "torch._foreach_no_such_([z])",
            "z.exp_(3, 4)",
            "torch.exp(3, 4, 5, out=z)",
        ],
    )
]
# Each raises for some kind of tensor.
USES = [
    "z.backward()",
    "z.numpy()",
    "int(z)",
    "z.requires_grad_(False)",
    "z.requires_grad_()",
    "z.add_(1)",
    "z[0] = 1.0",
    "z.register_hook(print)",
    "z.retain_grad()",
    "z.detach_()",
    "z.resize_(4)",
    "z.sum().backward()",
    "torch.optim.SGD([z], lr=0.1)",
    "torch.autograd.grad(z.sum(), x)",
    "torch.exp(z, out=torch.empty(3))",
    "v = z.exp()\nz.add_(1.0)\nv.sum().backward()",
]


@pytest.mark.parametrize("maker", [*MAKERS, *WRITERS])
def test_nothing_is_predicted(maker: str) -> None:
    for use in USES:
        source = f"{HEAD}{maker}\n{use}\n"
        errors = Analysis(source).errors()
        assert not errors, (use, errors[0].text)


@pytest.mark.parametrize("use", ["z.backward()", "z.numpy()", "z.detach_()\nz.backward()"])
def test_the_same_uses_are_predicted_for_what_is_known(use: str) -> None:
    assert Analysis(f"{HEAD}z = y.exp()\n{use}\n").errors()
