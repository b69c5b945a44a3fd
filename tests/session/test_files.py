"""A file as a user checks it: the text of a notebook's cells, the findings of the rules in force."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradcheck_tool.config import Config
from gradcheck_tool.session.files import FileChecker
from tests.forms import reports


@pytest.mark.parametrize(("cell", "codes"), [("x.detach()", []), ("x.detach()\nx.sum()", ["GL509"])])
def test_a_result_that_a_notebook_displays_is_used(cell: str, codes: list[str]) -> None:
    assert _found_in_cells(f"import torch\nx = torch.ones(2, requires_grad=True)\n{cell}") == codes


@pytest.mark.parametrize(
    ("between", "codes"), [("loss = <YOUR CODE>", []), ("other = <YOUR CODE>", ["GL101"])]
)
def test_a_placeholder_cell_may_assign_the_names_in_it(between: str, codes: list[str]) -> None:
    first = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()"
    assert _found_in_cells(first, between, "loss.backward()") == codes


def test_what_a_file_hands_on_is_the_same_each_time_it_is_asked_for(tmp_path: Path) -> None:
    """A library's module and a constant that another file of the repository binds."""
    layers = "import torch.nn as nn\n\nSIZE = 2\n"
    whole = """import torch
from layers import *


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = {n: nn.Linear(SIZE, SIZE) for n in range(SIZE)}
        self.layers = nn.ModuleList(list(self.table.values()))

    def forward(self, x):
        x = self.layers[0](x).exp()
        x.mul_(SIZE - 1)
        return x.sum()


Stack()(torch.ones(2, 2)).backward()
"""
    assert reports({"layers.py": layers, "main.py": whole}, tmp_path) == [(17, "GL201")]


@pytest.mark.parametrize(
    ("name", "condition", "package"),
    [("torch", "True", False), ("torch", "True", True), ("math", "math.pi > 3", True)],
)
def test_a_module_named_like_a_library_does_not_take_its_place_for_its_siblings(
    tmp_path: Path, name: str, condition: str, package: bool
) -> None:
    texts = {
        f"tools/{name}.py": "pi = 0\n",
        "tools/shapes.py": "import torch\nimport math\n",
        "main.py": f"""from tools.shapes import *

w = torch.ones(1, requires_grad=True)
if {condition}:
    with torch.no_grad():
        w.add_(1)
    w.add_(1)
""",
    }
    if package:
        texts["tools/__init__.py"] = ""
    assert reports(texts, tmp_path) == [(7, "GL301")]


@pytest.mark.parametrize("body", ["", "from . import steps\n", "from .steps import scaled\n"])
@pytest.mark.parametrize(
    ("how", "module"), [("from package import steps", "steps"), ("import package.steps as way", "way")]
)
def test_a_module_of_a_package_is_imported_whether_the_package_binds_it_or_not(
    tmp_path: Path, body: str, how: str, module: str
) -> None:
    texts = {
        "package/__init__.py": body,
        "package/steps.py": "def scaled(x):\n    return x.exp()\n",
        "main.py": f"import torch\n{how}\n\nw = torch.ones(2, requires_grad=True)\n"
        f"y = {module}.scaled(w)\ny.sum().backward()\ny.sum().backward()\n",
    }
    assert reports(texts, tmp_path) == [(7, "GL101")]


@pytest.mark.parametrize(("layout", "found"), [("", True), ("src/", True), ("lib/", False)])
@pytest.mark.parametrize("mark", ["", ".git/HEAD"])
def test_absolute_imports_start_from_the_root_or_else_from_where_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str, found: bool, mark: str
) -> None:
    texts = {
        f"{layout}package/__init__.py": "",
        f"{layout}package/passes.py": "def differentiate(loss):\n    loss.backward()\n",
        "examples/main.py": "import torch\nfrom package.passes import differentiate\n"
        "loss = torch.ones(2, requires_grad=True).exp().sum()\ndifferentiate(loss)\ndifferentiate(loss)\n",
        **({mark: ""} if mark else {}),
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    findings = FileChecker().check_file(tmp_path / "examples" / "main.py", Config(root=tmp_path)).findings
    assert [each.code for each in findings] == ["GL101"] * found


def _found_in_cells(*sources: str) -> list[str]:
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
        for source in sources
    ]
    data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode()
    result = FileChecker().check_data(data, "n.ipynb", Config(root=Path.cwd()))
    return [finding.code for finding in result.findings]
