"""Sets of parameters: those of one part, and those of all others."""

from __future__ import annotations

from tests.cases import Fact, check_known, each

FACTS = {
    "parameters and numbers": Fact(
        """\
import torch
layer = torch.nn.Linear(2, 2)
a, b = set(layer.parameters()), {layer.bias}
first, second, both, one = a - b, a.difference([layer.weight]), a | {3}, a ^ {layer.bias, 4}
a -= {layer.bias}""",
        "layer.bias not in first and layer.weight in first and len(first) == 1 and len(second) == 1"
        " and len(b & first) == 0 and len(both) == 3 and len(one) == 2 and len(b.union([5], [6])) == 3"
        " and layer.bias not in a",
    ),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)
