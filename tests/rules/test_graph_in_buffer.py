"""GL604: which writes give a graph to what a module keeps."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.open_programs import told
from tests.running import RULES, findings, happened

STATE = """import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("mem", torch.zeros(2))

    def forward(self, x):
{}
        return self.mem


cell = Cell()
for _ in range(3):
    cell(torch.ones(2))
"""
BODIES = {
    "a result that is changed before it is kept": (
        ["mem = self.layer(x)", "mem -= x * self.layer.bias", "self.mem = mem"],
        [],
    ),
    "a buffer that was made just before": (
        ["self.mem = torch.zeros(2)", "for k in range(2):", "    self.mem[k] = self.layer(x)[k]"],
        [],
    ),
    "the buffer itself": (["self.mem -= self.layer(x)"], ["GL604"]),
    "the buffer itself, twice": (["self.mem.mul_(0.9)", "self.mem.add_(self.layer(x))"], ["GL604"]),
}


@pytest.mark.parametrize(("body", "expected"), BODIES.values(), ids=BODIES)
def test_which_writes_count(body: list[str], expected: list[str]) -> None:
    program = STATE.format("\n".join(f"        {line}" for line in body))
    assert [code for _, code in findings(program)] == expected


def test_an_average_of_a_network_that_is_given_is_found_by_a_name_that_the_program_has() -> None:
    program = """
import copy
import torch

class Trainer:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer
        self.average = copy.deepcopy(net)
        for p in self.average.parameters():
            p.requires_grad = False

    def step(self, x):
        loss = self.net(x).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for p, q in zip(self.average.parameters(), self.net.parameters()):
            p.copy_(0.9 * p + 0.1 * q)
"""
    (found,) = told(program)
    assert found.code == "GL604"
    assert "#" not in found.message
    guarded = program.replace("        for p, q in", "        with torch.no_grad():\n          for p, q in")
    assert told(guarded.replace("            p.copy_", "              p.copy_")) == []


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("    def detach(self):\n        self.mem.detach_()\n", []),
        ("    def detach(self):\n        self.mem = self.mem.detach()\n", []),
        ("    def shown(self):\n        return self.mem.detach()\n", ["GL604"]),
    ],
)
def test_a_class_that_lets_its_callers_cut_the_graph_is_right(method: str, expected: list[str]) -> None:
    program = STATE.format("        self.mem[:1] = self.layer(x)[:1]").replace(
        "\n\ncell =", f"\n{method}\n\ncell ="
    )
    assert [code for _, code in findings(program)] == expected


SOFT_UPDATE = """import torch
class Agent:
    def __init__(self, config):
        self.net, self.target = config.net(), config.net()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
    def step(self, x):
        loss = self.net(x).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for p, q in zip(self.target.parameters(), self.net.parameters()):
            {before}
            p.copy_(0.9 * p + 0.1 * q)
"""


@pytest.mark.parametrize(
    ("before", "expected"), [("p.detach_()", []), ("p.requires_grad_(False)", ["GL604"])]
)
def test_a_parameter_that_is_detached_before_each_write_is_right(before: str, expected: list[str]) -> None:
    assert [finding.code for finding in told(SOFT_UPDATE.format(before=before))] == expected


QUANTIZER = """import torch
import torch.nn.functional as F
from torch import nn


class Codes(nn.Module):
    def __init__(self, size, count):
        super().__init__()
        self.register_buffer("codes", torch.randn(count, size))
        self.register_buffer("sums", torch.zeros(count, size))

    def forward(self, x):
        index = torch.cdist(x, self.codes).argmin(-1)
        chosen = F.embedding(index, self.codes)
        counts = F.one_hot(index, len(self.codes)).type(x.dtype)
        self.sums.mul_(0.9).add_(counts.t() @ x, alpha=0.1)
        return x + (chosen - x).detach()
"""


def test_what_a_forward_detaches_has_a_graph_which_a_buffer_absorbs() -> None:
    found = check_source(QUANTIZER, "program.py", RULES)
    assert [(finding.code, finding.assumes) for finding in found] == [("GL604", ("`x` requires a gradient",))]
    assert told(QUANTIZER.replace("counts.t() @ x,", "counts.t() @ x.detach(),")) == []


def test_the_data_of_a_model_has_no_graph() -> None:
    assert told(QUANTIZER.replace("x + (chosen - x).detach()", "chosen")) == []


def test_pytorch_refuses_the_second_backward() -> None:
    pytest.importorskip("torch")
    twice = (
        "codes, layer = Codes(2, 3), nn.Linear(2, 2)\nfor _ in range(2):\n"
        "    (codes(layer(torch.ones(4, 2))) + codes.sums.sum()).sum().backward()\n"
    )
    assert "a second time" in happened(QUANTIZER + twice)[1]


MEAN = """import torch
from torch import nn


class MeanNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return x - self.mean
"""


def test_a_norm_that_replaces_its_buffer_is_called_with_results() -> None:
    assert [finding.code for finding in told(MEAN)] == ["GL604"]
    assert told(MEAN.replace("x.mean(0)", "x.mean(0).detach()")) == []
    # Statistics of what a program observes are those of data.
    assert told(MEAN.replace("MeanNorm", "Observed")) == []


def test_a_module_that_forward_makes_has_no_buffers_before() -> None:
    made = "nn.BatchNorm1d(3)(x).add_(1)\n        return x"
    assert told(MEAN.replace("self.mean = 0.9 * self.mean + 0.1 * x.mean(0)\n        return x", made)) == []


def test_where_a_buffer_lies_is_none_of_its_values() -> None:
    """An encoder that keeps its last result: the next does not reach back to it."""
    kept = MEAN.replace(
        "0.9 * self.mean + 0.1 * x.mean(0)", "x.to(self.mean.device).exp()[: self.mean.size(0)]"
    )
    assert told(kept) == []
    assert [finding.code for finding in told(kept.replace(".exp()", ".exp() + self.mean"))] == ["GL604"]


SCALED = """import torch
from torch import nn


class Bank(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("scale", torch.tensor([1.0, -1.0]))
        self.layer = nn.Linear(size, size)

    def forward(self, x):
        scale = self.scale[1].item()
        out = self.layer(x)
        {test}
            self.scale[1] = out.mean()
        return out / scale


bank = Bank(2)
for x in torch.utils.data.DataLoader(torch.ones(8, 2)):
    bank(x).sum().backward()
"""


@pytest.mark.parametrize(
    ("test", "told_of"),
    [
        ("if scale < 0:", False),
        ("if self.scale[1].item() < 0:", False),
        ("if self.training and scale > 0:", True),
        ("if scale < out.mean():", True),
        ("if out.mean() < 0:", True),
    ],
)
def test_a_buffer_that_gets_its_first_value_is_written_once(test: str, told_of: bool) -> None:
    assert bool(told(SCALED.format(test=test))) is told_of


LOSS = """
import torch
from torch import nn

class CovarianceLoss(nn.Module):
    def __init__(self, beta=0.9):
        super().__init__()
        self.beta, self.mean, self.last = beta, None, None

    def forward(self, a, b):
        now = torch.mm(a.T, a) / a.shape[0]
        if self.mean is None:
            self.mean = torch.zeros_like(now)
        {keeps}
        return (a - b).pow(2).sum() + (torch.mm(a, self.mean) * a).sum()
{methods}
"""
CALLED = """
loss, net = CovarianceLoss(), nn.Linear(3, 3)
for _ in range(2):
    loss(net(torch.ones(2, 3)), torch.ones(2, 3)).backward()
"""
RESET = "    def reset(self):\n        self.mean = None\n"


@pytest.mark.parametrize(
    ("keeps", "methods", "expected"),
    [
        ("self.mean = self.beta * self.mean + (1 - self.beta) * now", "", ["GL604"]),
        ("mean = self.beta * self.mean + (1 - self.beta) * now; self.mean = mean", "", ["GL604"]),
        ("self.mean = self.beta * self.mean.detach() + (1 - self.beta) * now", "", []),
        ("self.mean = self.beta * self.mean + (1 - self.beta) * now.detach()", "", []),
        ("self.mean, self.last = torch.zeros_like(now), now", "", []),
        # Whoever calls it begins anew before each sequence.
        ("self.mean = self.beta * self.mean + (1 - self.beta) * now", RESET, []),
    ],
)
def test_a_loss_that_keeps_a_statistic_from_call_to_call(
    keeps: str, methods: str, expected: list[str]
) -> None:
    program = LOSS.format(keeps=keeps, methods=methods)
    assert [found.code for found in told(program)] == expected
    raised, _ = happened(program + CALLED)
    assert (raised is not None) is bool(expected or methods)
