"""Which unknown values may have a graph, and what constant terms were cut off from."""

from __future__ import annotations

import pytest

from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import GRAPH, Const, Symbol, unknown
from gradcheck_tool.engine.cuts import cut_to_number
from gradcheck_tool.engine.tensors import new_tensor
from gradcheck_tool.interp.constants import inherit_terms, may_have_graph, unsure_graph
from tests.running import events

NUMBER = Symbol("number", "float")


@pytest.mark.parametrize(("op", "is_kept"), [("*", False), ("/", False), ("+", True), ("-", True)])
def test_a_constant_factor_is_no_constant_term(op: str, is_kept: bool) -> None:
    s = State()
    cut_to_number(s, new_tensor(s, None, requires_grad=True, name="x"), NUMBER, "x.item()", None)
    for other, is_constant in ((unsure_graph(s), False), (unknown(), True), (Const(2), True)):
        result = Symbol(("op", op, NUMBER, other))
        inherit_terms(s, op, result, NUMBER, other)
        assert (result in s.severed) is (is_kept or is_constant)


def test_what_is_read_out_of_or_computed_from_a_graph_may_have_one() -> None:
    s = State()
    made, plain = unsure_graph(s), unknown()
    assert may_have_graph(s, Symbol(("op", "-", Const(1), Symbol(("item", made, Const(0))))))
    assert may_have_graph(s, unknown(GRAPH))
    assert not may_have_graph(s, Symbol(("op", "-", Const(1), Symbol(("item", plain, Const(0))))))
    assert not may_have_graph(s, Symbol(("op", "*", made, Const(1)), "float"))


SAC = """
import torch
from torch import nn

class Agent:
    def __init__(self, policy, q, beta):
        self.policy, self.q, self.beta = policy, q, beta
        self.temperature = nn.Parameter(torch.zeros(1))
        self.optimizer = torch.optim.Adam([*policy.parameters(), *q.parameters()])
    def update(self, batch):
        alpha = float(self.temperature.exp())
        policy = self.policy(batch)
        action = policy.rsample()
        log_prob = policy.log_prob(action)
        loss = torch.mean(alpha * {factor} - self.q(action))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""


@pytest.mark.parametrize(
    ("factor", "count"),
    [("log_prob", 0), ("log_prob[..., None]", 0), ("(1 - log_prob)", 0), ("self.beta", 1)],
)
def test_a_coefficient_of_what_a_distribution_gives_is_no_term(factor: str, count: int) -> None:
    found = events(SAC.replace("{factor}", factor), "BackwardCall")
    assert found
    assert {len(event.constant_terms) for event in found} == {count}
