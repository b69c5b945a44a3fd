"""`backward`, `torch.autograd.backward` and `torch.autograd.grad`: arguments that are refused and allowed."""

from __future__ import annotations

from gradcheck_tool import FreedGraph
from tests.cases import TRAINING, check_agreement, check_raises, check_runs, each
from tests.running import events, findings

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "None for retain_graph of backward is what is meant without it": """
import torch
loss = torch.ones(2, requires_grad=True).exp().sum()
loss.backward(retain_graph=None)
loss.backward()  # raises
""",
    "None for retain_graph of autograd.grad is what is meant without it": """
import torch
w = torch.ones(2, requires_grad=True)
loss = w.exp().sum()
torch.autograd.grad(loss, w, retain_graph=None)
torch.autograd.grad(loss, w)  # raises
""",
    "what does not lie on the way to the inputs is not run": """
import torch
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
loss = (w.exp() + v.exp()).sum()
torch.autograd.grad(loss, w)
other = v.exp()
(other.sum() + w.sum()).backward(inputs=[w])
other.sum().backward()
""",
    "a list of inputs that a test may leave empty": """
import torch
w = torch.ones(2, requires_grad=True)
def gradients(output, inputs, without=set()):
    chosen = []
    for number, each in enumerate(list(inputs)):
        if number not in without:
            chosen.append(each)
    return torch.autograd.grad(output, chosen)
""",
    "backward wrong gradient shape": """
import torch
x = torch.rand(3, requires_grad=True)
y = x * 2
y.backward(torch.ones(4))  # raises
""",
    "backward scalar gradient for vector": """
import torch
x = torch.rand(3, requires_grad=True)
y = x * 2
y.backward(torch.tensor(1.0))  # raises
""",
    "grad outputs wrong count": """
import torch
x = torch.rand(3, requires_grad=True)
y, z = x * 2, x * 3
torch.autograd.grad([y, z], x, grad_outputs=[torch.ones(3)])  # raises
""",
    "grad is grads batched": """
import torch
x = torch.rand(3, requires_grad=True)
y = x.exp()
rows = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
""",
    "grad with an empty list of inputs": """
import torch
a = torch.rand(2, requires_grad=True)
trainable = [p for p in (a,) if not p.requires_grad]
torch.autograd.grad((a * 2).sum(), trainable)  # raises
""",
    "a complex root": """
import torch
z = torch.randn(3, dtype=torch.complex64, requires_grad=True)
total = (z * z)[0]
total.real.backward(retain_graph=True)
total.backward()  # raises
""",
}

# Programs that raise.
RAISING = {
    "a view that requires grad because its base does is not used": """
c = torch.ones(2, 3)
v = c[0]
c.requires_grad = True
torch.autograd.grad(s * 2.0, v)
""",
}

# Programs that run.
RUNNING = {
    "a view requires grad as soon as its base does, and may be unused": """
c = torch.ones(2, 3)
v = c[0]
c.requires_grad = True
torch.autograd.grad(s * 2.0, v, allow_unused=True)
""",
    "backward to inputs gives nothing to those it does not reach": """
with torch.inference_mode():
    s.backward(inputs=[m, s])
m.sum().backward()
""",
    "a root that is certainly no scalar raises": """
y = F.log_softmax(torch.addmm(torch.rand(3), m, torch.rand(3, 3)), dim=-1)
try:
    torch.autograd.grad([y[0]], [m])
except RuntimeError:
    pass
y.exp().mean().backward()
""",
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


def test_the_first_name_of_retain_graph_keeps_the_graph() -> None:
    """PyTorch refuses the old name today, which a rule of its own reports; the second backward adds nothing."""
    source = (
        TRAINING + "loss = net(torch.ones(2)).sum()\nloss.backward(retain_variables=True)\nloss.backward()\n"
    )
    assert not events(source, FreedGraph)


def test_as_many_outputs_as_an_iterable_may_have_are_no_count_of_them() -> None:
    program = """
import torch
def vjp(outputs, x, v):
    if torch.is_tensor(outputs):
        outputs = [outputs]
    outputs = [p if p.requires_grad else p.detach().requires_grad_(True) for p in outputs]
    return torch.autograd.grad(outputs, x, v)
def derivative(net, y):
    y = y.detach().requires_grad_()
    return vjp(net.f(y), y, torch.ones_like(y))
"""
    assert findings(program) == []
