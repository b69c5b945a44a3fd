"""What is wrong with how a custom Function is called, and with what its methods have done."""

from __future__ import annotations

import pytest

from tests.cases import each
from tests.running import Analysis, happened

SCALE = """
import torch
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor=2):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2, None
"""


def _kinds(source: str) -> dict[str, list[int]]:
    """The rows of each kind of defect."""
    analysis = Analysis(source)
    found: dict[str, list[int]] = {}
    for event in analysis.of("FunctionDefect"):
        found.setdefault(event.kind, []).append(analysis.row(event))
    return found


CALLS = {
    "a call of forward": ("Scale.forward(None, x)", "direct-forward"),
    "a call of apply": ("Scale.apply(x)", ""),
    "a call of forward without gradients": ("Scale.forward(None, x.detach())", ""),
    "tensors in a list": ("Scale.apply(x, [x * 3])", "hidden-tensors"),
    "numbers in a list": ("Scale.apply(x, [3.0])", ""),
}


@each(CALLS)
def test_what_a_call_gets_wrong(program: tuple[str, str]) -> None:
    call, kind = program
    source = f"{SCALE}x = torch.ones(2, requires_grad=True)\n{call}\n"
    assert _kinds(source) == ({kind: [source.count("\n")]} if kind else {})


@pytest.mark.parametrize(("gradient", "reported"), [("None", False), ("grad", True)])
def test_statistics_that_have_no_gradient_may_be_written_to(gradient: str, reported: bool) -> None:
    source = f"""
import torch
class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, running):
        running.copy_(0.9 * running + 0.1 * x.mean(0))
        return x - running
    @staticmethod
    def backward(ctx, grad):
        return grad, {gradient}
x = torch.ones(3, 2, requires_grad=True)
Norm.apply(x * 1, torch.zeros(2)).sum().backward()
"""
    assert ("unmarked-write" in _kinds(source)) is reported
    assert happened(source) == (None, "")


TILED = """
import torch
class Tiled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x, weights):
        ctx.run = run
        ctx.save_for_backward(x)
        return run(x)
    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.run(x)
        {collect}
        return None, x.grad, None
w = torch.ones(2, requires_grad=True)
x = torch.ones(2, requires_grad=True)
Tiled.apply(lambda x: x * w, x, [w]).sum().backward()
assert w.grad is not None
"""


@pytest.mark.parametrize(
    ("collect", "raised"),
    [
        ("torch.autograd.backward(y, grad)", None),
        ("x.grad, = torch.autograd.grad(y, x, grad)", "AssertionError"),
    ],
)
def test_a_backward_that_runs_another_fills_the_gradients_of_what_is_hidden(
    collect: str, raised: str | None
) -> None:
    source = TILED.format(collect=collect)
    assert ("hidden-tensors" in _kinds(source)) is (raised is not None)
    assert (happened(source)[0] is not None) is (raised is not None)


def test_a_class_that_is_no_function_has_no_defects() -> None:
    plain = SCALE.replace("class Scale(torch.autograd.Function)", "class Scale")
    assert _kinds(f"{plain}Scale.forward(None, torch.ones(2, requires_grad=True))\n") == {}


SAVED = """
import torch
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward({first})
        ctx.save_for_backward({second})
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
Twice.apply(a, b).sum(){backward}
"""


@pytest.mark.parametrize(("first", "second", "lost"), [("x", "y", True), ("x", "x, y", False)])
def test_what_is_saved_last_replaces_what_was_saved_before(first: str, second: str, lost: bool) -> None:
    source = SAVED.format(first=first, second=second, backward="")
    assert ("save-twice" in _kinds(source)) is lost
    raised = happened(SAVED.format(first=first, second=second, backward=".backward()"))[1]
    assert ("not enough values to unpack" in raised) is lost


WITHHELD = """
import torch
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        for_x = for_y = None
        if ctx.needs_input_grad[0]:
            for_x = grad * y
        if ctx.needs_input_grad[{asked}]:
            for_y = grad * x
        return for_x, for_y
a, b = torch.ones(2), torch.ones(2, requires_grad=True)
Product.apply(a, b).sum().backward()
symptom = b.grad is None
"""


@pytest.mark.parametrize(("asked", "withheld"), [(0, True), (1, False)])
def test_a_gradient_that_only_comes_in_company_is_missing(asked: int, withheld: bool) -> None:
    source = WITHHELD.format(asked=asked)
    assert ("none-for-input" in _kinds(source)) is withheld
    assert happened(f"{source}assert symptom is {withheld}\n") == (None, "")


