"""Loops that freeze modules: which of them freeze the whole, in the model and in PyTorch."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told
from tests.running import happened

MODEL = "model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 1)))\n"
# A driver that fails where nothing is left to train.
LEFT = "freeze(model)\nassert any(p.requires_grad for p in model.parameters()), 'nothing is trained'\n"

WRONG = {
    "what matches no name": """
from fnmatch import fnmatch
def freeze(model, kept=("1",)):
    for name, module in model.named_modules():
        if not any(fnmatch(name, each) for each in kept):
            for p in module.parameters():
                p.requires_grad = False
""",
    "what is chosen neither here nor there": """
def chosen(name, module):
    return isinstance(module, nn.BatchNorm1d)
def freeze(model):
    found = []
    for name, module in model.named_modules():
        if chosen(name, module):
            found.append(name)
        elif name != "0":
            for p in module.parameters():
                p.requires_grad_(False)
""",
    "all but layers of a class": """
def freeze(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            continue
        m.requires_grad_(False)
""",
}

RIGHT = {
    "the layers of a class": """
def freeze(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            for p in m.parameters():
                p.requires_grad = False
""",
    "each one's own parameters": """
def freeze(model):
    for name, module in model.named_modules():
        if name != "1.1":
            for p in module.parameters(recurse=False):
                p.requires_grad = False
""",
    "what is to be trained is thawed again": """
def freeze(model):
    for name, module in model.named_modules():
        if name != "1.1":
            for p in module.parameters():
                p.requires_grad = False
    for p in model[1].parameters():
        p.requires_grad = True
""",
    "the flag follows the name": """
def freeze(model):
    for name, module in model.named_modules():
        for p in module.parameters():
            p.requires_grad = name == "1.1"
""",
    "the children, which do not have the whole": """
def freeze(model):
    for name, module in model.named_children():
        if name != "1":
            for p in module.parameters():
                p.requires_grad = False
""",
    "the whole is left out": """
def freeze(model):
    for name, module in model.named_modules():
        if name and name.startswith("0"):
            module.requires_grad_(False)
""",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_loop_that_freezes_the_whole_is_found(name: str) -> None:
    assert [finding.code for finding in told(HEAD + WRONG[name])] == ["GL326"]
    pytest.importorskip("torch")
    assert happened(HEAD + WRONG[name] + MODEL + LEFT)[1] == "nothing is trained"


@pytest.mark.parametrize("name", RIGHT)
def test_a_loop_that_leaves_something_to_train_is_quiet(name: str) -> None:
    assert told(HEAD + RIGHT[name]) == []
    pytest.importorskip("torch")
    assert happened(HEAD + RIGHT[name] + MODEL + LEFT) == (None, "")


def test_a_loop_that_freezes_everything_says_so() -> None:
    source = """
def freeze(model):
    for module in model.modules():
        for p in module.parameters():
            p.requires_grad = False
"""
    assert told(HEAD + source) == []
