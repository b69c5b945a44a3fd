"""The machine executes Python and PyTorch as they are: each program is run in both, and both must agree."""

from __future__ import annotations

import linecache
import sys

import pytest

from gradcheck_tool.analysis.entries import ExecutionPlan, analyze
from gradcheck_tool.domain.events import BackwardCall, EngineError, Event
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.ir.positions import locate
from tests.interp.programs import PROGRAMS
from tests.interp.refusals import REFUSALS

torch = pytest.importorskip("torch")


def predicted(source: str) -> tuple[int | None, str]:
    """The line and text of the first error that the model foretells."""
    module = lower_module(source, "program.py")
    errors = [event for event in analyze(module) if isinstance(event, EngineError)]
    if not errors:
        return None, ""
    return locate(module, errors[0].site.node).start.row, errors[0].text


def happened(source: str) -> tuple[int | None, str]:
    """The line of the program where PyTorch raised, innermost frame first, and its message."""
    torch.manual_seed(0)
    torch.set_grad_enabled(True)
    name = "<program>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    try:
        exec(compile(source, name, "exec"), {"__name__": "__main__"})
    except Exception as error:  # noqa: BLE001  whatever the program raises is what happened
        trace = sys.exc_info()[2]
        line = None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == name:
                line = trace.tb_lineno
            trace = trace.tb_next
        return line, str(error)
    finally:
        torch.set_grad_enabled(True)
    return None, ""


ALL = {**PROGRAMS, **REFUSALS}


@pytest.mark.parametrize("name", ALL)
def test_model_and_pytorch_agree(name: str) -> None:
    """Same line, same error; or no error in either."""
    line, message = happened(ALL[name])
    foretold, text = predicted(ALL[name])
    assert foretold == line
    assert text in message


def test_marks_say_what_pytorch_does() -> None:
    """The programs' own marks are true, so that reading them is enough."""
    for name, source in ALL.items():
        assert ("# raises" in source) == (happened(source)[0] is not None), name


def accumulations(source: str) -> list[int]:
    """Lines of backward calls that add to gradients which a step has used."""
    module = lower_module(source, "program.py")
    events: list[Event] = analyze(module)
    calls = [e for e in events if isinstance(e, BackwardCall) and any(a.stepped for a in e.accumulated)]
    return sorted({locate(module, e.site.node).start.row for e in calls})


LOOP = """
import torch
from torch import nn
def train(model, loader, optimizer):
    for x, y in loader:
        {first}
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
{helper}
model = nn.Linear(2, 1)
train(model, torch.utils.data.DataLoader([]), torch.optim.SGD(model.parameters(), lr=0.1))
"""


@pytest.mark.parametrize(
    ("first", "helper", "lines"),
    [
        ("pass", "", [8]),
        ("optimizer.zero_grad()", "", []),
        ("model.zero_grad(set_to_none=True)", "", []),
        ("clear(model)", "def clear(m):\n    for p in m.parameters():\n        p.grad = None\n", []),
        ("unknown_library_call(optimizer)", "from somewhere import unknown_library_call\n", []),
    ],
    ids=["never", "optimizer", "module", "helper", "unknown callee"],
)
def test_gradients_are_cleared_in_many_ways(first: str, helper: str, lines: list[int]) -> None:
    """Only the loop that certainly never clears is one that accumulates."""
    source = LOOP.format(first=first, helper="")
    head, _, tail = source.partition("def train")
    assert accumulations(f"{head}{helper}def train{tail}") == [n + helper.count("\n") for n in lines]


def test_work_is_bounded() -> None:
    """Forty independent branches in a loop do not make two to the forty paths."""
    branches = "\n".join(f"    if args.a{i}:\n        x = x + {i}" for i in range(40))
    source = f"import argparse, torch\nargs = argparse.ArgumentParser().parse_args()\nx = torch.ones(2)\nfor _ in range(9):\n{branches}\n"
    assert predicted(source) == (None, "")


def test_what_raises_before_the_work_limit_is_told() -> None:
    source = (
        "import torch\nw = torch.ones(2, requires_grad=True)\nif input():\n    w.numpy()\n"
        + "w = w + 1\n" * 200
    )
    unfinished: list[str] = []
    plan = ExecutionPlan(limit=200, total=200)
    errors = [
        event
        for event in analyze(lower_module(source, "program.py"), plan=plan, unfinished=unfinished)
        if isinstance(event, EngineError)
    ]
    assert unfinished == ["<module>"]
    assert len(errors) == 1


def test_what_nothing_calls_is_bounded_by_itself() -> None:
    """The body runs to its end; functions that nothing calls share what the plan leaves them."""
    source = (
        "import torch\n"
        "def forgotten(model, loader):\n"
        + "    for batch in loader:\n        model(batch).sum().backward()\n" * 40
        + "w = torch.ones(2, requires_grad=True)\nw.sum().backward()\n"
    )
    module = lower_module(source, "program.py")
    unfinished: list[str] = []
    events = analyze(module, plan=ExecutionPlan(rest=500), unfinished=unfinished)
    assert unfinished == ["forgotten"]
    rows = [locate(module, e.site.node).start.row for e in events if isinstance(e, BackwardCall)]
    assert source.count("\n") in rows
    whole: list[str] = []
    analyze(module, unfinished=whole)
    assert not whole
