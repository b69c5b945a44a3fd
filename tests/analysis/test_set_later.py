"""Attributes that are None until other methods set them."""

from __future__ import annotations

import pytest

from tests.open_programs import told

SET_LATER = """
import torch
from torch import nn
from torch.amp import GradScaler


class Trainer:
    def __init__(self):
        self.net = self.optimizer = self.scaler = None
        self.most = 1.0

    def set_up(self, mixed):
        self.scaler = {scaler}

    def backward_step(self, loss, last):
        self.scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.most)
        if last:
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()


def prepare(trainer, net):
    trainer.net = net
    trainer.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""


@pytest.mark.parametrize(
    ("scaler", "found"), [('GradScaler("cuda", enabled=mixed)', ["GL411"]), ("None", [])]
)
def test_what_is_none_until_others_set_it_is_what_its_uses_show(scaler: str, found: list[str]) -> None:
    source = SET_LATER.format(scaler=scaler)
    assert [finding.code for finding in told(source)] == found
    unscaled = "        self.scaler.unscale_(self.optimizer)\n        torch.nn.utils"
    assert told(source.replace("        torch.nn.utils", unscaled)) == []
