"""What hides a mistake: words that speak of something else, copies that callers make, state, freed memory."""

import os
from pathlib import Path

import pytest
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck import check_function
from tests.gradcheck.published import SumsTo
from tests.gradcheck.zoo import r, u


def _codes(report, *severities):
    return {f.code for f in report.findings if not severities or f.severity in severities}


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.data)  # goes around the version counter
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2.0 * x * x


class CubeBesideAnother(Cube):
    """Cube. (The STE variant lives in another module.)"""


class CubeWithWord(Function):
    # STE
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2.0 * x * x


class CubeClipped(CubeWithWord):
    """Cube whose gradient is clipped at 1000."""

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 4.0 * x * x


class CubeFixedPoint(CubeWithWord):
    """Cube, as a fixed-point iteration would give it."""


class CubeNoSurrogate(CubeWithWord):
    """Cube; the gradient is no surrogate."""


class CubeOfScores(CubeWithWord):
    """Cube, for losses that compute relevance labels."""


class CubeGuided(CubeWithWord):
    """Cube, for guided backpropagation."""


_CUBES = [
    Cube,
    CubeBesideAnother,
    CubeWithWord,
    CubeClipped,
    CubeFixedPoint,
    CubeNoSurrogate,
    CubeOfScores,
    CubeGuided,
]


@pytest.mark.parametrize("klass", _CUBES)
def test_words_excuse_only_what_they_speak_of(klass):
    assert "GC101" in _codes(check_function(klass, (u(4),)), Severity.ERROR)


class SingleUse(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = x.detach().cos()
        return x.sin()

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        kept = ctx.kept
        del ctx.kept
        return g * kept


def test_a_second_backward_that_raises_is_warned_of():
    report = check_function(SingleUse, (u(4),))
    assert report.ok
    assert _codes(report, Severity.WARNING) == {"GC207"}


class WritesInput(Function):
    @staticmethod
    def forward(ctx, x):
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_a_write_to_an_input_is_seen_behind_the_copy_of_a_caller():
    assert "GC201" in _codes(check_function(lambda x: WritesInput.apply(x.clone()), (u(4),)), Severity.ERROR)


class MarksInput(WritesInput):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)


def test_a_declared_write_behind_a_copy_is_none():
    report = check_function(lambda x: MarksInput.apply(x.clone()), (u(4),))
    assert report.ok, report.text()
    assert "GC201" not in _codes(report)


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Scaled(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


def test_an_identity_whose_gradient_has_a_factor_that_nothing_speaks_of_is_a_warning():
    assert _codes(check_function(Doubled, (u(4),)), Severity.WARNING) == {"GC190"}
    assert _codes(check_function(Scaled, (u(4), 2.0)), Severity.WARNING) == set()


class Reversible(Function):
    """Frees its input and computes it again."""

    factor = 1.0

    @classmethod
    def gradient(cls, g, y):
        return cls.factor * g * y

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.size = x.untyped_storage().nbytes()
        ctx.x = x
        ctx.save_for_backward(y)
        x.untyped_storage().resize_(0)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        x = ctx.x.detach()
        x.untyped_storage().resize_(ctx.size)
        x.copy_(y.log())
        return g * x.exp()


class ReversibleWrong(Reversible):
    @staticmethod
    def backward(ctx, g):
        return 2 * Reversible.backward(ctx, g)


def test_a_function_that_frees_its_input_is_checked():
    report = check_function(Reversible, (u(4),))
    assert report.ok, report.text()
    assert "GC101" in _codes(check_function(ReversibleWrong, (u(4),)), Severity.ERROR)


class SetsState(Function):
    @staticmethod
    def forward(ctx, x):
        torch.set_default_dtype(torch.float16)
        torch.manual_seed(0)
        os.chdir("/")
        return x * 2

    @staticmethod
    def backward(ctx, g):
        torch.set_grad_enabled(False)
        torch.set_num_threads(1)
        return g * 2


def test_what_a_function_sets_for_the_whole_process_is_told_and_put_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = check_function(SetsState, (u(4),))
    told = " ".join(f.message for f in report.findings if f.code == "GC212")
    assert "default dtype" in told
    assert "seed" in told
    assert "working folder" in told
    assert torch.get_default_dtype() is torch.float32
    assert Path.cwd() == tmp_path
    assert torch.is_grad_enabled()


class Right(Function):
    @staticmethod
    def forward(ctx, x):
        with torch.no_grad():
            return x * torch.rand(())

    @staticmethod
    def backward(ctx, g):
        return g


def test_draws_and_modes_of_a_block_are_no_change_of_state():
    assert "GC212" not in _codes(check_function(Right, (u(4),)))


class SumsToAndMore(SumsTo):
    @staticmethod
    def backward(ctx, g):
        return 1.3 * SumsTo.backward(ctx, g)[0], None, None


def test_a_solver_that_moves_in_jumps_excuses_no_wrong_gradient():
    assert not check_function(SumsToAndMore, (r(3, 6), 2, 1e-4)).ok
