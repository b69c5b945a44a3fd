"""What the event of a backward says of its root."""

from __future__ import annotations

import pytest

from tests.running import events

PARTS = """
import torch
a = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
w = torch.nn.Parameter(torch.ones(3))
"""


@pytest.mark.parametrize(
    ("loss", "kinds", "terms"),
    [
        ("a.sum() + b.sum()", [], []),
        ("(a * b).sum() + b.sum().detach()", [], []),
        ("a.sum() + b.sum().detach()", [], ["detach"]),
        ("(a * b).sum() - 0.1 * b.sum().detach()", [], ["detach"]),
        ("(a * b).sum() + 2 * (b.sum().detach() - a.sum().detach())", [], []),
        ("a.sum() + torch.tensor([b.sum()]).sum()", ["retensor"], []),
        ("a.sum() + (b.detach() * 2).pow(2).sum()", [], ["detach"]),
        ("a.sum() + (torch.tensor(b) * (b * 2).detach().numpy()[0]).sum()", ["retensor"], []),
        ("a.sum() - 0.1 * b.sum().item()", [], ["item"]),
        ("a.sum() + b.argmax()", [], ["non-differentiable"]),
        ("a.sum() + torch.autograd.grad(b.pow(2).sum(), b)[0].sum()", ["create-graph"], []),
        ("(a * b.detach()).sum()", [], []),
        ("b.sum() + ((b - b.mean()).detach() * torch.zeros(3)).sum()", [], ["detach"]),
        ("(b * 2).sum() + (b.detach() * torch.zeros(3)).sum()", [], []),
        ("(a * w).sum() + 0.1 * w.data.norm()", [], ["data"]),
    ],
    ids=[
        "none",
        "trick",
        "missed",
        "number with a weight",
        "trick of two numbers",
        "copy",
        "many values",
        "copy of values",
        "number",
        "argmax",
        "gradient",
        "factor",
        "values that nothing else trains",
        "weight of a constant",
        "penalty",
    ],
)
def test_constant_terms_are_told_from_factors_and_tricks(
    loss: str, kinds: list[str], terms: list[str]
) -> None:
    (event,) = events(f"{PARTS}loss = {loss}\nloss.backward()\n", "BackwardCall")
    assert [cut.kind for cut in event.breaks] == kinds
    assert [cut.kind for cut in event.constant_terms] == terms


def test_only_calls_of_backward_are_reported() -> None:
    source = f"{PARTS}torch.autograd.grad(a.sum(), a)\n(a * b).sum().backward(create_graph=True)\n"
    (event,) = events(source, "BackwardCall")
    assert (event.root, event.create_graph, event.retain_graph) == ("(a * b).sum()", True, True)


def test_a_root_that_was_made_a_leaf_is_named() -> None:
    source = f"{PARTS}loss = a.sum().detach()\nloss.requires_grad_()\nloss.backward()\n"
    assert [event.made_leaf for event in events(source, "BackwardCall")] == ["loss.requires_grad_()"]


def test_a_root_that_is_given_its_gradient_is_no_loss() -> None:
    source = f"{PARTS}part = a.detach().requires_grad_()\ntorch.autograd.backward([part], [part])\n"
    assert [event.made_leaf for event in events(source, "BackwardCall")] == [""]
