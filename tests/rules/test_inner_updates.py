"""Inner updates of meta-learning that are differentiated."""

from __future__ import annotations

from tests.cases import HEAD, Mistake, check_correction, check_mistake, each

# Silent mistakes, and what corrects them.
MISTAKES = {
    "an update that starts from .data": Mistake(
        HEAD
        + """
w = torch.tensor([2.0], requires_grad=True)
(g,) = torch.autograd.grad((w ** 3).sum(), w, create_graph=True)
updated = w.data - 0.1 * g  # <- GL818 InnerUpdateCut
updated.sum().backward()
symptom = not torch.allclose(w.grad, 1 - 0.1 * 6 * w.detach())
""",
        "w.data - 0.1 * g",
        "w - 0.1 * g",
    ),
    "an update that starts from a detached copy": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1, bias=False)
x = torch.ones(1, 2)
gradients = torch.autograd.grad(net(x).pow(2).sum(), list(net.parameters()), create_graph=True)
(updated,) = [p.detach() - 0.1 * g for p, g in zip(net.parameters(), gradients)]  # <- GL818 InnerUpdateCut
F.linear(x, updated).sum().backward()
symptom = not torch.allclose(net.weight.grad, torch.full((1, 2), 1 - 0.1 * 4.0))
""",
        "p.detach() - ",
        "p - ",
    ),
    "an update that is differentiated at last": Mistake(
        HEAD
        + """
w = torch.tensor([2.0], requires_grad=True)
(g,) = torch.autograd.grad((w ** 3).sum(), w, create_graph=True)
updated = w.data - 0.1 * g  # <- GL818 InnerUpdateCut
updated.sum().backward()
symptom = w.grad is not None
""",
        "updated.sum().backward()",
        "print(updated.sum())",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)
