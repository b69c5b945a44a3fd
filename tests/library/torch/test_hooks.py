"""Hooks of modules and tensors: what they return, and what they change."""

from __future__ import annotations

from tests.cases import HEAD, Mistake, check_agreement, check_correction, check_mistake, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "the output of a layer with a backward hook is a view of what the layer returns": """
import torch
from torch import nn
entry = nn.Identity()
entry.register_full_backward_hook(lambda module, grad_input, grad_output: None)
features = nn.Linear(2, 2)(torch.ones(1, 2))
seen = entry(features)
(seen.sum() + features.sum()).backward()
seen += 1  # raises
""",
}

# Silent mistakes, and what corrects them.
MISTAKES = {
    "a hook with arguments of its own returns nothing": Mistake(
        HEAD
        + """
import functools

def masked(mask, grad):
    kept = grad * mask  # <- GL809
    pass

weight = nn.Parameter(torch.ones(2))
weight.register_hook(functools.partial(masked, torch.tensor([0.0, 1.0])))
weight.sum().backward()
symptom = weight.grad.tolist() == [1, 1]
""",
        "    pass\n",
        "    return kept\n",
    ),
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)
