"""How values flow through the text of a custom autograd Function."""

from __future__ import annotations

from tests.cases import HEAD, Mistake, check_correction, check_mistake, each

# Silent mistakes, and what corrects them.
MISTAKES = {
    "a bias that a function of torch adds, by its whole name": Mistake(
        HEAD
        + """
class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight, grad.t() @ x, None  # <- GL720

layer = nn.Linear(3, 2)
Linear.apply(torch.ones(4, 3), layer.weight, layer.bias).sum().backward()
symptom = layer.bias.grad is None
""",
        "x, None",
        "x, grad.sum(0)",
    ),
    "backward asks whether another input needs a gradient": Mistake(
        HEAD
        + """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad * weight
        if ctx.needs_input_grad[0]:
            grad_weight = (grad * x).sum(0)
        return grad_x, grad_weight  # <- GL720

weight = nn.Parameter(torch.ones(3))
Scale.apply(torch.ones(2, 3), weight).sum().backward()
symptom = weight.grad is None
""",
        "[0]:\n            grad_weight",
        "[1]:\n            grad_weight",
    ),
    "an input that is kept as an attribute is changed before backward": Mistake(
        HEAD
        + """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x**2

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.x * grad

x = torch.ones(2, requires_grad=True)
hidden = x * 1
loss = Square.apply(hidden).sum()
hidden.mul_(5)  # <- GL205
loss.backward()
symptom = not torch.equal(x.grad, 2 * torch.ones(2))
""",
        "hidden.mul_(5)",
        "hidden = hidden * 5",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)
