"""Values that operations take for tensors."""

from __future__ import annotations

from tests.cases import Fact, check_known, each

FACTS = {
    "a number beside a tensor": Fact("x = torch.add(w, 1)", "x.requires_grad and x.shape == (2,)"),
    "a list of tensors": Fact("x = torch.stack([w, w])", "x.shape == (2, 2) and x.requires_grad"),
    "tensors in a tuple, one of them with a history": Fact(
        "x = torch.cat((torch.ones(1), w))", "x.shape == (3,) and x.requires_grad"
    ),
    "a sum of a list": Fact("x = sum([w, w])", "x.requires_grad"),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)
