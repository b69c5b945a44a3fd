"""The index of a file loses no finding: what it leaves out, a full analysis finds nothing in either."""

from __future__ import annotations

import textwrap

import pytest

from gradcheck_tool.analysis.program import Look, check_source
from gradcheck_tool.rulebook.documentation import read_doc
from gradcheck_tool.rulebook.ruleset import RuleSet

RULES = RuleSet.load().select(["ALL"], target_torch=None)
EXAMPLES = [
    pytest.param(program.source, id=f"{rule.code}-{number}")
    for rule in RULES.known
    for number, program in enumerate(read_doc(type(rule)).wrong)
]

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


def as_library(source: str) -> str:
    """The program as the body of a function that nothing calls, in a file of harmless code."""
    head = "import torch\nfrom torch import nn\n\n\ndef example():\n"
    return head + textwrap.indent(source, "    ") + HARMLESS


def found(source: str, *, thorough: bool) -> set[tuple[str, int]]:
    findings = check_source(source, "program.py", RULES, thorough=thorough)
    return {(finding.code, finding.location.start.row) for finding in findings}


@pytest.mark.parametrize("source", EXAMPLES)
def test_a_library_that_holds_an_example_is_checked_as_without_the_index(source: str) -> None:
    library = as_library(source)
    assert found(library, thorough=True) <= found(library, thorough=False)


def test_harmless_code_is_clear() -> None:
    assert Look.at(f"import torch\nfrom torch import nn\n{HARMLESS}").is_clear


def test_a_function_that_calls_a_suspect_is_one() -> None:
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
    look = Look.at(source)
    assert look.suspects is not None
    assert look.suspects.functions == {"step", "twice"}


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
    look = Look.at(source)
    assert look.suspects is not None
    assert look.suspects.functions == {"step", "train", "clear", "Wrapper.backward"}
    assert look.suspects.trains == {"step", "train"}


@pytest.mark.parametrize(
    ("code", "is_seed"),
    [
        ("with torch.no_grad:\n        return x", True),
        ("torch.inference_mode(x)", True),
        ("return x if self.inference_mode else inference_mode", False),
        ("with torch.autograd.set_detect_anomaly(True):\n        return x", False),
        ("with torch.autograd.profiler.profile():\n        return x", False),
        ("return torch.autograd.functional.vjp(x)", True),
    ],
)
def test_a_name_of_autograd_is_a_seed_where_it_is_used_as_one(code: str, is_seed: bool) -> None:
    look = Look.at(f"import torch\n\ndef use(self, x, inference_mode=True):\n    {code}\n")
    assert look.suspects is not None
    assert bool(look.suspects.functions) == is_seed


@pytest.mark.parametrize(
    "source",
    [
        "def main():\n    print(nn.Linear(2, 2))\n\nmain()\n",
        "def main():\n    print(nn.Linear(2, 2))\n\nif __name__ == '__main__':\n    main()\n",
        "weight = nn.Linear(2, 2).weight\n",
    ],
)
def test_a_file_that_runs_is_executed_as_a_whole(source: str) -> None:
    look = Look.at(f"from torch import nn\n{source}")
    assert look.suspects is not None
    assert look.suspects.body


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
    assert {code for code, _ in found(source, thorough=False)} == {"GL101"}


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
    assert {code for code, _ in found(source, thorough=False)} == {"GL901"}
