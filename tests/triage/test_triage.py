"""Which functions of a file are worth executing."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.ir.outline import outline
from gradcheck_tool.rulebook.ruleset import RuleSet
from gradcheck_tool.triage.triage import Candidates, Triage
from gradcheck_tool.trigger import Trigger

RULES = RuleSet.load().select(["ALL"], target_torch=None)
# Code without a hazard.
HARMLESS = "".join(
    f"""

class Block{number}(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        shortcut = x
        x = self.norm(self.first(x))
        x = x + shortcut
        return x


def describe_{number}(shape, sep=", "):
    parts = []
    for size in shape:
        parts.append(str(size))
    return sep.join(parts)
"""
    for number in range(3)
)


def found(source: str) -> set[str]:
    return {finding.code for finding in check_source(source, "program.py", RULES)}


def candidates(source: str) -> Candidates:
    outlined = outline(source)
    assert outlined is not None
    return RULES.triage.candidates(outlined)


def test_harmless_code_is_clear() -> None:
    assert not candidates(f"import torch\nfrom torch import nn\n{HARMLESS}")


def test_a_function_that_calls_a_candidate_is_one() -> None:
    source = """
import torch

def step(loss):
    loss.backward()

def twice(loss):
    step(loss)
    step(loss)

def other(loss):
    return loss
"""
    assert candidates(source).functions == {"step", "twice"}


def test_what_calls_code_that_trains_trains() -> None:
    source = """
import torch
from torch import nn

def step(loss, optimizer):
    loss.backward()
    optimizer.step()

def train(model):
    step(model.loss(nn.Linear(2, 2)), model.optimizer)

def clear(model):
    model.zero_grad()

class Wrapper:
    def backward(self, x):
        return x.requires_grad_()
"""
    look = candidates(source)
    assert look.functions == {"step", "train", "clear", "Wrapper.backward"}
    assert look.trains == {"step", "train"}


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("with torch.no_grad:\n        return x", True),
        ("torch.inference_mode(x)", True),
        ("return x if self.inference_mode else inference_mode", False),
        ("with torch.autograd.set_detect_anomaly(True):\n        return x", False),
        ("with torch.autograd.profiler.profile():\n        return x", False),
        ("return torch.autograd.functional.vjp(x)", True),
    ],
)
def test_a_name_of_autograd_is_a_trigger_where_it_is_used_as_one(code: str, is_found: bool) -> None:
    look = candidates(f"import torch\n\ndef use(self, x, inference_mode=True):\n    {code}\n")
    assert bool(look.functions) == is_found


@pytest.mark.parametrize(
    "source",
    [
        "def main():\n    print(nn.Linear(2, 2))\n\nmain()\n",
        "def main():\n    print(nn.Linear(2, 2))\n\nif __name__ == '__main__':\n    main()\n",
        "weight = nn.Linear(2, 2).weight\n",
        "class Runner:\n    def run(self):\n        print(nn.Linear(2, 2))\n\nRunner().run()\n",
        "class Runner:\n    def run(self):\n        print(nn.Linear(2, 2))\n\nit = Runner()\nit.run()\n",
        "def main():\n    print(nn.Linear(2, 2))\n\nsys.exit(main())\n",
        "from torch.nn import Linear\nweight = Linear(2, 2).weight\n",
        "import torch as t\nones = t.ones(2)\n",
        "import torch.nn as layers\ndef main():\n    print(layers.Linear(2, 2))\n\nmain()\n",
        "def main():\n    print(nn.Linear(2, 2))\n\nfor _ in range(2):\n    main()\n",
    ],
)
def test_a_file_that_runs_is_executed_as_a_whole(source: str) -> None:
    assert candidates(f"from torch import nn\n{source}").body


def test_code_that_trains_is_executed_beyond_the_first_work_limit() -> None:
    """Hundreds of calls before a mistake are more than the first look at a library may take."""
    calls = "".join(f"\ndef mix{n}(x):\n    return mix{n - 1}(mix{n - 1}(x))\n" for n in range(1, 10))
    source = f"""
import torch

def mix0(x):
    return x + 1
{calls}
def train(x):
    x = mix9(x)
    w = torch.ones(2, requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    loss.backward()
"""
    assert found(source) == {"GL101"}


def test_a_name_is_told_where_the_work_limit_keeps_execution_from_it() -> None:
    calls = "".join(f"\ndef mix{n}(x):\n    return mix{n - 1}(mix{n - 1}(x))\n" for n in range(1, 16))
    source = f"""
import torch
from torch.autograd import Variable

def mix0(x):
    return x + 1
{calls}
class Loader:
    def load(self, x):
        x = mix15(x)
        return Variable(x, requires_grad=False)
"""
    assert found(source) == {"GL901"}


NAMED = Triage([Trigger.of_name("torch.autograd.set_detect_anomaly")])


@pytest.mark.parametrize(
    ("code", "functions", "body"),
    [
        ("import torch\ndef f():\n    torch.autograd.set_detect_anomaly(True)\n", {"f"}, False),
        (
            "from torch.autograd import set_detect_anomaly as detect\ndef f():\n    detect(True)\n",
            {"f"},
            False,
        ),
        (
            "import torch\ntorch.autograd.set_detect_anomaly(True)\ndef f(loss):\n    loss.backward()\n",
            set(),
            True,
        ),
        ("import torch\ndef f(loss):\n    # set_detect_anomaly\n    loss.backward()\n", set(), False),
        ("import torch\nlayer = torch.nn.Linear(2, 2)\ndef f():\n    'set_detect_anomaly'\n", set(), False),
    ],
)
def test_with_names_alone_only_code_that_has_them_is_executed(
    code: str, functions: set[str], body: bool
) -> None:
    outlined = outline(code)
    assert outlined is not None
    look = NAMED.candidates(outlined)
    assert (look.functions, look.body) == (functions, body)


def test_nothing_is_worth_executing_for_no_rule() -> None:
    outlined = outline("import torch\nx = torch.ones(2, requires_grad=True)\nx.sum().backward()\n")
    assert outlined is not None
    assert not Triage([]).candidates(outlined)


def test_a_trigger_may_leave_code_out_and_ask_for_a_text_in_the_file() -> None:
    trigger = Trigger("seed", r"\bseed\(", ignoring=r"with \w+\.seed\(", in_file=("import torch",))
    code = "def f(r):\n    with r.seed(1): pass\ndef g(r):\n    r.seed(1)\n"
    for head, functions in (("import torch\n", {"g"}), ("import numpy\n", set())):
        outlined = outline(head + code)
        assert outlined is not None
        assert Triage([trigger]).candidates(outlined).functions == functions


POLICY = """
import torch
from torch import nn

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 4)

    def {method}(self, states):
        means, log_stds = self.net(states).chunk(2, dim=-1)
        {write}
        return means + torch.randn_like(means) * log_stds.exp()
"""


@pytest.mark.parametrize("method", ["sample", "forward"])
@pytest.mark.parametrize(
    ("write", "codes"),
    [
        ("log_stds.clamp_(-20, 2)", {"GL204"}),
        ("clamp = log_stds.clamp_; clamp(-20, 2)", {"GL204"}),
        ("clamp = log_stds.clamp; clamp(-20, 2)", set()),
    ],
)
def test_a_method_that_writes_may_be_called_by_another_name(method: str, write: str, codes: set[str]) -> None:
    assert found(POLICY.format(method=method, write=write)) == codes
