"""Operations by name and by operator: all ways to call one do the same."""

from __future__ import annotations

from tests.cases import Fact, check_known, each

FACTS = {
    "a function and a method": Fact(
        """\
x = torch.exp(w)
y = w.exp()""",
        "x.requires_grad and y.requires_grad and x.shape == y.shape",
    ),
    "an operator": Fact("x = 2 * w + 1", "x.requires_grad and not x.is_leaf"),
    "a comparison is not differentiable": Fact("x = w > 0", "not x.requires_grad"),
    "a matrix product": Fact("x = torch.ones(3, 2) @ w", "x.shape == (3,) and x.requires_grad"),
    "keywords": Fact("x = torch.sum(input=w, dim=0, keepdim=True)", "x.shape == (1,) and x.requires_grad"),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)
