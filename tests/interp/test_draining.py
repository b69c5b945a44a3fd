"""An iterable that is gone through at once, as by a loop."""

from __future__ import annotations

import pytest

from tests.running import findings, happened

# A window of three batches, of which the second is applied on top of the first; so many batches go by.
WINDOW = """
import torch

class Runner:
    def __init__(self, model, window):
        self.model, self.window, self.count = model, window, 0
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def open_window(self):
        if self.count == {full}:
            self.optimizer.zero_grad()

    def micro(self, x):
        self.model(x).sum().backward()
        self.count += 1
        if self.count >= self.window:
            self.optimizer.step()
            self.count = 0
        self.open_window()
        return 1

    def fit(self, loader):
        {way}

runner = Runner(torch.nn.Linear(1, 1), 3)
runner.fit(torch.utils.data.DataLoader(torch.ones(6, 1)))
"""
WAYS = {
    "a comprehension": "losses = [self.micro(x) for x in loader]",
    "a generator that a list goes through": "losses = list(self.micro(x) for x in loader)",
    "a generator that a sum goes through": "total = sum(self.micro(x) for x in loader)",
    "a map": "losses = list(map(self.micro, loader))",
    "a loop that fills a list": "losses = []\n        for x in loader:\n            losses.append(self.micro(x))",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(("full", "codes"), [("self.window", ["GL401"]), ("0", [])])
def test_a_window_is_followed_however_its_batches_are_gone_through(
    way: str, full: str, codes: list[str]
) -> None:
    source = WINDOW.format(way=way, full=full)
    assert [code for _, code in findings(source)] == codes
    assert (happened(f"{source}assert runner.model.bias.grad is None") != (None, "")) is bool(codes)
