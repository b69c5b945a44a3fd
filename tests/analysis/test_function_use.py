"""Functions that nothing in a file differentiates: applied as they ordinarily are, which PyTorch confirms."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.running import RULES, findings, happened


class Unapplied(NamedTuple):
    """A Function whose surroundings are somewhere else.

    Attributes:
        wrong: the program; `# <- CODE` marks what is reported.
        old, new: a replacement that makes it right.
        driver: applies it and differentiates the result; fails for the wrong one alone.
    """

    wrong: str
    old: str
    new: str
    driver: str


FUNCTIONS = {
    "a decorator above staticmethod": Unapplied(
        """
import functools
import torch

def contiguous(function):
    @functools.wraps(function)
    def wrapper(ctx, *args):
        return function(ctx, *[arg.contiguous() if torch.is_tensor(arg) else arg for arg in args])
    return wrapper

class Product(torch.autograd.Function):
    @contiguous
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @contiguous
    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y  # <- GL701
""",
        "grad * y",
        "grad * y, grad * x",
        "Product.apply(torch.ones(2, requires_grad=True), torch.ones(2)).sum().backward()",
    ),
    "a backward that several Functions inherit": Unapplied(
        """
import torch

class Surrogate:
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.abs().lt(1), None  # <- GL701

class Spike(Surrogate, torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, threshold):
        ctx.save_for_backward(x)
        return (x > threshold).to(x)

class ManySpikes(Surrogate, torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, threshold, most):
        ctx.save_for_backward(x)
        return (x / threshold).floor().clamp(max=most)
""",
        "abs().lt(1), None",
        "abs().lt(1), None, None",
        "ManySpikes.apply(torch.ones(2, requires_grad=True), 1.0, 3).sum().backward()",
    ),
    "what decorators of the repository wrap": Unapplied(
        """
import functools
import torch

def contiguous(function):
    @functools.wraps(function)
    def wrapper(ctx, *args):
        return function(ctx, *[arg.contiguous() if torch.is_tensor(arg) else arg for arg in args])
    return wrapper

class Product(torch.autograd.Function):
    @staticmethod
    @contiguous
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    @contiguous
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y  # <- GL701
""",
        "grad * y",
        "grad * y, grad * x",
        "Product.apply(torch.ones(2, requires_grad=True), torch.ones(2)).sum().backward()",
    ),
    "gradients that are put together leave the options what they are": Unapplied(
        """
import torch

class Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scale, doubled=False, *parts):
        ctx.scale = scale * 2 if doubled else scale
        ctx.number = len(parts)
        return sum(parts) * ctx.scale

    @staticmethod
    def backward(ctx, grad):
        each = [grad * ctx.scale for _ in range(ctx.number)]
        return tuple([None] * 2 + [tuple(each)])  # <- GL727
""",
        "[tuple(each)]",
        "each",
        "Total.apply(2.0, True, torch.ones(1, requires_grad=True)).sum().backward()",
    ),
    "it is applied in sight to what may need no gradient": Unapplied(
        """
import torch

class Affine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, shift):
        ctx.scale = scale
        return x * scale + shift

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.scale, None  # <- GL701

def affine(x):
    return Affine.apply(x, 2.0, 3.0)
""",
        "ctx.scale, None",
        "ctx.scale, None, None",
        "affine(torch.ones(2, requires_grad=True)).sum().backward()",
    ),
    "all applications give an option that has a default": Unapplied(
        """
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, inverse=False):
        ctx.factor = 1 / factor if inverse else factor
        return x * ctx.factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None  # <- GL701

def scale(x):
    return Scale.apply(x, 2.0, True)
""",
        "ctx.factor, None",
        "ctx.factor, None, None",
        "scale(torch.ones(2, requires_grad=True)).sum().backward()",
    ),
    "a tuple of gradients is one of the gradients": Unapplied(
        """
import torch

class Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scale, *parts):
        ctx.scale, ctx.number = scale, len(parts)
        return sum(parts) * scale

    @staticmethod
    def backward(ctx, grad):
        parts = tuple([grad * ctx.scale] * ctx.number)
        return tuple([None] + [parts])  # <- GL727
""",
        "[None] + [parts]",
        "[None] + list(parts)",
        "Total.apply(2.0, *torch.ones(3, 2, requires_grad=True)).sum().backward()",
    ),
    "the flags of two inputs are mixed up": Unapplied(
        """
import torch

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, turned, *args):
        left, right, *rest = args
        ctx.save_for_backward(left, right)
        return left @ right

    @staticmethod
    def backward(ctx, grad):
        left, right = ctx.saved_tensors
        of_left = of_right = None
        if ctx.needs_input_grad[2]:  # <- GL720
            of_left = grad @ right.t()
        if ctx.needs_input_grad[1]:  # <- GL720
            of_right = left.t() @ grad
        return tuple([None] + [of_left, of_right])
