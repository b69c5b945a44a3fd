"""A loss that nothing in sight calls is given tensors with a history, and its result is differentiated."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.open_programs import check_quiet
from tests.running import RULES, findings, happened

HEAD = "import torch\nfrom torch import nn\n"
DRIVER = "\nx = nn.Linear(3, 3)(torch.randn(4, 3))\n{call}.backward()\n"

FUNCTION = """def dice_loss(logits, target, smooth=1.0):
    prob = torch.sigmoid(logits)
    {line}
    return 1 - (2 * (prob * target).sum() + smooth) / (prob.sum() + target.sum() + smooth)
"""
MODULE = """class GateLoss(nn.Module):
    def _gate(self, x):
        {line}
        return x

    def forward(self, x, labels):
        return (self._gate(x) - labels).abs().mean()
"""


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("pass", ""),
        ("prob = prob.clamp(0.1, 0.9)", ""),
        ("prob = (prob > 0.5).float()", "GL501"),
        ("prob = prob.detach()", "GL501"),
        ("prob = torch.from_numpy(prob.detach().numpy())", "GL501"),
        ("if smooth > 3: prob = prob.detach()", ""),
        ("prob *= 0.5", "GL201"),
        ("target *= 0.5", ""),
    ],
)
def test_a_loss_that_has_no_graph_or_writes_to_what_it_saved(line: str, code: str) -> None:
    program = HEAD + FUNCTION.format(line=line)
    assert findings(program) == ([(5, code)] if code else [])
    raised, _ = happened(program + DRIVER.format(call="dice_loss(x, torch.ones(4, 3))"))
    assert (raised is not None) is bool(code)


@pytest.mark.parametrize(
    ("line", "code"), [("x = x * 2", ""), ("x = torch.from_numpy(x.detach().numpy())", "GL501")]
)
def test_a_module_that_is_named_a_loss(line: str, code: str) -> None:
    program = HEAD + MODULE.format(line=line)
    assert findings(program) == ([(5, code)] if code else [])
    raised, _ = happened(program + DRIVER.format(call="GateLoss()(x, torch.ones(4, 3))"))
    assert (raised is not None) is bool(code)


def test_what_only_reports_a_loss_needs_no_graph() -> None:
    program = HEAD + FUNCTION.format(line="prob = prob.detach()")
    assert findings(program.replace("dice_loss", "log_dice_loss")) == []
    assert findings(program.replace("def dice", "@torch.no_grad()\ndef dice")) == []


def test_the_finding_tells_what_it_assumes() -> None:
    program = HEAD + FUNCTION.format(line="prob = prob.detach()")
    (finding,) = check_source(program, "program.py", RULES)
    assert set(finding.assumes) == {
        "`logits` requires a gradient",
        "the result of `dice_loss` is differentiated",
    }


@pytest.mark.parametrize(
    ("name", "is_loss"),
    [
        ("feature_distance", True),
        ("gradient_penalty", True),
        ("remap_instance_id", False),
        ("loss_grad", False),
    ],
)
def test_a_function_on_labels_and_the_gradient_of_a_loss_are_no_losses(name: str, is_loss: bool) -> None:
    program = HEAD + FUNCTION.format(line="prob = prob.detach()").replace("dice_loss", name)
    assert findings(program) == ([(5, "GL501")] if is_loss else [])


UNKNOWN_BASE = """
import torch
from torch import nn
from elsewhere import Base

class Encoder(Base):
    def __init__(self, channels, act=nn.ReLU()):
        super().__init__()
        {layer}
        self.act = act

    def {method}(self, x):
        out = self.act(self.layer(x))
        out += x
        return out
