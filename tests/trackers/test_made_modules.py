"""Layers of a library that is not in sight, in a plain list: where their names and their use say what they are."""

from __future__ import annotations

import sys
import types

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.open_programs import HEAD, told
from tests.running import RULES, happened

APPENDED = (
    HEAD
    + """
from graphs.nn import GraphConv

class Net(nn.Module):
    def __init__(self, size, count):
        super().__init__()
        self.layers = []  # <- GL311
        for _ in range(count):
            self.layers.append(GraphConv(size, size))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
)
LISTED = (
    HEAD
    + """
import graphs.nn as gnn

class Net(nn.Module):
    def __init__(self, size, count):
        super().__init__()
        layers = [gnn.GraphConv(size, size) for _ in range(count)]
        self.layers = layers  # <- GL311
        self.count = count

    def forward(self, x):
        for i in range(len(self.layers)):
            x = self.layers[i](x)
        return x
"""
)
PROGRAMS = {"appended": APPENDED, "listed": LISTED}


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_a_list_of_layers_is_found(source: str) -> None:
    found = check_source(source, "program.py", RULES)
    rows = [n for n, line in enumerate(source.splitlines(), 1) if "# <- " in line]
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL311", rows[0])]
    assert found[0].assumes == ("a `GraphConv` is a module with parameters",)


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_pytorch_has_no_parameters_to_train(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    library, part = types.ModuleType("graphs"), types.ModuleType("graphs.nn")
    part.GraphConv = torch.nn.Linear  # type: ignore[attr-defined]
    library.nn = part  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "graphs", library)
    monkeypatch.setitem(sys.modules, "graphs.nn", part)
    line = "assert list(Net(2, 2).parameters()), 'nothing to train'\n"
    assert happened(source + line)[1] == "nothing to train"
    right = source.replace("self.layers = []", "self.layers = nn.ModuleList()")
    right = right.replace("self.layers = layers", "self.layers = nn.ModuleList(layers)")
    assert told(right) == []
    assert happened(right + line) == (None, "")


QUIET = {
    "a class that is not named as layers are": ("GraphConv", "GraphNorm"),
    "what makes them is no class": ("GraphConv", "linear"),
    "they are only looked at": ("x = layer(x)", "x = x * layer.scale"),
    "they are run without gradients": ("return x", "with torch.no_grad(): return x"),
    "the object is no module": ("(nn.Module):", ":"),
    "the list is handed on": ("return x", "return joined(x, self.layers)"),
    "it is registered": ("def forward", "    self.body = nn.Sequential(*self.layers)\n\n    def forward"),
    "code outside takes it": ("class Net", "def parts(net):\n    return net.layers\n\nclass Net"),
    "one element is something else": ("def forward", "    self.layers.append(size)\n\n    def forward"),
    "it is said that they are frozen": ("layers", "teachers"),
}


@pytest.mark.parametrize("name", QUIET)
def test_lists_that_may_be_right_are_left_alone(name: str) -> None:
    old, new = QUIET[name]
    assert old in APPENDED
    assert told(APPENDED.replace(old, new)) == []


def test_an_element_that_is_kept_elsewhere_may_be_registered_there() -> None:
    source = APPENDED.replace(
        "self.layers.append(GraphConv(size, size))",
        "self.last = layer = GraphConv(size, size); self.layers.append(layer)",
    )
    assert told(source) == []