""",
        """[2]:  # <- GL720
            of_left = grad @ right.t()
        if ctx.needs_input_grad[1]""",
        """[1]:
            of_left = grad @ right.t()
        if ctx.needs_input_grad[2]""",
        "a = torch.ones(2, 2, requires_grad=True); Product.apply(False, a, torch.ones(2, 2)).sum().backward(); "
        "assert a.grad is not None, 'no gradient'",
    ),
}


def _codes(source: str) -> list[tuple[int, str]]:
    found = check_source(source, "program.py", RULES)
    return sorted((finding.location.start.row, finding.code) for finding in found)


def _rows(source: str) -> list[tuple[int, str]]:
    return [(n, line.split("# <- ")[1]) for n, line in enumerate(source.splitlines(), 1) if "# <- " in line]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_mistake_is_found_and_the_right_program_is_quiet(name: str) -> None:
    case = FUNCTIONS[name]
    right = case.wrong.replace(case.old, case.new)
    assert _codes(case.wrong) == _rows(case.wrong)
    assert right != case.wrong
    assert _codes(right) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_pytorch_agrees_once_it_is_applied(name: str) -> None:
    pytest.importorskip("torch")
    case = FUNCTIONS[name]
    assert happened(f"{case.wrong}\n{case.driver}\n")[1]
    assert happened(f"{case.wrong.replace(case.old, case.new)}\n{case.driver}\n") == (None, "")


QUIET = {
    "what is None by default is left out": """
import torch

class Group(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, index, counts=None, index_counts=None):
        ctx.is_stacked = counts is not None and index_counts is not None
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        if ctx.is_stacked:
            return grad * 2, None, None, None
        return grad * 2, None
""",
    "a Function that is never differentiated has no backward": """
import torch

class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()
""",
    "one flag stands for inputs that belong together": """
import torch

class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, real, imaginary):
        return x + real + imaginary

    @staticmethod
    def backward(ctx, grad):
        of_x = of_real = of_imaginary = None
        if ctx.needs_input_grad[0]:
            of_x = grad
        if ctx.needs_input_grad[1]:
            of_real, of_imaginary = grad, grad
        return of_x, of_real, of_imaginary
""",
    "as many gradients as its callers give it tensors": """
import torch

class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *parts):
        return sum(parts)

    @staticmethod
    def backward(ctx, grad):
        return grad, grad
""",
}


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_of_what_callers_may_make_right(name: str) -> None:
    assert _codes(QUIET[name]) == []


# A Function whose methods are class methods: PyTorch calls them through the class.
OF_CLASS = """
import torch

class Square(torch.autograd.Function):
    @classmethod
    def forward(cls, ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * scale

    @classmethod
    def backward(cls, ctx, cotangent):
        (x,) = ctx.saved_tensors
        return {returned}
"""
DRIVER = "x = torch.ones(3, requires_grad=True)\nSquare.apply(x, 2.0).sum().backward()\n"


@pytest.mark.parametrize("driver", ["", DRIVER])
def test_class_methods_get_the_class_first(driver: str) -> None:
    right = OF_CLASS.format(returned="2 * x * ctx.scale * cotangent, None") + driver
    wrong = OF_CLASS.format(returned="2 * x * ctx.scale * cotangent") + driver
    assert happened(right + DRIVER) == (None, "")
    assert check_source(right, "program.py", RULES) == []
    assert "returned an incorrect number of gradients" in happened(wrong + DRIVER)[1]
    assert [(f.location.start.row, f.code) for f in check_source(wrong, "program.py", RULES)] == [
        (14, "GL701")
    ]


MASKED = """
import torch

class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask, padding=0, stride=1):
        return x * mask

    @staticmethod
    def backward(ctx, cotangent):
        return {returned}
"""


@pytest.mark.parametrize(("count", "codes"), [(1, ["GL701"]), (2, []), (3, []), (4, [])])
def test_options_may_be_left_out_of_an_application(count: int, codes: list[str]) -> None:
    program = MASKED.format(returned=f"(None,) * {count}")
    driver = f"Masked.apply({', '.join(['torch.ones(2, requires_grad=True), 2.0, 0, 1'][:1])})"
    assert [f.code for f in check_source(program, "program.py", RULES)] == codes
    raised = happened(f"{program}\n{driver}.sum().backward()")[1]
    assert ("incorrect number of gradients" in raised) is (count < 4)


BASE = """
import torch
class Base(torch.autograd.Function):
    @staticmethod
    def forward({parameters}, x, weight, loss, scale=1.0):
        ctx.save_for_backward(x, weight)
        return (x * weight).sum() * scale
    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad * weight, grad * x
"""


@pytest.mark.parametrize(("parameters", "expected"), [("cls, ctx", []), ("ctx", ["GL701"])])
def test_a_forward_for_subclasses_to_call_is_not_applied(parameters: str, expected: list[str]) -> None:
    """`apply` passes the context first: where it is expected second, subclasses hand it on."""
    found = check_source(BASE.format(parameters=parameters), "program.py", RULES)
    assert [finding.code for finding in found] == expected


OPTIONS = """import torch
class Options:
    slope = 2.0
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, options=Options()):
        ctx.slope = options.slope
        return x * y * ctx.slope
    @staticmethod
    def backward(ctx, grad):
        return {}
"""


@pytest.mark.parametrize(
    ("returned", "codes"),
    [
        ("grad if ctx.needs_input_grad[0] else None, grad, None", []),
        ("grad if ctx.needs_input_grad[0] else None, grad, None, None, grad", ["GL701"]),
    ],
)
def test_an_object_may_be_the_default_of_a_parameter(returned: str, codes: list[str]) -> None:
    assert [code for _, code in findings(OPTIONS.format(returned))] == codes


@pytest.mark.parametrize(("count", "codes"), [(2, []), (3, []), (1, ["GL701"])])
def test_nobody_gives_an_option_that_no_gradient_is_returned_for(count: int, codes: list[str]) -> None:
    program = MASKED.format(returned=f"(None,) * {count}").replace("padding=0, stride=1", "fast=True")
    program = program.replace("return x * mask", "return x * mask if fast else x - mask")
    assert [f.code for f in check_source(program, "program.py", RULES)] == codes
