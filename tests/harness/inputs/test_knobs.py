"""Arguments that backward alone reads: a wrong guess of one is no finding, a mistake that it does not explain is."""

import pytest

from gradcheck_tool.gradcheck import check_function

DECAYED = """
import torch
from torch.autograd import Function


class Decayed(Function):
    @staticmethod
    def forward(ctx, data, shift, kept):
        ctx.save_for_backward(kept)
        return data - data / 2**shift

    @staticmethod
    def backward(ctx, g):
        (kept,) = ctx.saved_tensors
        return g * kept, None, None
"""

CALLER = """

def decay(data):
    kept = torch.tensor({kept})
    return Decayed.apply(data, 2.0, kept)
"""

DEFAULT = """
from torch.autograd import Function


class Tilted(Function):
    @staticmethod
    def forward(ctx, data, tilt=2.0):
        ctx.save_for_backward(data)
        ctx.tilt = tilt
        return data.exp()

    @staticmethod
    def backward(ctx, g):
        (data,) = ctx.saved_tensors
        return ctx.tilt * g * data.exp(), None
"""


@pytest.mark.slow
def test_what_no_output_depends_on_is_not_guessed(found):
    _, made = found(DECAYED)
    assert made.cases == ()
    assert "`kept` changes the gradient and no output" in made.tried[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kept", "reg"])
def test_what_keeps_a_denominator_away_from_zero_is_small(found, name):
    source = (
        DECAYED.replace("2**shift", "4").replace("g * kept", "0.75 * g / (1 + kept)").replace("kept", name)
    )
    function, made = found(source)
    assert bool(made.cases) == (name == "reg"), made.tried
    assert name != "reg" or check_function(function, made.cases[0].args).ok


@pytest.mark.slow
@pytest.mark.parametrize(("kept", "word"), [("0.75", "ok"), ("0.5", "wrong")])
def test_what_a_caller_passes_is_judged(found, kept, word):
    function, made = found(DECAYED + CALLER.format(kept=kept))
    assert made.cases, made.tried
    report = check_function(function, made.cases[0].args, **made.cases[0].options)
    assert {v.verdict for v in report.inputs} == {word}, report.text()


@pytest.mark.slow
def test_a_default_is_no_guess(found):
    function, made = found(DEFAULT)
    report = check_function(function, made.cases[0].args, **made.cases[0].options)
    assert {v.verdict for v in report.inputs} == {"wrong"}, report.text()
