"""A Sequential of parts of which nothing is known is a module of which only the role is known."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told

JOINED = (
    HEAD
    + """
import networks

class Algorithm(nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.head = networks.Features(3), networks.Head(3)
        self.net = nn.Sequential(self.features, self.head)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def update(self, x, y):
        loss = F.cross_entropy(self.net(x), y)
        grads = torch.autograd.grad(loss, self.net.parameters(), retain_graph=True, create_graph={create})
        penalty = sum(grad.pow(2).sum() for grad in grads)
        self.optimizer.zero_grad()
        (loss + penalty).backward()
        {step}
"""
)


@pytest.mark.parametrize(
    ("create", "step", "found"),
    [
        ("True", "self.optimizer.step()", []),
        ("False", "self.optimizer.step()", ["GL803"]),
        ("True", "self.optimizer.step(); loss.backward()", ["GL101"]),
    ],
)
def test_parts_of_which_nothing_is_known_are_a_module_together(
    create: str, step: str, found: list[str]
) -> None:
    assert [finding.code for finding in told(JOINED.format(create=create, step=step))] == found


def test_parts_that_do_not_train_are_asked_before() -> None:
    """What is known of a part is not forgotten for its being in a Sequential."""
    frozen = JOINED.replace("self.net = nn", "self.features.requires_grad_(False)\n        self.net = nn")
    assert told(frozen.format(create="True", step="self.optimizer.step()")) == []