"""


@pytest.mark.parametrize(
    ("layer", "method", "expected"),
    [
        ("self.layer = nn.Linear(channels, channels)", "forward", ["GL201"]),
        ("self.layer = nn.Linear(channels, channels)", "transform", []),
        ("self.layer = channels", "forward", []),
    ],
)
def test_a_class_of_unknown_base_that_holds_layers_is_a_module(
    layer: str, method: str, expected: list[str]
) -> None:
    program = UNKNOWN_BASE.format(layer=layer, method=method)
    found = check_source(program, "program.py", RULES)
    assert [finding.code for finding in found] == expected
    assert all("`Encoder` is a module" in finding.assumes for finding in found)
    if expected:
        real = program.replace("from elsewhere import Base", "Base = nn.Module")
        raised, _ = happened(f"{real}\nEncoder(3)(torch.ones(2, 3)).sum().backward()\n")
        assert raised is not None


@pytest.mark.parametrize(("result", "expected"), [("parts, shown", []), ("loss, shown", ["GL501"])])
def test_what_is_returned_beside_a_loss_needs_no_graph(result: str, expected: list[str]) -> None:
    source = (
        HEAD
        + f"""
class Stage(nn.Module):
    def __init__(self, flow, losses):
        super().__init__()
        self.flow, self.losses = flow, losses

    def compute_loss(self, first, second):
        flow = self.flow(first, second)
        parts = self.losses.distortion(second, flow)
        loss = (flow - second).pow(2).mean().detach()
        shown = {{"flow": flow.detach(), "second": second.detach()}}
        return {result}
"""
    )
    assert [code for _, code in findings(source)] == expected


@pytest.mark.parametrize("given", ["targets", 'data["input"]'])
def test_what_a_gradient_is_asked_for_may_have_one(given: str) -> None:
    check_quiet(
        f"def gradient_loss(residual, {given.partition('[')[0]}):\n"
        f"    slope = torch.autograd.grad(residual.sum(), {given}, create_graph=True)[0]\n"
        f"    return residual.square().mean() + slope.square().mean() + {given}.mean()\n"
    )


def test_a_prediction_may_be_called_like_a_target() -> None:
    check_quiet(
        """
def masked_loss(y_, y, q):
    loss = F.mse_loss(y_, y, reduction="none").flatten(1)
    quantile = torch.quantile(loss.detach(), q, dim=1, keepdim=True)
    return (loss * (loss < quantile)).mean()
"""
    )


@pytest.mark.parametrize("weight", ["lam", "lambda_gp", "gp_weight"])
def test_the_weight_of_a_penalty_has_no_history(weight: str) -> None:
    source = f"""
def gradient_penalty(critic, real, fake, {weight}):
    part = torch.rand(4, 1)
    mixed = (part * real + (1 - part) * fake).detach().requires_grad_(True)
    grads = torch.autograd.grad(critic(mixed).sum(), mixed)[0]
    return ((grads.norm(dim=1) - 1) ** 2).mean() * {weight}
"""
    assert findings(HEAD + source) == [(7, "GL802")]
    assert findings(HEAD + source.replace(", mixed)", ", mixed, create_graph=True)")) == []


TOLD = '''class Regulariser(nn.Module):
    def __init__(self):
        super().__init__()
        {layer}

    def forward(self, x):
        """{text} of projections."""
        root = (x.std(0) + 1).sqrt()
        root += 1
        return root.mean()
'''


@pytest.mark.parametrize(
    ("text", "layer", "is_loss"),
    [
        ("Compute the loss", "self.size = 3", True),
        ("Calculates a penalty", "self.size = 3", True),
        ("Compute the spread", "self.size = 3", False),
        # Losses with layers of their own are given data as well.
        ("Compute the loss", "self.layer = nn.Linear(3, 3)", False),
    ],
)
def test_a_module_that_says_that_it_computes_a_loss(text: str, layer: str, is_loss: bool) -> None:
    program = HEAD + TOLD.format(text=text, layer=layer)
    assert findings(program) == ([(11, "GL201")] if is_loss else [])
    raised, _ = happened(program + DRIVER.format(call="Regulariser()(x)"))
    assert raised is not None
