"""Parameters of two networks that `zip` pairs."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, check_quiet, told

PAIRS = """
from library import make

class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1, 4, 1, 1))

class Net(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part
        self.head = nn.Linear(4, 4)

def pair(source, target):
    for p, q in zip({source}, target.parameters()):
        {statement}

pair(Net(make()), Net(Part()))
"""


@pytest.mark.parametrize("source", ["source.parameters()", "list(source.parameters())"])
@pytest.mark.parametrize("statement", ["q.grad = p.detach()", "F.mse_loss(q, p).backward()"])
def test_a_network_that_is_not_known_whole_pairs_no_sizes(source: str, statement: str) -> None:
    check_quiet(PAIRS.format(source=source, statement=statement))


def test_what_is_done_with_parameters_of_one_size_is_seen() -> None:
    program = """
def follow(net, copy):
    for p, q in zip(net.parameters(), copy.parameters()):
        q.mul_(0.9).add_(p, alpha=0.1)

follow(nn.Linear(2, 2), nn.Linear(2, 2))
"""
    assert [finding.code for finding in told(HEAD + program)] == ["GL301"]
