"""What is executed of a file, and how much work that may take."""

from __future__ import annotations

from gradcheck_tool import BackwardCall
from gradcheck_tool.analysis.entries import analyze
from gradcheck_tool.analysis.import_context import Extent
from gradcheck_tool.analysis.plans import ExecutionPlan
from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.ir.lower import lower_module
from tests.cases import predicted
from tests.running import RULES, Analysis


def test_branches_in_a_loop_do_not_multiply() -> None:
    """Forty independent branches in a loop do not make two to the forty paths."""
    branches = "\n".join(f"    if args.a{i}:\n        x = x + {i}" for i in range(40))
    source = f"import argparse, torch\nargs = argparse.ArgumentParser().parse_args()\nx = torch.ones(2)\nfor _ in range(9):\n{branches}\n"
    assert predicted(source) == (None, "")


def test_an_error_before_the_work_limit_is_reported() -> None:
    source = (
        "import torch\nw = torch.ones(2, requires_grad=True)\nif input():\n    w.mul_(2)\n"
        + "w = w + 1\n" * 200
    )
    analysis = Analysis(source, ExecutionPlan(limit=200, total=200, single=0))
    assert analysis.unfinished == ["<module>"]
    assert len(analysis.errors()) == 1


def test_functions_that_nothing_calls_share_a_limit_of_their_own() -> None:
    """The body runs to its end; functions that nothing calls share what the plan leaves them."""
    source = (
        "import torch\n"
        "def forgotten(model, loader):\n"
        + "    for batch in loader:\n        model(batch).sum().backward()\n" * 40
        + "w = torch.ones(2, requires_grad=True)\nw.sum().backward()\n"
    )
    bounded = Analysis(source, ExecutionPlan(rest=500, single=0))
    assert bounded.unfinished == ["forgotten"]
    assert source.count("\n") in bounded.rows(BackwardCall)
    assert not Analysis(source).unfinished


def test_what_takes_any_number_of_arguments_may_get_some() -> None:
    source = """
class Tensors:
    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs

    @property
    def requires_grad(self):
        return any(arg.requires_grad for arg in self.args)

    @requires_grad.setter
    def requires_grad(self, flag):
        for flag in self.kwargs.values():
            flag.requires_grad = flag
"""
    found = check_source(source, "program.py", RULES)
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL324", 13)]


def test_a_gradient_of_what_only_some_callers_pass_is_no_mistake() -> None:
    source = """
import torch

def gradients(value, *inputs):
    return torch.autograd.grad(value.sum(), inputs)
"""
    assert check_source(source, "program.py", RULES) == []


def test_what_a_body_that_reaches_the_work_limit_led_to_is_not_settled() -> None:
    library = lower_module("def f(x):\n    return x\n", "library.py")
    program = "from library import f\nf(1)\n" + "a = 1\n" * 200

    def entered(limit: int) -> set[tuple[str, str]]:
        extent = Extent()
        analyze(
            lower_module(program, "program.py"),
            lambda _, name, level: library if name == "library" else None,
            ExecutionPlan(limit=limit, single=0),
            extent,
        )
        return extent.entered

    assert entered(limit=10_000) == {("library.py", "f")}
    assert entered(limit=100) == set()
