"""A key that is not known chooses one of the objects, classes or functions that a dictionary holds."""

from __future__ import annotations

import pytest

from gradcheck_tool import FreedGraph
from tests.open_programs import HEAD, told
from tests.running import Analysis, findings

KINDS = """
import sys
import torch
from torch import nn

class Kept:
    def total(self):
        return torch.ones(2, requires_grad=True).exp().sum()

class Freed:
    def total(self):
        y = torch.ones(2, requires_grad=True).exp()
        y.sum().backward()
        return y.sum()

def kept():
    return Kept()

def freed():
    return Freed()

name = sys.argv[1]
"""
TABLES = {
    "classes": ('KINDS = {"kept": Kept, "freed": Freed}\n', "KINDS[name]()", True),
    "objects": ('KINDS = {"freed": Freed(), "kept": Kept()}\n', "KINDS[name]", True),
    "functions": ('KINDS = {"kept": kept, "freed": freed}\n', "KINDS[name]()", True),
    "too many to follow each": ("KINDS = {n: Freed() for n in 'abcd'}\n", "KINDS[name]", False),
}


@pytest.mark.parametrize(("table", "chosen", "found"), TABLES.values(), ids=TABLES)
def test_each_of_a_few_is_followed(table: str, chosen: str, found: bool) -> None:
    source = f"{KINDS}{table}{chosen}.total().backward()\n"
    assert Analysis(source).rows(FreedGraph) == ([source.count("\n")] if found else [])


def test_the_same_key_chooses_the_same() -> None:
    source = f"""{KINDS}
nets = {{"one": nn.Linear(2, 2), "other": nn.Linear(2, 2)}}
optimizer = torch.optim.SGD(nets[name].parameters(), lr=0.1)
for x in torch.ones(4, 2):
    optimizer.zero_grad()
    nets[name](x).sum().backward()
    optimizer.step()
"""
    assert findings(source) == []


def test_what_is_chosen_for_a_module_is_registered() -> None:
    source = f"""{KINDS}
class Net(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.table = {{"small": nn.Linear(2, 2), "large": nn.Linear(2, 2)}}
        self.backbone = self.choose(name)

    def choose(self, name):
        return self.table[name]

    def forward(self, x):
        return self.backbone(x)
"""
    assert findings(source) == []
    assert [code for _, code in findings(source.replace("self.choose(name)", "nn.Linear(2, 2)"))] == ["GL311"]


OPTIONS = (
    HEAD
    + """
def backward(loss, scaler, options):
    if options.get("amp", False):
        scaler.scale(loss).backward()
    else:
        loss.backward()
    options["loss"] = loss.item()

def train(model, optimizer, data, scaler, options):
    for x in data:
        optimizer.zero_grad()
        backward(model(x).mean(), scaler, options)
        if options.get("amp", False):
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
"""
)


@pytest.mark.parametrize(
    "table", ["options", "dict(options)", "copy.deepcopy(options)", "{'lr': 1, **options}"]
)
def test_a_table_gives_the_same_entry_each_time(table: str) -> None:
    source = OPTIONS.replace("    for x", f"    options = {table}\n    for x").replace(
        "import torch\n", "import copy\nimport torch\n", 1
    )
    assert told(source) == []
    other = source.replace('options.get("amp", False)', 'options.get("scaled")', 1)
    assert [finding.code for finding in told(other)] == ["GL412"]


def test_an_entry_is_what_was_written_there() -> None:
    written = OPTIONS.replace('["loss"] = loss.item()', '["amp"] = False')
    assert [finding.code for finding in told(written)] == ["GL412"]
