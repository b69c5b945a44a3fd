"""What models import from `gradlint_model`, each in a model of one function."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from gradcheck_tool.analysis.program import ImportContext, check_source
from gradcheck_tool.library.model_packs import ModelPacks
from gradcheck_tool.rulebook.ruleset import RuleSet

if TYPE_CHECKING:
    from pathlib import Path

RULES = RuleSet.load()
SAVED = "import torch\nimport lib\nw = torch.ones(3, requires_grad=True)\na = (w * 2).exp()\n"
LOSS = "import torch\nimport lib\nw = torch.ones(3, requires_grad=True)\nloss = (w * w).sum()\n"
NET = "import torch\nimport lib\nnet = lib.Net()\n"
LOOP = """import torch
import lib
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    lib.f()
"""

CASES = {
    "saves": ("def f(t): return saves(t)", SAVED + "b = lib.f(a)\na.add_(1)\nb.sum().backward()", {"GL201"}),
    "saves several": (
        "def f(s, t): return saves(s, t)",
        SAVED + "b = lib.f(w * 1, a * 2)\nb.sum().backward()\nb.sum().backward()",
        {"GL101"},
    ),
    "computes": (
        "def f(t): return computes(t)",
        SAVED + "c = a * 1\nb = lib.f(c)\nc.add_(1)\nb.sum().backward()",
        set(),
    ),
    "computes a graph": (
        "def f(t): return computes(t)",
        SAVED + "b = lib.f(a).sum()\nb.backward()\nb.backward()",
        {"GL101"},
    ),
    "writes": ("def f(t): writes(t)", SAVED + "lib.f(a)\na.sum().backward()", set()),
    "writes keeps the graph": (
        "def f(t): writes(t)",
        LOSS + "lib.f(w)\nloss.backward()\nloss.backward()",
        {"GL101"},
    ),
    "writes in containers": ("def f(t): writes(t)", SAVED + "lib.f([a])\na.sum().backward()", set()),
    "view_of": (
        "def f(t): return view_of(t)",
        SAVED + "lib.f(a).mul_(2)\na.sum().backward()",
        {"GL201"},
    ),
    "touches": ("def f(t): touches(t)", LOSS + "lib.f(loss)\nw.grad.sum()", set()),
    "touches nothing": ("def f(t): pass", LOSS + "lib.f(loss)\nw.grad.sum()", {"GL321"}),
    "what is freed stays so": (
        "def f(t): touches(t)",
        LOSS + "loss.backward()\nlib.f(loss)\nloss.backward()",
        {"GL101"},
    ),
    "unknown": ("def f(t): return unknown()", LOSS + "lib.f(loss).backward()\nlib.f(loss).item()", set()),
    "data": ("def f(t): return data()", LOSS + "lib.f(loss).numpy()\nloss.backward()", set()),
    "size": (
        "def f(t): return t.reshape(size(), size())",
        LOSS + "lib.f(w).sum().backward()\nw.grad.reshape(3, 1).sum()",
        set(),
    ),
    "either": (
        "def f(t): return either(t, t.detach())",
        LOSS + "lib.f(loss).backward()",
        {"GL501"},
    ),
    "a class is not all known": (
        "class Net(torch.nn.Module): pass",
        NET + "torch.optim.SGD(net.parameters(), lr=0.1)",
        set(),
    ),
    "complete": (
        "@complete\nclass Net(torch.nn.Module): pass",
        NET + "torch.optim.SGD(net.parameters(), lr=0.1)",
        {"GL322"},
    ),
    "clear_gradients": (
        "def f(): clear_gradients()",
        LOOP,
        set(),
    ),
    "rounds": (
        "def f(function, items):\n    for item in rounds(items): function(item)",
        LOSS + "lib.f(lambda item: loss.backward(), [1])",
        {"GL102"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_intrinsic(tmp_path: Path, name: str) -> None:
    model, program, codes = CASES[name]
    imports = """
        import torch
        from gradlint_model import clear_gradients, complete, computes, data, either, module, rounds
        from gradlint_model import saves, size, touches, unknown, view_of, writes
    """
    (tmp_path / "lib.py").write_text(dedent(imports) + model + "\n", encoding="utf-8")
    around = ImportContext(models=ModelPacks([tmp_path]))
    assert {finding.code for finding in check_source(program, "program.py", RULES, around)} == codes
