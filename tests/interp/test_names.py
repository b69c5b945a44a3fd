"""Names from outside: built-ins, imports and their aliases."""

from __future__ import annotations

from tests.cases import Fact, check_known, each

FACTS = {
    "an alias of a module": Fact(
        """\
import torch.nn.functional as functional
x = functional.relu(w)""",
        "x.requires_grad",
    ),
    "a name of a module": Fact(
        """\
from torch import ones as make
x = make(2)""",
        "not x.requires_grad",
    ),
    "a built-in name": Fact("n = len([1, 2])", "n == 2"),
    "a built-in name that the program binds anew": Fact(
        """\
def len(x):
    return 10
n = len([])""",
        "n == 10",
    ),
    "a star import": Fact(
        """\
from torch.nn import *
layer = Linear(2, 2)""",
        "layer.weight.requires_grad",
    ),
    "a submodule is reached through its package": Fact(
        """\
import torch.optim
opt = torch.optim.SGD([w], lr=0.5)""",
        "opt.param_groups[0]['params'][0] is w",
    ),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)
