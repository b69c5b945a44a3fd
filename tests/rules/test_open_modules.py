"""Modules and losses that stand alone in their file, with the mistakes that are usual in them."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, check_quiet, told

SILENT = {
    "a tensor that is to be trained": (
        """
class Prompt(nn.Module):
    def __init__(self, size):
        super().__init__()
        start = torch.empty(size, 4)
        nn.init.normal_(start)
        self.prompt = {}

    def forward(self, x):
        return x + self.prompt
""",
        "start.requires_grad_()",
        "nn.Parameter(start)",
        "GL313",
    ),
    "stages of layers that are out of sight": (
        """
class Encoder(nn.Module):
    def __init__(self, cfg, make):
        super().__init__()
        self.stages = {}
        for dim in cfg.dims:
            layers = [make(dim) for _ in range(cfg.depth)]
            self.stages.append(nn.Sequential(*layers))

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return x
""",
        "[]",
        "nn.ModuleList()",
        "GL311",
    ),
    "a bank of what other layers have computed": (
        """
class MemoryBank(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("rows", torch.zeros(size, 4))

    def forward(self, x, index):
        logits = x @ self.rows[index].t()
        self.rows[index] = F.normalize({})
        return logits
""",
        "x",
        "x.detach()",
        "GL604",
    ),
    "a vector that goes on from itself": (
        """
class Normed(nn.Linear):
    def __init__(self, size, out):
        super().__init__(size, out)
        self.register_buffer("left", torch.ones(out))

    @property
    def largest(self):
        left = self.left
        right = F.normalize({0}.t() @ left, dim=0)
        left = F.normalize({0} @ right, dim=0)
        self.left = left
        return left @ self.weight @ right

    def forward(self, x):
        return F.linear(x, self.weight / self.largest)
""",
        "self.weight",
        "self.weight.detach()",
        "GL604",
    ),
    "a loss of parts of what a model returns": (
        """
class BoxLoss(nn.Module):
    def forward(self, outputs, targets, index):
        boxes = torch.relu(outputs["boxes"][index])
        return F.l1_loss({}, targets["boxes"])
""",
        "(boxes > 0).float()",
        "boxes",
        "GL501",
    ),
}


@pytest.mark.parametrize(("program", "wrong", "right", "code"), SILENT.values(), ids=SILENT)
def test_what_nothing_raises(program: str, wrong: str, right: str, code: str) -> None:
    assert [finding.code for finding in told(HEAD + program.format(wrong))] == [code]
    check_quiet(program.format(right))


def test_a_module_that_handles_data_is_given_data() -> None:
    check_quiet(
        """
class RunningMean(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))

    def forward(self, x):
        self.mean = self.mean + 0.1 * (x.mean(0) - self.mean)
        return x - self.mean
"""
    )


INHERITED = """
from somewhere import BaseTrainer

class Trainer(BaseTrainer):
    def train_epoch(self):
        self.model.train()
        total = 0
        for x, y in self.loader:
            loss = self.criterion(self.model(x.to(self.device)), y.to(self.device))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += {}
        return total / len(self.loader)
"""


def test_what_a_base_class_out_of_sight_gives_is_what_its_uses_show() -> None:
    assert [finding.code for finding in told(HEAD + INHERITED.format("loss"))] == ["GL601"]
    check_quiet(INHERITED.format("loss.item()"))


def test_an_optimizer_of_a_base_class_out_of_sight() -> None:
    wrong = INHERITED.format("loss.item()").replace("            self.optimizer.zero_grad()\n", "")
    assert [finding.code for finding in told(HEAD + wrong)] == ["GL401"]


DECORATED = """
from somewhere import weighted

@weighted
def ranking(pred, target, margin=1.0, power=2.0):
    gap = (pred - target).abs(){}
    return torch.where(gap < margin, gap * power, gap - margin)

class RankingLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, pred, target, weight=None):
        return 0.5 * ranking(pred, target, weight, margin=self.margin)
"""


def test_a_decorator_out_of_sight_takes_arguments_of_its_own() -> None:
    assert [finding.code for finding in told(HEAD + DECORATED.format(".data"))] == ["GL501"]
    check_quiet(DECORATED.format(""))


HOOKED = """
class Editor:
    def __init__(self, model, names):
        for name, layer in model.named_modules():
            if name in names:
                layer.register_forward_hook(self.edit)

    def edit(self, module, args, output):
        {} output * 0.5
"""


def test_a_hook_of_a_layer_out_of_sight() -> None:
    assert [finding.code for finding in told(HEAD + HOOKED.format("output ="))] == ["GL809"]
    check_quiet(HOOKED.format("return"))
