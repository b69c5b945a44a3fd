"""Chains of tests without an `else` are complete where only they bind what is read after them."""

from __future__ import annotations

import pytest

from gradcheck_tool.ir.exhaustive import complete_chains
from gradcheck_tool.ir.lower import lower_module
from tests.running import findings

TRAIN = """\
import torch

def fit(model, criterion, data, target):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in data:
        optimizer.zero_grad()
        out = model(batch)
{body}
        loss.backward()
        optimizer.step()
"""
CHAIN = """\
        if isinstance(out, torch.Tensor):
            loss = criterion(out, target)
        elif "logits" in out:
            loss = criterion(out["logits"], target)
"""
NESTED = """\
        if isinstance(out, torch.Tensor):
            loss = criterion(out, target)
        elif isinstance(out, dict):
            if "logits" in out:
                loss = criterion(out["logits"], target)
            elif "scores" in out:
                loss = criterion(out["scores"], target)
        else:
            raise ValueError
"""
ONE_TEST = """\
        if isinstance(out, torch.Tensor):
            loss = criterion(out, target)
"""


@pytest.mark.parametrize("body", [CHAIN, NESTED], ids=["a chain", "a chain in a chain"])
def test_no_loss_of_an_earlier_iteration_goes_past_a_chain(body: str) -> None:
    assert findings(TRAIN.format(body=body)) == []


def test_a_loss_of_an_earlier_iteration_goes_past_a_single_test() -> None:
    assert [code for _, code in findings(TRAIN.format(body=ONE_TEST))] == ["GL102"]


@pytest.mark.parametrize(
    ("before", "count"), [("pass", 1), ("rate = 0.1", 0)], ids=["bound by the chain alone", "bound before"]
)
def test_a_chain_that_changes_what_is_bound_before_it_may_be_gone_past(before: str, count: int) -> None:
    source = f"""\
def f(steps, a, b):
    {before}
    for step in steps:
        if step == a:
            rate = 0.2
        elif step == b:
            rate = 0.3
        print(rate)
"""
    assert len(complete_chains(lower_module(source, "p.py").functions[0])) == count
