"""Derivatives of Functions that work along the rows of a matrix."""

from __future__ import annotations

from tests.cases import HEAD, Mistake, check_correction, check_mistake, each


def function(forward: str, wrong: str, right: str) -> Mistake:
    """A Function of rows, the gradient that its backward returns and the true one."""
    arguments, _, body = forward.partition(": ")
    saved, result = body.split("; ")[-2:]
    steps = "\n        ".join(body.split("; ")[:-2])
    program = f"""
class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, {arguments}):
        {steps}
        ctx.save_for_backward({saved})
        return {result}

    @staticmethod
    def backward(ctx, g):
        {saved}, = ctx.saved_tensors
        return {wrong}  # <- GL729

x = torch.randn(4, 3, dtype=torch.double, requires_grad=True)
marks = F.one_hot(torch.tensor([0, 2, 1, 1]), 3).double()
inputs = (x, marks) if "marks" in "{arguments}" else (x,)
symptom = not torch.autograd.gradcheck(Rows.apply, inputs, raise_exception=False)
"""
    return Mistake(HEAD + program, f"return {wrong}", f"return {right}")


# Silent mistakes, and what corrects them.
MISTAKES = {
    "a softmax without the term of the whole row": function(
        "x: y = torch.softmax(x, dim=-1); y; y",
        "y * (1 - y) * g",
        "y * (g - (g * y).sum(dim=-1, keepdim=True))",
    ),
    "a normalisation that keeps the radial part": function(
        "x: n = x.norm(dim=1, keepdim=True); y = x / n; y, n; y",
        "g / n",
        "(g - y * (g * y).sum(1, keepdim=True)) / n",
    ),
    "a normalisation that forgets the mean": function(
        "x: d = x - x.mean(dim=-1, keepdim=True); "
        "r = ((d * d).mean(dim=-1, keepdim=True) + 1e-5).rsqrt(); y = d * r; y, r; y",
        "r * (g - y * (g * y).mean(dim=-1, keepdim=True))",
        "r * (g - g.mean(dim=-1, keepdim=True) - y * (g * y).mean(dim=-1, keepdim=True))",
    ),
    "a cross entropy of the wrong sign": function(
        "x, marks: rows = torch.log_softmax(x, dim=1); rows, marks; -(marks * rows).sum(dim=1)",
        "g.unsqueeze(1) * (marks - rows.exp()), None",
        "g.unsqueeze(1) * (rows.exp() - marks), None",
    ),
    "a soft maximum divided by its temperature twice": function(
        "x: y = x / 0.5; top = y.max(dim=-1, keepdim=True).values; e = (y - top).exp(); "
        "total = e.sum(dim=-1, keepdim=True); share = e / total; share; "
        "(0.5 * (top + total.log())).squeeze(-1)",
        "g.unsqueeze(-1) * share / 0.5",
        "g.unsqueeze(-1) * share",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)
