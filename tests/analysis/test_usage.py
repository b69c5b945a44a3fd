"""What is done with a value in one place tells what it is in others."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, Open, check_open, told

TRAINED = (
    HEAD
    + """
def run(model, batches, optimizer, measure, train):
    with torch.set_grad_enabled({enabled}):
        for x, y in batches:
            optimizer.zero_grad()
            loss = measure(model(x), y)
            if train:
                loss.backward(){mark}
                optimizer.step()
"""
)


def test_what_is_differentiated_in_another_block_is_a_loss() -> None:
    check_open(
        Open(
            TRAINED.format(enabled="False", mark="  # <- GL501"),
            "(False)",
            "(train)",
            "net = nn.Linear(2, 1)\n"
            "run(net, [(torch.ones(1, 2), torch.ones(1, 1))], torch.optim.SGD(net.parameters()), F.mse_loss, True)",
        )
    )


@pytest.mark.parametrize("other", ["loss = measure.value", "loss = optimizer"])
def test_a_name_that_holds_something_else_as_well_tells_nothing(other: str) -> None:
    source = TRAINED.format(enabled="False", mark="").replace(
        "            if train", f"            if y is None:\n                {other}\n            if train"
    )
    assert told(source) == []
