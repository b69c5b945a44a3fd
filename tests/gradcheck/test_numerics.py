"""Finite differences: error bars that hold, steps that fit, large and small inputs, low precision."""

import numpy as np
import pytest
import torch
from torch.autograd import Function

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.gradcheck.evidence import localise
from gradcheck_tool.gradcheck.probes import Draws
from gradcheck_tool.gradcheck.problem import Evaluations, Problem, Shared
from gradcheck_tool.gradcheck.rng import RandomState
from gradcheck_tool.gradcheck.stencil import Gap, _verdict, judge, ladder, slope

D = torch.float64
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


def problem(function, *values):
    shared = Shared(Evaluations(), RandomState([]))
    return Problem(
        function, tuple(values), lambda new: (tuple(new), {}), tuple(range(len(values))), (0,), shared
    )


SMOOTH = {
    "sin": torch.sin,
    "exp": torch.exp,
    "softmax": lambda x: x.softmax(-1),
    "layernorm": lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
    "cube": lambda x: x**3,
    "tanh": torch.tanh,
    "gelu": torch.nn.functional.gelu,
    "logsumexp": lambda x: x.logsumexp(-1),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", SMOOTH)
def test_right_gradients_are_never_called_wrong(name, dtype):
    for seed in range(6):
        draws = Draws(seed)
        x = draws.cotangent([torch.empty(6, 8, dtype=dtype)])[0] * 2
        p = problem(SMOOTH[name], x)
        v = draws.cotangent(p.forward([x]))
        verdict = judge(p, [x], draws.direction([x]), [(v, p.vjp([x], v))])[0]
        assert not verdict.wrong, (seed, verdict)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("name", SMOOTH)
def test_a_tenth_of_a_percent_is_noticed(name, dtype):
    draws = Draws(3)
    x = draws.cotangent([torch.empty(6, 8, dtype=dtype)])[0] * 2
    p = problem(SMOOTH[name], x)
    v = draws.cotangent(p.forward([x]))
    (right,) = p.vjp([x], v)
    u = right.double().sign() * 0.7
    wrong = judge(p, [x], [u], [(v, [right * 1.001 if dtype is D else right * 1.01])])[0]
    assert wrong.wrong, wrong


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_step_follows_the_scale_of_the_input(scale):
    x = (torch.rand(20, dtype=D, generator=torch.Generator().manual_seed(1)) + 0.5) * scale
    p = problem(torch.reciprocal, x)
    draws = Draws(0)
    v = draws.cotangent(p.forward([x]))
    verdict = judge(p, [x], draws.direction([x]), [(v, p.vjp([x], v))])[0]
    assert verdict.verdict == "agree"
    assert verdict.gap.error < 1e-8 * abs(verdict.gap.numeric)


def test_noise_inside_the_function_widens_the_error_bar():
    x = torch.linspace(-1, 1, 50, dtype=D)
    exact, noisy = problem(torch.sin, x), problem(lambda t: t.float().sin().double(), x)
    direction = Draws(0).direction([x])
    step = ladder([x], exact.forward([x]))[0]
    v = [torch.ones_like(x)]
    bars = [slope(p, [x], direction, step).gap(v, [x.cos()]) for p in (exact, noisy)]
    assert bars[1].error > 1e4 * bars[0].error
    assert all(gap.explained for gap in bars)


@pytest.mark.parametrize(
    ("gaps", "verdict"),
    [
        ([(1.0, 0.1), (1.0, 0.1)], "wrong"),
        # Once is a point that the largest step alone reaches, or chance.
        ([(1.0, 0.1), (0.0, 0.9)], "unclear"),
        ([(1.0, 0.1), (0.0, 0.9), (0.0, 0.9)], "unclear"),
        # A mistake keeps its size, a jump of the function does not.
        ([(1.0, 0.1), (4.0, 0.1), (16.0, 0.1)], "unclear"),
        # A sharper measurement has the last word.
        ([(1.0, 0.1), (1.0, 0.1), (0.0, 0.01)], "agree"),
        ([(0.0, 1e-6), (0.0, 1e-6)], "agree"),
    ],
)
def test_a_disagreement_is_proven_by_steps_that_agree(gaps, verdict):
    """Each gap is a disagreement with a gradient of ten, and its error bar."""
    assert _verdict([Gap(10.0, 10.0 - size, error) for size, error in gaps]).verdict == verdict


class SparseError(Function):
    """One wrong entry, invisible to autograd through the body: numpy inside."""

    wrong = (77,)

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.tanh(x.detach().numpy()))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        out = g * (1 - torch.tanh(x) ** 2)
        for k in SparseError.wrong:
            out.view(-1)[k] *= 1.1
        return out


