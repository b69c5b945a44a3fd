"""Files that nobody would write on purpose: each is checked, or there is a message that says why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gradcheck_tool.config import Config
from gradcheck_tool.session.files import FileChecker

if TYPE_CHECKING:
    from gradcheck_tool.analysis.result import FileResult

LOSSES = """import torch
losses = {}
w = torch.ones(1, requires_grad=True)
for i in range(3):
    loss = w.exp().sum()
    loss.backward()
    %s
"""
CHECKED = {
    "a Function without forward": "import torch\n\nclass R(torch.autograd.Function):\n"
    "    def backward(ctx, g): return -g\n",
    "an expand of too few sizes": "import torch\ntorch.ones(3, 3).expand(3).sum().backward()\n",
    "a bound method with a name": LOSSES.replace("{}", "[]; log = losses.append") % "log(loss)",
    "an item and a name are assigned": LOSSES % "last = losses[i] = loss",
    "a row of a tensor and a name are assigned": LOSSES.replace("{}", "torch.zeros(3)")
    % "last = losses[i] = loss",
    "more iterations than a machine word counts": "import torch\nw = torch.ones(1, requires_grad=True)\n"
    "for _ in range(10 ** 30):\n    w.sum().backward()\nfor i, _ in enumerate(range(2**63)): w.sum().backward()\n",
    "a size that is used as a tensor": "import torch\ndef f(x):\n    n = x.shape[0]\n    n.retain_grad()\n"
    "    n.backward()\n",
    "sizes that are none": "import torch\nnet = torch.nn.Linear(4, ...)\ne = torch.nn.Embedding('a', 1.5)\n"
    "w = torch.arange(1, 2, 3, 4) + torch.arange(10**30) + torch.eye(2.5)\nfor x in data:\n"
    "    loss = net(x).sum() + e(x).sum() + w.sum()\n    loss.backward()\n"
    "    g = torch.autograd.grad(net(x).sum(), net.weight)[0]\n",
    "methods without parameters": "import torch\nclass F(torch.autograd.Function):\n"
    "    def forward(): return ctx.x\n    def backward(): return self.y\nclass N(torch.nn.Module):\n"
    "    def __init__():\n        self.w = torch.nn.Parameter(x)\n        self.all = [torch.nn.Linear(1, 1)]\n"
    "        self.opt = torch.optim.SGD(self.net.parameters())\n    def forward(): return self.a\n"
    "    def train():\n        self.opt.step()\n        self.net(1).detach().backward()\n",
    "names that are too long for files": f"import torch.{'m' * 300}.a as t\nfrom .{'m' * 300} import b\n"
    f"w = torch.ones(1, requires_grad=True)\ntorch.{'m' * 300}(t.a(b.c(w))).backward()\n",
    "containers that are in themselves": "import torch\nfrom torch import nn\nnet = nn.Sequential(nn.Linear(3, 3))\n"
    "net.e = net[0] = net\nnet(torch.ones(3)).sum().backward()\nwhole = nn.DataParallel(net)\n"
    "whole.module = whole\nwhole(torch.ones(3)).sum().backward()\nclass N(nn.Module): pass\nn = N()\n"
    "n.forward = n\nn(torch.ones(3)).sum().backward()\nN.__call__ = n\nn(torch.ones(3)).sum().backward()\n",
    "functions of a tensor that get none": "import torch\ntorch.requires_grad_()\ntorch.copy_()\ntorch.zero_()\n"
    "w = torch.ones(1, requires_grad=True)\nw.sum().backward()\n",
    "stars where there may be none": "import torch\nw = torch.ones(3, requires_grad=True)\n*x = w\nx = *w\n"
    "x += *w\nfor *y in *w: z = f'{*w}'\n*w\ndef f(x):\n    yield *x\n    return *x.sum().backward()\n",
    "strings in strings in strings": "import torch\nw = torch.ones(1, requires_grad=True)\nz = "
    + "f'{" * 250
    + "1"
    + "}'" * 250
    + "\nloss = w.sum()\nloss.backward()\nloss.backward()\n",
    "lists that are in themselves": "import torch\nw = torch.ones(3, requires_grad=True)\nx = [1]\nx.append(x)\n"
    "torch.tensor(x)\ntorch.autograd.functional.jacobian(torch.exp, x)\nw.sum().backward()\n",
    "tuples of one tuple, again and again": "import torch\nw = torch.ones(3, requires_grad=True)\nx = (w, w)\n"
    + "x = (x, x)\n" * 60
    + "d = {x: 1}\nw.sum().backward()\n",
    "layers of one layer, again and again": "import torch\nnet = torch.nn.Sequential(torch.nn.Linear(3, 3))\n"
    + "net = torch.nn.Sequential(net, net)\n" * 40
    + "net(torch.ones(3)).sum().backward()\n",
    "sizes that a tensor does not have": "import torch\nw = torch.ones(3, requires_grad=True)\n"
    "loss = w.sum()[..., None, 1:] + w.permute(5) + w[1:, 2:, 3:]\ntorch.add_(len, w)\nloss.backward()\n",
    "functions in what is too deep at first": "import torch\nw = torch.ones(3, requires_grad=True)\ndef f(x):\n"
    f"    z = {'lambda: ' * 150}1\n    loss = w.sum()\n    loss.backward()\n    loss.backward()\nf(w)\n",
    "numbers that are none": "import torch\nclass F(torch.autograd.Function):\n    @staticmethod\n"
    "    def forward(ctx, x): return x * 2\n    @staticmethod\n    def backward(ctx, g):\n"
    "        return g.view(-'x', -1), (None,) * 10**30, *((None,) * -5)\n",
    "a layer that is made of itself": "import torch\nclass N(torch.nn.Module):\n    def __init__(self):\n"
    "        for _ in steps:\n            h = self.cell(f, h)\n            self.last = h\n"
    "        self.w = torch.nn.Parameter(torch.ones(1))\n    def forward(self, x):\n        while x:\n"
    "            layer = layer.inner\n            layer.register_forward_hook(print)\n        return x * 2\n",
    "a scale that is made of itself": "import torch\nfrom torch.distributions import Normal\ndef f(x):\n"
    "    for _ in x:\n        scale = scale * 2\n        noise = Normal(0, scale)\n        z = noise.sample()\n"
    "        p = noise.log_prob(z)\n        y = x + scale * z\n    p.sum().backward()\n",
    "a tensor that is computed along very many ways": "import torch\nclass N(torch.nn.Module):\n"
    "    def __init__(self):\n        super().__init__()\n        w = torch.ones(2, requires_grad=True)\n"
    + "        w = w * w\n"
    * 60
    + "        self.w = w\n    def forward(self, x):\n        return (self.w * x).sum()\nn = N()\n"
    "o = torch.optim.SGD(n.parameters(), 0.1)\nn(torch.ones(2)).backward()\n",
    "two thousand chained calls": "import torch\nx = torch.ones(3, requires_grad=True)\ny = x"
    + ".add(1)" * 2000
    + "\ny.sum().backward()\n",
}
REFUSED = {
    "very many lines": (
        "import torch\nw = torch.ones(1, requires_grad=True)\nw.sum().backward()\n" + "w\n" * 100_000,
        "is too long to be analysed",
    ),
    "a very long line": (
        f"import torch\nw = torch.ones(1, requires_grad=True)\nw.sum().backward()\nx = [{'1, ' * 400_000}]\n",
        "is too long to be analysed",
    ),
    "nested parentheses": (
        "import torch\ntorch.ones(1).backward()\nz = " + "(" * 1300 + "1" + ")" * 1300,
        "is nested too deeply to be analysed",
    ),
    "nested brackets behind an error": (
        "import torch\nx = = 1\nloss.backward()\nz = " + "[" * 1300 + "]" * 1300,
        "is nested too deeply to be analysed",
    ),
    "an encoding that there is not": (
        "# coding: undefined\nimport torch\nloss.backward()\n",
        "cannot be decoded",
    ),
    "half of a character": (
        "# coding: raw_unicode_escape\nimport torch\nloss.backward()\nx = '\\ud800'\n",
        "does not parse as Python",
    ),
}


def checked(text: str, name: str = "a.py") -> FileResult:
    return FileChecker().check_data(
        text.encode(), f"/nowhere/{name}", Config(root=Path("/nowhere"), select=("ALL",))
    )


@pytest.mark.parametrize("text", CHECKED.values(), ids=CHECKED)
def test_is_checked(text: str) -> None:
    assert checked(text).problem is None


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_is_refused_with_a_reason(text: str, words: str) -> None:
    result = checked(text)
    assert result.problem is not None
    assert words in result.problem
    assert not result.failed


@pytest.mark.parametrize(
    "cell", ["import torch\nloss.backward()\nx = '\ud800'", "loss.backward()\nx = " + "(" * 1300 + ")" * 1300]
)
def test_a_cell_that_cannot_be_read_is_left_out(cell: str) -> None:
    cells = [
        {"cell_type": "code", "source": source, "metadata": {}, "outputs": []}
        for source in (cell, "import torch\nloss.backward()")
    ]
    result = checked(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}), "a.ipynb")
    assert (result.problem, result.partial) == ("cell 1 is not Python, left out", True)


def test_of_cells_that_a_notebook_has_twice_the_last_ones_count() -> None:
    cells = '[{"cell_type": "code", "source": "import torch\\nloss.backward()"}]'
    assert checked(f'{{"cells": {cells}, "metadata": {{}}, "cells": []}}', "a.ipynb").problem is None
    found = checked(f'{{"cells": [], "cells": {cells}}}', "a.ipynb")
    assert (found.problem, found.failed) == (None, False)


def test_a_notebook_whose_json_is_nested_too_deeply_is_no_notebook() -> None:
    text = '{"cells": [{"source": "import torch; loss.backward()"}], "metadata": ' + "[" * 100_000
    assert "is not a notebook" in str(checked(text, "a.ipynb").problem)