CONTEXT = """
import torch
class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        slope = x.cos()
        ctx.save_for_backward({saved})
        return x.sin()

    @staticmethod
    def backward(ctx, grad):
        (saved,) = ctx.saved_tensors
        return grad * {slope}
x = torch.ones(2, requires_grad=True)
Sine.apply(x).sum().backward(create_graph={create})
"""


@pytest.mark.parametrize(
    ("saved", "slope", "create", "kept"),
    [("slope", "saved", True, True), ("slope", "saved", False, False), ("x", "saved.cos()", True, False)],
)
def test_what_forward_computed_is_a_constant_of_the_second_derivative(
    saved: str, slope: str, create: bool, kept: bool
) -> None:
    source = CONTEXT.format(saved=saved, slope=slope, create=create)
    assert ("intermediate-kept" in _kinds(source)) is kept
    assert happened(f"{source}assert x.grad.requires_grad is {create and not kept}\n") == (None, "")


@pytest.mark.parametrize(
    ("before", "write", "reported"),
    [
        ("grad = grad.unsqueeze(-1)", "grad.unsqueeze_(-1)", False),
        ("grad = grad.unsqueeze(-1)", "grad.mul_(2)", True),
        ("pass", "grad.unsqueeze_(-1)", True),
    ],
)
def test_the_sizes_of_a_view_of_a_gradient_are_its_own(before: str, write: str, reported: bool) -> None:
    source = SCALE.replace("return grad * 2, None", f"{before}; {write}; return grad.sum(), None")
    run = "x = torch.ones(2, requires_grad=True)\n(Scale.apply(x) + x).sum().backward()\n"
    assert ("writes-cotangent" in _kinds(source + run)) is reported


KEPT = """import torch

class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        y = x.exp()
        ctx.save_for_backward(x, y, weight)
        return y * weight

    @staticmethod
    def backward(ctx, grad):
        x, y, weight = ctx.saved_tensors
        {}
        return grad * y * weight, (grad * y).sum()

x = torch.ones(2, requires_grad=True)
weight = torch.ones(1, requires_grad=True)
Gate.apply(x * 2, weight).sum().backward()
"""


@pytest.mark.parametrize(
    ("write", "reported"),
    [
        ("x[x < 0] = 0", True),
        ("weight.mul_(2)", True),
        ("y.mul_(2)", False),
        ("x.data.mul_(2)", False),
        ("x = x.clone(); x[x < 0] = 0", False),
    ],
)
def test_a_backward_that_writes_to_what_apply_was_given(write: str, reported: bool) -> None:
    """What forward has computed itself is nobody else's, and a write past autograd is meant."""
    assert ("writes-saved" in _kinds(KEPT.format(write))) is reported


# What forward asks of a tensor that it has made of its inputs.
ASKED = {
    "computed": ("out = x * factor", "out.requires_grad", True),
    "converted, which may be the input itself": ("out = x.float().contiguous()", "out.requires_grad", False),
    "a view, which needs what its base needs": ("out = x.view(-1)", "out.requires_grad", False),
    "an input": ("out = x * factor", "x.requires_grad", False),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_forward_has_computed_needs_no_gradient_there(name: str) -> None:
    made, asked, told = ASKED[name]
    source = SCALE.replace("return x * 2", f"{made}\n        seen = {asked}\n        return x * 2")
    kinds = _kinds(f"{source}\nx = torch.ones(2, requires_grad=True)\nScale.apply(x, 3)\n")
    assert ("grad-mode-in-forward" in kinds) is told
    flags: list[bool] = []
    runs = source.replace(f"seen = {asked}", f"flags.append({asked})")
    exec(f"{runs}\nScale.apply(torch.ones(2, requires_grad=True), 3)", {"flags": flags})
    assert flags == [not told]


@pytest.mark.parametrize(("size", "withheld"), [(0, False), (1, True)])
def test_what_has_no_elements_only_makes_the_backward_run(size: int, withheld: bool) -> None:
    source = f"""
import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, phony):
        return x * 2, phony

    @staticmethod
    def backward(ctx, grad, grad_phony):
        return grad * 2, None

Double.apply(torch.ones(2), torch.empty({size}, requires_grad=True))[0].sum().backward()
"""
    assert ("none-for-input" in _kinds(source)) is withheld
