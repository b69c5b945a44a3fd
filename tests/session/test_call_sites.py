"""What the files of a repository pass to the functions and constructors of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcheck_tool.analysis.given import Given
from gradcheck_tool.session.files import FileChecker
from gradcheck_tool.session.session import Options, Session

NETS = """from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x


class Wide(Net):
    pass


def build(wide=False):
    return Net()


def any_of(name):
    return {"net": Net}[name]()
"""
FIT = "def fit(model, optimizer, loader, loss_fn):\n    pass\n"
PARAMS = ("model", "optimizer", "loader", "loss_fn")
NET = Given("object", "nets", "Net")
IMPORTS = "import torch\nfrom torch import nn, optim\nfrom fit import fit\nimport nets\nfrom nets import Net, Wide, build\n"
CALLS = {
    "a class": ("fit(Net())", {"model": NET}),
    "a class of a module": ("fit(nets.Net())", {"model": NET}),
    "a variable": ("net = Net().cuda()\nfit(net)", {"model": NET}),
    "a variable that is moved": ("net = Net()\nnet = net.to(0)\nfit(model=net)", {"model": NET}),
    "what a factory returns": ("net = build()\nfit(net)", {"model": NET}),
    "what a factory may return": ("fit(nets.any_of('net'))", {}),
    "one of two classes": ("fit(Net())\nfit(Wide())", {}),
    "layers": ("fit(nn.Sequential(nn.Linear(1, 1)))", {"model": Given("module")}),
    "a wrapper": ("fit(nn.DataParallel(Net()))", {"model": Given("module")}),
    "an optimizer": (
        "net = Net()\nopt = optim.SGD(net.parameters(), lr=1)\nfit(net, opt)",
        {"model": NET, "optimizer": Given("optimizer", of="model")},
    ),
    "an optimizer of something else": (
        "net = Net()\nfit(net, torch.optim.Adam(net.layer.parameters()))",
        {"model": NET, "optimizer": Given("optimizer")},
    ),
    "data and a criterion": (
        "fit(0, 0, torch.utils.data.DataLoader([]), nn.MSELoss())",
        {"loader": Given("data"), "loss_fn": Given("criterion")},
    ),
    "a function": ("fit(0, loss_fn=nn.functional.mse_loss)", {"loss_fn": Given("criterion")}),
    "attributes of the caller": (
        (
            "class Run:\n    def __init__(self):\n        self.net, self.n = Net(), 1\n\n"
            "    def go(self):\n        fit(self.net)"
        ),
        {"model": NET},
    ),
    "a variable of a function around": (
        "def main():\n    net = Net()\n\n    def go():\n        fit(net)\n\n    go()",
        {"model": NET},
    ),
    "a parameter of the caller": ("def main(net):\n    fit(net)", {}),
    "either of two": ("net = Net() if torch else build()\nfit(net)", {"model": NET}),
    "what a loop changes": ("net = Net()\nfor net in [1]:\n    pass\nfit(net)", {}),
    "behind what stands for several": ("fit(*[1], Net())", {}),
    "a function of that name of its own": ("def main(fit):\n    fit(Net())", {}),
}


def given(folder: Path, call: str, imports: str = IMPORTS) -> dict[str, Given]:
    for name, text in {"nets.py": NETS, "fit.py": FIT, "main.py": f"{imports}{call}\n"}.items():
        (folder / name).write_text(text, encoding="utf-8")
    checker = FileChecker()
    checker.repository.folder = folder
    return dict(checker.call_sites.given(str(folder / "fit.py"), "fit", PARAMS))


@pytest.mark.parametrize(("call", "expected"), CALLS.values(), ids=CALLS)
def test_what_a_call_passes(tmp_path: Path, call: str, expected: dict[str, Given]) -> None:
    assert given(tmp_path, call) == expected


def test_a_function_of_that_name_elsewhere_is_another(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(FIT, encoding="utf-8")
    assert given(tmp_path, "from other import fit\nfrom nets import Net\nfit(Net())", imports="") == {}


def test_names_that_a_package_hands_on_are_followed(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("from fit import *\n", encoding="utf-8")
    assert given(tmp_path, "from pkg import fit as f\nfrom nets import Net\nf(Net())", imports="") == {}
    found = given(tmp_path, "from pkg import fit\nfrom nets import Net\nfit(Net())", imports="")
    assert found == {"model": NET}


SHARED = """from torch import nn


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 1), nn.Linear(2, 1)

    def forward(self, x):
        h = self.body(x)
        return self.first(h), self.second(h)
"""
BOTH = """def step(model, optimizer, x):
    a, b = model(x)
    optimizer.zero_grad()
    a.sum().backward()
    b.sum().backward()
    optimizer.step()
"""
CALLER = """import torch
from shared import Shared
from both import step


def main(batches):
    net = Shared()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in batches:
        step(net, optimizer, x)
"""


@pytest.mark.parametrize("cache", [False, True])
def test_a_file_is_judged_by_what_others_pass(tmp_path: Path, cache: bool) -> None:
    def codes() -> list[str]:
        outcome = Session(tmp_path, Options(cache=cache)).check([Path("both.py")])
        assert not outcome.problems
        return [finding.code for finding in outcome.findings]

    (tmp_path / "shared.py").write_text(SHARED, encoding="utf-8")
    (tmp_path / "both.py").write_text(BOTH, encoding="utf-8")
    assert codes() == []
    for _ in range(2):
        (tmp_path / "main.py").write_text(CALLER, encoding="utf-8")
        assert codes() == ["GL101"]
        (tmp_path / "main.py").write_text(CALLER.replace("Shared()", "unknown()"), encoding="utf-8")
        assert codes() == []


NORMALIZED = """import torch


def normalized(x):
    y = x - x.mean()
    deviation = (y ** 2).mean().sqrt()
    y.div_(deviation)
    return y
"""
BY_A_CLASS = """from torch import nn
from ops import normalized


class Norm({base}):
    def forward(self, x):
        return normalized(x)
"""
TESTING = "import unittest\nfrom ops import normalized\n\n\nclass Tests(unittest.TestCase):\n    def test(self):\n        normalized(0)\n"
USERS = {
    "nobody": ({}, True),
    "a module": ({"norm.py": BY_A_CLASS.format(base="nn.Module")}, True),
    "an object that is none": ({"norm.py": BY_A_CLASS.format(base="")}, False),
    "both": ({"norm.py": BY_A_CLASS.format(base="nn.Module"), "log.py": BY_A_CLASS.format(base="")}, True),
    "another function": (
        {"more.py": "from ops import normalized\n\ndef f(x):\n    return normalized(x)\n"},
        True,
    ),
    "a test": ({"test_ops.py": TESTING}, True),
}


@pytest.mark.parametrize(("files", "told"), USERS.values(), ids=USERS)
def test_a_function_that_only_objects_outside_networks_call_gets_data(
    tmp_path: Path, files: dict[str, str], told: bool
) -> None:
    for name, text in {"ops.py": NORMALIZED, **files}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    outcome = Session(tmp_path, Options(cache=False)).check([Path("ops.py")])
    assert [finding.code for finding in outcome.findings] == ["GL201"] * told
