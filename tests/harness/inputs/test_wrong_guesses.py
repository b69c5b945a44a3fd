"""No error that a wrong guess of the arguments could bring is reported for made-up ones.

For each code that is an error by default: a Function that is right where it is used and that a wrong guess would
show with that code, or why no guess matters.
"""

import textwrap

import pytest

from gradcheck_tool.codes import CODES
from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck import check_function

HEAD = "import torch\nfrom torch.autograd import Function\n\n\n"

WRONG_GUESS = {
    "GC101": """
        class Decayed(Function):
            @staticmethod
            def forward(ctx, data, shift, kept):
                ctx.save_for_backward(kept)
                return data - data / 2**shift

            @staticmethod
            def backward(ctx, g):
                (kept,) = ctx.saved_tensors
                return g * kept, None, None
    """,
    "GC102": """
        class Weighted(Function):
            @staticmethod
            def forward(ctx, x, weight):
                ctx.save_for_backward(weight)
                return x * weight

            @staticmethod
            def backward(ctx, g):
                (weight,) = ctx.saved_tensors
                return g * weight, None
    """,
    "GC103": """
        class ValueWithSlope(Function):
            @staticmethod
            def forward(ctx, x, value, slope):
                ctx.save_for_backward(slope)
                return value.clone()

            @staticmethod
            def backward(ctx, g):
                (slope,) = ctx.saved_tensors
                return g * slope, None, None
    """,
    "GC104": """
        class Bounded(Function):
            @staticmethod
            def forward(ctx, x, bound):
                ctx.save_for_backward(x)
                ctx.bound = float(bound)
                return x.sin()

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return (g * x.cos()).clamp(-ctx.bound, ctx.bound), None
    """,
    "GC105": """
        class Entropy(Function):
            @staticmethod
            def forward(ctx, p):
                ctx.save_for_backward(p)
                return -(p * p.log()).sum(-1)

            @staticmethod
            def backward(ctx, g):
                (p,) = ctx.saved_tensors
                return -g.unsqueeze(-1) * (1 + p.log())
    """,
    "GC206": """
        class Gathered(Function):
            @staticmethod
            def forward(ctx, values, weights):
                ctx.save_for_backward(values, weights)
                return values * weights

            @staticmethod
            def backward(ctx, g):
                values, weights = ctx.saved_tensors
                return g * weights, (g * values).sum(-1, keepdim=True)
    """,
    "GC302": """
        class Asks(Function):
            @staticmethod
            def forward(ctx, x, plan):
                if plan.secret != "a word that nobody can guess":
                    raise ValueError("no plan")
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2, None
    """,
}

INDEPENDENT = {
    "GC106": "the same values in another memory layout are as good",
    "GC109": "two rules of the Function are compared at one point",
    "GC110": "two ways to make one call are compared",
    "GC111": "the same call, with other inputs that require grad",
    "GC201": "what forward writes to it writes to in any call",
    "GC202": "what backward writes to it writes to in any call",
    "GC208": "the same call twice",
    "GC210": "the same call in another mode",
    "GC301": "the same call twice",
}

WEAKER = {"GC304", "GC305", "GC306"}
"""Warnings for made-up arguments; see `test_isolation`."""


def test_every_error_is_listed():
    errors = {code for code, entry in CODES.items() if entry.severity is Severity.ERROR and code[:2] == "GC"}
    assert errors == {*WRONG_GUESS, *INDEPENDENT, *WEAKER}


@pytest.mark.parametrize("code", WRONG_GUESS)
def test_a_wrong_guess_is_no_finding(found, code):
    function, made = found(HEAD + textwrap.dedent(WRONG_GUESS[code]).strip() + "\n")
    told = [f for c in made.cases for f in check_function(function, c.args, **c.options).findings]
    errors = [f.message for f in told if f.severity is Severity.ERROR]
    assert errors == []
    assert made.cases or made.tried


COUPLED = """
import torch
from torch.autograd import Function


class Coupled(Function):
    @staticmethod
    def forward(ctx, x, run_function):
        ctx.run_function = run_function
        ctx.save_for_backward(x)
        with torch.no_grad():
            return x + run_function(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = ctx.run_function(x)
        (inner,) = torch.autograd.grad(y, x, g)
        return {gradient}, None
"""


@pytest.mark.parametrize(
    ("gradient", "word"), [("g + inner", "ok"), ("0.9 * (g + inner)", "wrong"), ("g + inner.abs()", None)]
)
def test_a_factor_is_wrong_for_every_function_that_might_be_passed(found, gradient, word):
    function, made = found(COUPLED.format(gradient=gradient))
    assert bool(made.cases) == (word is not None), made.tried
    for case in made.cases:
        report = check_function(function, case.args, **case.options)
        assert {v.verdict for v in report.inputs} == {word}, report.text()
