"""Lists of modules that a constructor is given: what is not trained, and where nothing says so."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.open_programs import HEAD, told
from tests.running import RULES, findings, happened

TESTED = (
    HEAD
    + """
class Mean(nn.Module):
    def __init__(self):
        super().__init__()
        self.constant = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return self.constant.expand(x.shape[0])

class Means(nn.Module):
    def __init__(self, parts, count):
        super().__init__()
        if isinstance(parts, Mean):
            parts = [parts]
        if len(parts) == 1:
            parts = parts * count
        self.parts = parts  # <- GL311

    def forward(self, x):
        return torch.stack([part(x) for part in self.parts], dim=-1)
"""
)

ANNOTATED = (
    HEAD
    + """
class Chain(nn.Module):
    def __init__(self, layers: list[nn.Module]):
        super().__init__()
        self.layers = layers  # <- GL311

    def forward(self, x):
        for index, layer in enumerate(self.layers):
            x = layer(x)
        return x
"""
)


OPTIONAL = ANNOTATED.replace("list[nn.Module]", "list[nn.Module] | None = None").replace(
    "self.layers = layers", "self.layers = layers if layers is not None else []"
)
RESOLVED = (
    HEAD
    + """
from typing import List, Union
from elsewhere import resolve

class Part(nn.Module):
    pass

class Parts(Part):
    def __init__(self, parts: List[Union[Part, str]], options):
        super().__init__()
        self.parts = [resolve(part, **each) for part, each in zip(parts, options)]  # <- GL311

    def forward(self, x):
        return torch.cat([part(x) for part in self.parts])
"""
)


@pytest.mark.parametrize("source", [TESTED, ANNOTATED, OPTIONAL, RESOLVED])
def test_a_list_that_is_said_to_have_modules_is_found(source: str) -> None:
    found = check_source(source, "program.py", RULES)
    rows = [n for n, line in enumerate(source.splitlines(), 1) if "# <- " in line]
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL311", rows[0])]
    assert found[0].assumes[0].endswith("has modules that are to be trained")


@pytest.mark.parametrize(
    ("source", "made"), [(TESTED, "Means(Mean(), 2)"), (ANNOTATED, "Chain([nn.Linear(2, 2)])")]
)
def test_pytorch_has_no_parameters_to_train(source: str, made: str) -> None:
    pytest.importorskip("torch")
    line = f"assert list({made}.parameters()), 'nothing to train'\n"
    assert happened(source + line)[1] == "nothing to train"
    right = source.replace("= parts  # <-", "= nn.ModuleList(parts)  #")
    right = right.replace("= layers  # <-", "= nn.ModuleList(layers)  #")
    assert told(right) == []
    assert happened(right + line) == (None, "")


QUIET = {
    "nothing says that they are modules": ("layers: list[nn.Module]", "layers"),
    "they are functions": ("layers: list[nn.Module]", "layers: list[Callable]"),
    "it is said that they are frozen": ("layers", "teachers"),
    "they are only looked at": ("x = layer(x)", "x = x * layer.scale"),
    "they are run without gradients": ("return x", "with torch.no_grad(): return x"),
    "the object is no module": ("(nn.Module):", ":"),
    "what they have is kept, not they": ("= layers", "= [layer.bias for layer in layers]"),
    "they are kernels": ("layers", "kernels"),
    "others are made, as many as there are": ("= layers", "= [nn.Identity() for _ in layers]"),
    "another list takes their place": ("= layers", "= layers if layers else other"),
}


@pytest.mark.parametrize("name", QUIET)
def test_lists_that_may_be_right_are_left_alone(name: str) -> None:
    assert told(ANNOTATED.replace(*QUIET[name])) == []


MOVED = (
    HEAD
    + """
class Heads(nn.Module):
    def __init__(self, body, heads, device):
        super().__init__()
        self.body = body.to(device)
        self.heads = [head.to(device) for head in heads]  # <- GL311

    def forward(self, x):
        x = self.body(x)
        return [head(x) for head in self.heads]
"""
)


def test_what_is_moved_and_called_is_a_module() -> None:
    assert [finding.code for finding in told(MOVED)] == ["GL311"]
    assert told(MOVED.replace("[head(x)", "[head * x")) == []
    assert told(MOVED.replace("[head.to(device)", "[head.bind(device)")) == []


HANDED_ON = """
import torch
from torch import nn

class Stack(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = {kept}

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

class Net(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        layers = [nn.Linear(d, d) for _ in range(n)]
        self.stack = Stack(layers={given})

    def forward(self, x):
        return self.stack(x)
"""


@pytest.mark.parametrize(
    ("kept", "given", "codes"),
    [
        ("layers", "layers", ["GL311"]),
        ("list(layers)", "[layer for layer in layers]", ["GL311"]),
        ("nn.ModuleList(layers)", "layers", []),
        ("layers", "nn.ModuleList(layers)", []),
    ],
)
def test_a_list_of_layers_that_a_part_is_given_is_found_where_nothing_makes_the_whole(
    kept: str, given: str, codes: list[str]
) -> None:
    assert [code for _, code in findings(HANDED_ON.format(kept=kept, given=given))] == codes
