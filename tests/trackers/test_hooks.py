"""Hooks that write to their argument, or compute a new value and return nothing."""

from __future__ import annotations

from tests.cases import (
    HEAD,
    Mistake,
    check_correction,
    check_mistake,
    each,
)

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
    "a hook drops what it computes": Mistake(
        HEAD
        + """
mask = torch.tensor([0.0, 1.0])

def masked(grad):
    grad * mask  # <- GL809

weight = nn.Parameter(torch.ones(2))
weight.register_hook(masked)
weight.sum().backward()
symptom = weight.grad.tolist() == [1, 1]
""",
        "    grad * mask",
        "    return grad * mask",
    ),
    "a hook that writes to the gradient it is given": Mistake(
        HEAD
        + """
w = torch.ones(2, requires_grad=True)
other = torch.ones(2, requires_grad=True)
h = w * 1
h.register_hook(lambda grad: grad.mul_(2))  # <- GL806 HookMisuse
cotangent = torch.ones(2)
(h + other).backward(cotangent)
symptom = cotangent.tolist() == [2, 2]
""",
        "grad.mul_(2)",
        "grad * 2",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)
