"""Statements that put a value into a container."""

from __future__ import annotations

import pytest

from tests.running import findings

PROGRAM = """
import torch
w = torch.ones(2, requires_grad=True)
{start}
for step in range(3):
    loss = w.exp().sum()
    loss.backward()
    w.grad = None
    {put}
"""


@pytest.mark.parametrize(
    ("start", "put", "count"),
    [
        ("kept = []", "kept.append(loss)", 1),
        ("kept = []", "kept += [loss]", 1),
        ("kept = []", "kept.extend([loss])", 1),
        ("kept = []", "kept.insert(0, loss)", 1),
        ("kept = []", "kept.insert(step, loss)", 1),
        ("kept = []", "kept.extend([loss.item()])", 0),
        ("kept = {}", "kept[step] = loss", 1),
        ("kept = {'all': []}", "kept['all'].append(loss)", 1),
        ("kept = {}", "kept['last'] = loss", 0),
        ("kept = []", "kept += [loss.item()]", 0),
        ("kept = []", "kept = [loss]", 0),
    ],
)
def test_a_container_gets_another_element(start: str, put: str, count: int) -> None:
    found = findings(PROGRAM.format(start=start, put=put))
    assert [code for _, code in found] == ["GL602"] * count
