"""Operations on tensors: what is recorded, what is saved, what the results share."""

from __future__ import annotations

import pytest

from gradcheck_tool.engine.operations import apply
from gradcheck_tool.engine.tensors import new_tensor
from tests.cases import check_agreement, check_raises, check_runs, each
from tests.engine.twin import SITE, UNARY, Twin

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "an operation saves the factor that the other one's gradient needs": """
import torch
w = torch.ones(3, requires_grad=True)
a, b = torch.ones(3), torch.ones(3)
loss = (w * a).sum() + (a * b).sum()
b.add_(1)
loss.backward(retain_graph=True)
a.add_(1)
loss.backward()  # raises
""",
    "a sum saves nothing": """
import torch
w = torch.ones(3, requires_grad=True)
h = w + w
total = (h + h).sum()
h.add_(1)
total.backward()
total.backward(retain_graph=True)
""",
    "an operation on integers is not recorded": """
import torch
w = torch.ones(3, requires_grad=True)
where = (w * 2).argmax()
where.add_(1)
(w * 2).sum().backward()
where.backward()  # raises
""",
    "an operation under no_grad is not recorded": """
import torch
w = torch.ones(3, requires_grad=True)
with torch.no_grad():
    h = w.exp()
h.add_(1)
h.sum().backward()  # raises
""",
    "a write through a view saves its result": """
import torch
w = torch.ones(2, 3, requires_grad=True)
h = w * 2
h[:, 0].sigmoid_()
h[:, 1].mul_(3)
h.sum().backward()  # raises
""",
    "a write through a view that saves nothing may be followed by others": """
import torch
w = torch.ones(2, 3, requires_grad=True)
h = w * 2
h[:, 0].mul_(2)
h[:, 1].mul_(3)
h.sum().backward()
""",
    "several outputs share one graph": """
import torch
w = torch.ones(2, 3, requires_grad=True)
values, places = w.exp().max(dim=1)
values.sum().backward()
values.mean().backward()  # raises
""",
}
# Bodies that raise.
RAISING = {
    "factors that a gradient has asked for are freed": """
y = torch.addmm(w, m, torch.rand(3, 3)).sum()
y.backward()
y.backward()
""",
    "the places of the largest elements have no graph": """
values, places = m.max(dim=1)
values.sum().backward()
places.sum().backward()
""",
    "a result that is saved is written to": "h = w.exp()\nh.mul_(2)\nh.sum().backward()\n",
    "a gradient of a gradient needs what both of them saved": """
y = (w ** 3).sum()
(g,) = torch.autograd.grad(y, w, create_graph=True)
with torch.no_grad():
    w.add_(1)
g.sum().backward()
""",
}
# Bodies that run.
RUNNING = {
    "the places of the largest elements require no grad": """
values, places = (m * 2).max(dim=1)
places.numpy()
values.sum().backward()
""",
    "factors that no gradient asks for are not freed": """
y = torch.addmm(w, torch.rand(2, 3), torch.rand(3, 3)).sum()
y.backward()
y.backward()
""",
    "a result that is not saved is written to": "h = w.sin()\nh.mul_(2)\nh.sum().backward()\n",
    "an argument is written to after the backward": "h = w * 1.0\nh.exp().sum().backward()\nh.mul_(2)\n",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)


@pytest.mark.parametrize(("recording", "unsure"), [(True, True), (False, False)])
def test_what_is_computed_from_what_may_have_a_graph_may_have_one(recording: bool, unsure: bool) -> None:
    s = Twin().s
    s.grad = recording
    data = new_tensor(s, SITE)
    s[data].unsure_graph = True
    (result,) = apply(s, UNARY["exp"], {"self": data}, SITE, "data.exp()")
    assert s[result].unsure_graph is unsure