@pytest.mark.parametrize("wrong", [(0,), (77,), (4095,), (5, 1000, 3000)], ids=str)
def test_group_testing_finds_wrong_entries_in_few_evaluations(wrong, monkeypatch):
    monkeypatch.setattr(SparseError, "wrong", wrong)
    x = torch.linspace(-2, 2, 4096, dtype=D)
    p = problem(SparseError.apply, x)
    draws = Draws(1)
    v = draws.cotangent(p.forward([x]))
    (analytic,) = p.vjp([x], v)
    before = p.shared.count.forwards
    found, dense = localise(p, v, analytic, 0, draws)
    assert sorted(found) == sorted(wrong)
    assert not dense
    assert p.shared.count.forwards - before < 220 * len(wrong)


class MatMul(Function):
    """A float32 matrix product whose first gradient is off by a thousandth in one entry."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga = g @ b.T
        ga[10, 20] *= 1.001
        return ga, a.T @ g


def test_one_entry_of_a_large_float32_product_is_located():
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(128, 128, generator=generator).requires_grad_() for _ in range(2))
    report = check_function(MatMul, (a, b), variations=False, contracts=False, second_order=False)
    (finding,) = [f for f in report.findings if f.code == "GC101"]
    assert finding.evidence["index"] == [10, 20]
    assert report.evaluations.total < 300


class Block(Function):
    """A bfloat16 block that is five percent off, in that precision only."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga = g @ b.T
        if g.dtype == torch.bfloat16:
            ga[32:64, 32:64] *= 1.05
        return ga, a.T @ g


def test_a_block_in_bfloat16_is_located():
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(128, 128, generator=generator).bfloat16().requires_grad_() for _ in range(2))
    report = check_function(Block, (a, b), variations=False, contracts=False, second_order=False)
    finding = next(f for f in report.findings if f.severity.value != "info")
    row, column = finding.evidence["index"]
    assert 32 <= row < 64
    assert 32 <= column < 64


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_inputs_are_checked_on_their_device():
    x = torch.linspace(-2, 2, 64, device="cuda", requires_grad=True)

    class Sine(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * g * x.cos()

    report = check_function(Sine, (x,))
    assert report.findings[0].device.startswith("cuda")
    assert report.findings[0].evidence["ratio"] == pytest.approx(2)


def _bfloat16_only(function):
    """`function` as a kernel that exists in bfloat16 only and hides its graph."""

    def forward(ctx, x):
        assert x.dtype is torch.bfloat16
        ctx.save_for_backward(x)
        with torch.no_grad():
            return function(x)

    return forward


def _tanh_gradient(ctx, g):
    (x,) = ctx.saved_tensors
    return (g.float() * (1 - x.float().tanh() ** 2)).to(g.dtype)


@pytest.mark.parametrize(("times", "word"), [(1.0, None), (1.3, "factor"), (-1.0, "sign"), (0.0, "zero")])
def test_an_opaque_bfloat16_kernel_is_judged_from_many_probes(times, word):
    kernel = type(
        "Kernel",
        (Function,),
        {
            "forward": staticmethod(_bfloat16_only(lambda x: x.float().tanh().to(x.dtype))),
            "backward": staticmethod(lambda ctx, g: times * _tanh_gradient(ctx, g)),
        },
    )
    x = torch.linspace(-1.5, 1.5, 256).reshape(16, 16).to(torch.bfloat16).requires_grad_()
    report = check_function(kernel, (x,))
    words = [f.evidence["diagnosis"] for f in report.findings if f.severity is Severity.ERROR]
    assert words == ([] if word is None else [word])
    assert report.conclusive
    if word is None:
        assert report.inputs[0].factor < 0.1
