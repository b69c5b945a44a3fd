"""What a try with guessed arguments shows: mistakes that all arguments meet, shapes, compiled code."""

import sys

import pytest
import torch

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.harness.discovery import Discovery
from gradcheck_tool.harness.inputs.case import InputSettings
from gradcheck_tool.harness.inputs.finding import cases
from gradcheck_tool.harness.loading import load_function

TUPLES = """
import torch
from torch.autograd import Function


class {name}(Function):
    @staticmethod
    def forward(ctx, x, dim=-1):
        ctx.dim = dim
        ctx.save_for_backward(x)
        return x.logsumexp(dim)

    @staticmethod
    def backward(ctx, g):
        x, dim = ctx.saved_tensors, ctx.dim
        return {gradient}, None
"""

WEIGHTED = """
import torch
from torch.autograd import Function


class Weighted(Function):
    @staticmethod
    def forward(ctx, x, weights):
        ctx.save_for_backward(x, weights)
        return torch.relu(x).square() * weights

    @staticmethod
    def backward(ctx, g):
        x, weights = ctx.saved_tensors
        relu = torch.relu(x)
        return 2 * g * relu * weights, (g * relu.square()).sum(dim=-1, keepdim=True)
"""

COMPILED = """
import torch
from torch.autograd import Function


def refuses(graph, inputs):
    raise RuntimeError("no compiler here")


@torch.compile(backend=refuses)
def square(x):
    return x * x


class Compiled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return square(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x
"""


@pytest.fixture
def found(tmp_path):
    """A Function of a program, and the arguments that are made up for it."""
    path, modules = list(sys.path), set(sys.modules)

    def run(source):
        file = tmp_path / "to_be_tried.py"
        file.write_text(source)
        (ref,) = Discovery().functions([file])
        function = load_function(ref)
        return function, cases(function, ref, InputSettings())

    yield run
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name == "to_be_tried":
            del sys.modules[name]


@pytest.mark.parametrize("gradient", ["g.unsqueeze(dim) * x.softmax(dim)", "g.unsqueeze(dim) * x"])
def test_saved_tensors_that_are_not_unpacked_fail_whatever_the_arguments_are(found, gradient):
    function, made = found(TUPLES.format(name="Packed", gradient=gradient))
    (case,) = made.cases
    report = check_function(function, case.args, **case.options)
    (finding,) = [f for f in report.findings if f.code == "GC206"]
    assert finding.severity is Severity.ERROR


def test_shape_of_a_gradient_tells_that_of_its_argument(found):
    function, made = found(WEIGHTED)
    assert made.cases
    x, weights = made.cases[0].args
    assert weights.shape == (*x.shape[:-1], 1)
    assert check_function(function, made.cases[0].args).ok


def test_compiled_parts_run_as_they_are_written_while_arguments_are_tried(found):
    function, made = found(COMPILED)
    assert made.cases
    with pytest.raises(Exception, match="no compiler here"):
        function.apply(torch.ones(3, requires_grad=True))
