"""What is watched in a notebook is shown with its source, and by the names that IPython gives its cells."""

import linecache
import sys
from types import SimpleNamespace

import torch

import gradcheck_tool

FIRST, SECOND = "/tmp/ipykernel_1/1.py", "/tmp/ipykernel_1/2.py"


def _run(filename, text, names):
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), names)


def test_cells_have_their_source_and_their_names(monkeypatch, capsys):
    cells = {FIRST: ("Cell", "In[1]"), SECOND: ("Cell", "In[2]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=cells.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    names = {"torch": torch, "gradcheck_tool": gradcheck_tool}
    _run(FIRST, "def change(y):\n    y.data.add_(1)\n", names)
    _run(
        SECOND,
        "with gradcheck_tool.watch():\n"
        "    y = torch.ones(3, requires_grad=True).exp()\n"
        "    change(y)\n"
        "    y.sum().backward()\n",
        names,
    )
    shown = capsys.readouterr().err
    assert "--> In[1]:2:5 (" in shown
    assert "::: In[2]:2:9" in shown
    assert "2 |     y.data.add_(1)\n" in shown
    assert "ipykernel" not in shown


def test_comments_in_cells_count():
    text = (
        "with gradcheck_tool.watch() as seen:\n"
        "    w = torch.ones(3, requires_grad=True)\n"
        "    optimizer = torch.optim.SGD([w], lr=0.1)\n"
        "    for _ in range(3):\n"
        "        w.sum().backward()\n"
        "        optimizer.step()\n"
    )
    names = {"torch": torch, "gradcheck_tool": gradcheck_tool}
    _run(FIRST, text, names)
    assert [one.code for one in names["seen"].findings] == ["GL401"]
    _run(SECOND, text.replace("backward()", "backward()  # gradlint: ignore[GL401]"), names)
    assert names["seen"].findings == []
