"""Optimizers that are given a parameter twice: where PyTorch warns, and nowhere else."""

from __future__ import annotations

import warnings

import pytest

from tests.running import findings

HEAD = """
import torch
from torch import nn

def several():
    return [nn.Linear(2, 2) for _ in range(3)]

shared = nn.Linear(2, 2)
"""
LISTS = {
    "two networks with a layer in common": (
        "first, second = nn.Sequential(shared, nn.Linear(2, 2)), nn.Sequential(nn.ReLU(), shared)\n"
        "parameters = list(first.parameters()) + list(second.parameters())"
    ),
    "tied weights": (
        "other = nn.Linear(2, 2)\nother.weight = shared.weight\n"
        "parameters = [*shared.parameters(), *other.parameters()]"
    ),
    "one module that holds both": (
        "parameters = nn.ModuleList([nn.Sequential(shared), nn.Sequential(shared)]).parameters()"
    ),
    "networks of one class": "parameters = [*nn.Linear(2, 2).parameters(), *nn.Linear(2, 2).parameters()]",
    "networks made in a loop": (
        "parameters = []\nfor _ in range(4):\n    net = nn.Linear(2, 2)\n    parameters += list(net.parameters())"
    ),
    "networks made in a comprehension": (
        "parameters = [p for net in several() + several() for p in net.parameters()]"
    ),
    "the same list again": "parameters = list(shared.parameters()) * 2",
    "each once, by its identity": (
        "parameters = list({id(p): p for p in [*shared.parameters(), *shared.parameters()]}.values())"
    ),
    "each once, by a set of identities": (
        "seen, parameters = set(), []\n"
        "for p in [*shared.parameters(), *shared.parameters()]:\n"
        "    if id(p) not in seen:\n        seen.add(id(p))\n        parameters.append(p)"
    ),
    "groups of different parameters": (
        "parameters = [{'params': [shared.weight]}, {'params': [shared.bias], 'weight_decay': 0.0}]"
    ),
}


@pytest.mark.parametrize("listed", LISTS.values(), ids=LISTS)
def test_the_rule_speaks_where_pytorch_warns(listed: str) -> None:
    program = HEAD + listed + "\noptimizer = torch.optim.SGD(parameters, lr=0.1)\n"
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        exec(compile(program, "program", "exec"), {})
    warned = any("duplicate parameters" in str(one.message) for one in heard)
    assert [code for _, code in findings(program)] == ["GL330"] * warned


@pytest.mark.parametrize(("flag", "expected"), [("True", ["GL330"]), ("False", [])])
def test_what_is_frozen_is_not_moved(flag: str, expected: list[str]) -> None:
    frozen = f"shared.requires_grad_({flag})\nother = nn.Linear(2, 2)\n"
    program = f"{HEAD}{frozen}both = [*other.parameters(), shared.weight, shared.weight]\n"
    assert [code for _, code in findings(f"{program}torch.optim.SGD(both, lr=0.1)\n")] == expected
