"""What is differentiated where a loss is returned and no backward is in sight: constants in it, and leaves."""

from __future__ import annotations

import pytest

from gradcheck_tool.trackers.events import BackwardCall
from tests.running import events, findings

HEAD = "import torch\nimport torch.nn.functional as F\n\n"
LOSS = (
    HEAD
    + """def dice_loss(logits, target):
    entropy = F.binary_cross_entropy_with_logits(logits, target)
    probability = torch.sigmoid(logits)
    {}
"""
)


def codes(source: str) -> list[str]:
    return sorted({code for _, code in findings(source)})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("hard = (probability > 0.5).float(); return entropy + (hard * target).mean()", ["GL515"]),
        ("return entropy + (probability.argmax(1) != target).float().mean()", ["GL515"]),
        ("return entropy + F.l1_loss(probability, target).item()", ["GL515"]),
        ("return torch.tensor(entropy, requires_grad=True)", ["GL507"]),
        ("return torch.tensor(entropy.item(), requires_grad=True)", ["GL507"]),
        ("return torch.tensor([entropy.item()], requires_grad=True).mean()", ["GL507"]),
        ("return torch.tensor([x.sum().item() for x in logits], requires_grad=True)", ["GL507"]),
        ("return torch.stack([torch.tensor(entropy.item(), requires_grad=True)]).sum() / 2", ["GL507"]),
        ("return torch.tensor([entropy.item()], requires_grad=True).sum() + entropy", []),
        ("cached = entropy.detach().requires_grad_(); return cached", ["GL507"]),
        ("cached = entropy.detach().requires_grad_(); cached.register_hook(print); return cached", []),
        ("hard = (probability > 0.5).float(); return entropy * (hard * target).mean()", []),
        ("return entropy + (probability * target).mean()", []),
        ("return entropy + entropy.detach()", []),
        ("return entropy", []),
    ],
)
def test_constants_of_a_loss(body: str, expected: list[str]) -> None:
    assert codes(LOSS.format(body)) == expected


def test_it_says_what_it_assumes() -> None:
    source = LOSS.format("return torch.tensor(entropy, requires_grad=True)")
    (event,) = [e for e in events(source, BackwardCall) if e.made_leaf]
    assert event.root == "dice_loss(...)"
    assert event.unit == "dice_loss"
    assert "the result of `dice_loss` is differentiated" in event.assumes


def test_a_computed_loss_of_an_unknown_model_that_is_made_a_leaf() -> None:
    source = (
        HEAD
        + """def step(model, optimizer, batch):
    loss = torch.tensor(model(batch).loss * 0.5 + 1, requires_grad=True)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    )
    assert "GL507" in codes(source)


def test_a_leaf_of_given_data_is_no_computed_loss() -> None:
    source = HEAD + "def slope(value):\n    x = torch.tensor([value], requires_grad=True)\n    x.backward()\n"
    assert codes(source) == []
