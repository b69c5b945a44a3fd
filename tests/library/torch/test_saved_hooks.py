"""Managers under which hooks keep what graph nodes save."""

from __future__ import annotations

from tests.cases import check_agreement, check_raises, check_runs, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "save on cpu second backward": """
import torch
x = torch.rand(3, requires_grad=True)
with torch.autograd.graph.save_on_cpu():
    y = x.sin().sum()
y.backward()
y.backward()  # raises
""",
    "saved hooks pack inplace": """
import torch
def pack(t):
    t.mul_(2)
    return t
x = torch.rand(3, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
    y = (x * 2).exp()  # raises
y.sum().backward()
""",
    "saved hooks registered on raw twice": """
import torch
x = torch.rand(3, requires_grad=True)
y = x.exp()
y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
y.sum().backward()
""",
}

# Programs that raise.
RAISING = {
    "mutation that was allowed needs its context in backward": """
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    for step in range(3):
        y = w.pow(w)
y.sum().backward()
""",
}

# Programs that run.
RUNNING = {
    "gradients depend on what hooks keep": """
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    g, = torch.autograd.grad((w * w).sum(), w, create_graph=True)
g.sum().backward()
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
