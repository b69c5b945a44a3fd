"""Functions that are called with each part of a module."""

from __future__ import annotations

import pytest

from tests.open_programs import told
from tests.running import happened


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("module.weight.data.normal_()", []),
        ("module.weight.requires_grad = False", ["GL501"]),
        ("module.weight.requires_grad_(module.in_features > 2)", []),
    ],
)
def test_what_is_applied_to_all_modules_may_freeze_them(body: str, codes: list[str]) -> None:
    source = f"""
import torch
from torch import nn

def init(module):
    if isinstance(module, nn.Linear):
        {body}

net = nn.Sequential(nn.Linear(3, 2, bias=False), nn.Linear(2, 2, bias=False))
net.apply(init)
net(torch.ones(1, 3)).sum().backward()
"""
    assert [finding.code for finding in told(source)] == codes
    assert (happened(source)[0] is None) is (codes == [])
