"""Operators on numbers, texts and containers."""

from __future__ import annotations

from tests.cases import Fact, check_known, each
from tests.running import Analysis, findings, happened

FACTS = {
    "arithmetic": Fact(
        "a, b = 7, 2", "a + b == 9 and a // b == 3 and a % b == 1 and a ** b == 49 and -a == -7"
    ),
    "numbers of two kinds": Fact("a = 1 + 2.5", "a == 3.5 and a / 7 == 0.5"),
    "texts": Fact("name = 'con' + 'v' + str(1)", "name == 'conv1' and 'v' in name"),
    "lists": Fact("a = [1] * 2 + [3]", "len(a) == 3 and a[1] == 1 and a[2] == 3"),
    "in place": Fact(
        """\
a = [1]
b = a
a += [2]""",
        "len(b) == 2 and b[1] == 2 and a is b",
    ),
    "in place on a number": Fact(
        """\
a = 1
b = a
a += 2""",
        "b == 1 and a == 3",
    ),
    "membership": Fact("a = ('x', 'y')", "'x' in a and 'z' not in a"),
    "identity": Fact(
        """\
a = None
b = []
c = b""",
        "a is None and b is not a and c is b",
    ),
    "a chain of comparisons": Fact("a = 3", "1 < a <= 3 < 4"),
    "short circuits": Fact(
        """\
a = [] or 'rest'
b = 0 and unknown_name""",
        "a == 'rest' and b == 0",
    ),
    "the version of a package and the name of a fork": Fact(
        "import torch\nversion = torch.__version__", "version != 'parrots' and not version == 'parrots'"
    ),
    "sizes": Fact(
        "import torch\na, b = torch.ones(2, 3), torch.ones(1, 3)",
        "a.shape != b.shape and not a.size() == b.size() and a.shape[1:] == b.shape[1:] and a.shape != b.shape[1:]",
    ),
    "the class of a tensor and those of other libraries": Fact(
        "import numpy, torch\na = torch.ones(2)",
        "type(a) != numpy.ndarray and type(a) not in (numpy.ndarray, list, float) and type(a) is torch.Tensor",
    ),
    "a conditional expression": Fact("a = 'yes' if 2 > 1 else 'no'", "a == 'yes'"),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)


def test_nothing_repeated_without_end_is_still_nothing() -> None:
    assert Analysis(f"kept = [] * {10**30}\npair = () * {10**30}\n").errors() == []


GROUPS = """
import torch
from torch import nn

def create(decay, params):
    if decay:
        norms = [weight for name, weight in params if "norm" in name]
        others = [weight for name, weight in params if "norm" not in name]
        params = [{"params": norms, "weight_decay": 0.0}, {"params": others}]
    return torch.optim.SGD(params, lr=0.1)

class Trainer:
    def __init__(self, decay):
        self.model = nn.Linear(2, 2)
        self.optimizer = create(decay, self.model.parameters())
"""


def test_a_way_on_which_a_tensor_is_asked_for_a_text_ends_there() -> None:
    assert findings(GROUPS) == []
    raised = happened(f"{GROUPS}\nTrainer(True)\n")[1]
    assert "only supports Tensor or scalar" in raised
    assert happened(f"{GROUPS}\nTrainer(False)\n") == (None, "")
