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


NUMBERS = """
def step(model, batches, optimizer):
    total = torch.tensor(0.0)
    for batch in batches:
        total += model(batch).mean().item()
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
"""


def test_a_total_of_numbers_has_no_graph_whatever_the_model_is() -> None:
    assert codes(HEAD + NUMBERS) == ["GL501"]
    assert codes(HEAD + NUMBERS.replace(".item()", "")) == []


TWO_HEADS = """
def step(encoder, head_a, head_b, x, y_a, y_b, opt_a, opt_b):
    z = encoder(x)
    loss_a = F.mse_loss(head_a(z), y_a)
    opt_a.zero_grad()
    loss_a.backward(retain_graph={keeps})
    opt_a.step()
    loss_b = F.mse_loss(head_b(z), y_b)
    opt_b.zero_grad()
    loss_b.backward()
    opt_b.step()
"""


def test_two_losses_of_heads_share_what_their_encoder_has_computed() -> None:
    assert "GL101" in codes(HEAD + TWO_HEADS.format(keeps="False"))
    assert "GL101" not in codes(HEAD + TWO_HEADS.format(keeps="True"))


RATIO = """
class Learner:
    def __init__(self, policy, lr):
        self.policy = policy
        self.opt = torch.optim.Adam(self.policy.parameters(), lr=lr)

    def update(self, obs, actions, before, adv):
        ratio = torch.exp(self.policy.log_prob(obs, actions) - before){cut}
        loss = -(ratio * adv).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
"""


def test_advantages_come_with_the_data() -> None:
    assert codes(HEAD + RATIO.format(cut=".detach()")) == ["GL501"]
    assert codes(HEAD + RATIO.format(cut="")) == []


DISTILLED = """
def kd_loss(student_logits, teacher_logits, T):
    given = F.log_softmax(student_logits{student} / T, dim=1)
    wanted = F.softmax(teacher_logits{teacher} / T, dim=1)
    return F.kl_div(given, wanted, reduction="batchmean") * T * T
"""


def test_what_a_teacher_says_comes_with_the_data() -> None:
    assert codes(HEAD + DISTILLED.format(student=".detach()", teacher="")) == ["GL501"]
    assert codes(HEAD + DISTILLED.format(student="", teacher=".detach()")) == []
