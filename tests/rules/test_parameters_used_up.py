"""Iterators of parameters that are used up."""

from __future__ import annotations

import pytest

from tests.cases import (
    TRAINING,
)
from tests.open_programs import told
from tests.running import events


@pytest.mark.parametrize(
    ("iterator", "used_up"),
    [
        ("net.parameters()", True),
        ("(p for p in net.parameters())", True),
        ("filter(lambda p: p.requires_grad, net.parameters())", True),
        ("list(net.parameters())", False),
    ],
)
def test_an_iterator_of_parameters_is_used_up_by_an_optimizer(iterator: str, used_up: bool) -> None:
    source = TRAINING + f"it = {iterator}\ntorch.optim.SGD(it, lr=0.1)\nnn.utils.clip_grad_norm_(it, 1.0)\n"
    assert [e.iterator for e in events(source, "ExhaustedParameters")] == ["it"] * used_up


GIVEN = """
import torch
class Trainer:
    def __init__(self, model, cfg):
        self.model = model
        self.params = {params}
        {between}
        self.optimizer = torch.optim.Adam(self.params, lr=cfg.lr)

    def step(self, x):
        loss = self.model(x).mean()
        self.optimizer.zero_grad()
        loss.backward()
        {clip}
        self.optimizer.step()
"""
COUNT = "print(sum(p.numel() for p in self.params))"
CLIP = "torch.nn.utils.clip_grad_norm_(self.params, 1.0)"


@pytest.mark.parametrize(
    ("between", "clip", "expected"), [(COUNT, "pass", "GL322"), ("pass", CLIP, "GL317"), ("pass", "pass", "")]
)
def test_all_parameters_of_a_module_that_is_given_are_used_up(between: str, clip: str, expected: str) -> None:
    for made in ("model.parameters()", "filter(lambda p: p.requires_grad, model.parameters())"):
        source = GIVEN.format(params=made, between=between, clip=clip)
        assert [finding.code for finding in told(source)] == [expected] * bool(expected)
    assert told(GIVEN.format(params="list(model.parameters())", between=between, clip=clip)) == []


def test_what_an_object_out_of_sight_clips_is_used_up_too() -> None:
    source = GIVEN.replace("cfg):", "cfg, accelerator):").replace(
        "self.model = model", "self.model, self.accelerator = model, accelerator"
    )
    clip = "self.accelerator.clip_grad_norm_(self.params, 1.0)"
    source = source.format(params="model.parameters()", between="pass", clip=clip)
    assert [finding.code for finding in told(source)] == ["GL317"]


def test_adapters_may_be_trained_where_the_rest_is_frozen() -> None:
    params = "filter(lambda p: p.requires_grad, model.parameters())"
    for added, expected in (("model.add_adapter(cfg.adapter)", ["GL317"]), ("pass", [])):
        frozen = f"self.model = model\n        model.requires_grad_(False)\n        {added}"
        source = GIVEN.replace("self.model = model", frozen).format(params=params, between="pass", clip=CLIP)
        assert [finding.code for finding in told(source) if finding.code == "GL317"] == expected


AVERAGED = """
import torch
import torch.distributed as dist
class Engine:
    def __init__(self, model, workers):
        self.model, self.workers = model, workers
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        reductions = []
        params = self.model.parameters()
        for p in params:
            reductions.append(dist.all_reduce(p.grad, async_op=True))
        for reduction, p in zip(reductions, params):
            reduction.wait()
            p.grad /= self.workers
        self.optimizer.step()
"""


@pytest.mark.parametrize(
    "loop", ["p in params", "n, p in enumerate(params)", "reduction, p in zip(reductions, params)"]
)
def test_a_loop_over_parameters_uses_them_up_for_the_next_loop(loop: str) -> None:
    source = AVERAGED.replace("reduction, p in zip(reductions, params)", loop)
    assert [(finding.code, finding.location.start.row) for finding in told(source)] == [("GL317", 16)]
    assert told(source.replace("= self.model.parameters()", "= list(self.model.parameters())")) == []
