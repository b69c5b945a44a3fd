"""Recorded calls as inputs: what comes first, what no longer fits, whose calls they are."""

import inspect
import sys

import pytest
import torch

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.harness.functions import FunctionRef, Rows
from gradcheck_tool.harness.inputs.case import InputSettings
from gradcheck_tool.harness.inputs.files import fingerprint
from gradcheck_tool.harness.inputs.finding import cases
from gradcheck_tool.harness.record.recorder import Recorder


class Scaled(torch.autograd.Function):
    allowed = 1000

    @staticmethod
    def forward(ctx, x, factor):
        if x.numel() > Scaled.allowed:
            raise ValueError("too many")
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


def ref(filename=None):
    path = filename or str(inspect.getfile(Scaled))
    return FunctionRef(path, Rows(1, 2), "Scaled", "somewhere.else", "/")


@pytest.fixture
def cache(tmp_path):
    end = Recorder(tmp_path).install()
    Scaled.apply(torch.ones(40, 3, requires_grad=True), 2.0)
    Scaled.apply(torch.ones(5, requires_grad=True), 2.0).sum().backward()
    Scaled.apply(torch.ones(2, 1, 1, dtype=torch.float64, requires_grad=True), 3.0)
    end()
    return tmp_path


def settings(cache, **options):
    return InputSettings(cache=str(cache), **options)


def test_calls_with_gradients_come_first_then_small_ones(cache):
    found = cases(Scaled, ref(), settings(cache))
    assert [case.args[0].dim() for case in found.cases] == [1, 3, 2]
    assert all(case.source == "recorded" for case in found.cases)
    (gradient,) = found.cases[0].cotangents
    assert gradient.stride() == (0,)
    assert found.cases[1].cotangents is None
    assert "same outputs" in found.cases[0].note
    assert found.stub == ""


def test_no_more_than_wanted(cache):
    assert len(cases(Scaled, ref(), settings(cache, limit=2)).cases) == 2


def test_calls_that_no_longer_fit_are_left_out(cache, monkeypatch):
    monkeypatch.setattr(Scaled, "allowed", 100)
    found = cases(Scaled, ref(), settings(cache))
    assert len(found.cases) == 2
    assert any("too many" in line for line in found.tried)


def test_another_dtype(cache):
    found = cases(Scaled, ref(), settings(cache, dtype="bfloat16"))
    assert {case.args[0].dtype for case in found.cases} == {torch.bfloat16}
    assert all(case.args[0].requires_grad and case.cotangents is None for case in found.cases)


def test_a_function_of_the_same_name_in_another_file_has_none(cache):
    found = cases(Scaled, ref("/other/file.py"), settings(cache))
    assert all(case.source == "synthesised" for case in found.cases)


def test_the_module_counts_where_an_installed_copy_was_tested(cache):
    other = FunctionRef("/other/file.py", Rows(1, 2), "Scaled", Scaled.__module__, "/")
    assert cases(Scaled, other, settings(cache)).cases[0].source == "recorded"


def test_the_fingerprint_changes_with_the_calls(cache):
    before = fingerprint(ref(), cache)
    assert before
    next(cache.rglob("*.call")).unlink()
    assert fingerprint(ref(), cache) != before
    assert fingerprint(ref(), cache / "nothing") == ""


def test_where_inputs_lie_is_known_without_torch():
    import subprocess

    code = "import sys, gradcheck_tool.harness.inputs.files; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class Held:
    """A function with a parameter, as a module has them."""

    def __init__(self, weight):
        self.weight = weight

    def __call__(self, x):
        return x * self.weight


class Applied(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, x, weight):
        ctx.run = run
        ctx.save_for_backward(x, weight)
        with torch.no_grad():
            return run(x)

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return None, *torch.autograd.grad(ctx.run(x), (x, weight), g)


def recorded(tmp_path, weight, held):
    end = Recorder(tmp_path).install()
    Applied.apply(Held(held), torch.ones(3, requires_grad=True), weight).sum().backward()
    end()
    applied = FunctionRef(ref().filename, Rows(1, 2), "Applied", "somewhere.else", "/")
    return cases(Applied, applied, settings(tmp_path))


def test_a_function_and_its_parameter_stay_together(tmp_path):
    weight = torch.linspace(1, 2, 3).requires_grad_()
    (case,) = recorded(tmp_path, weight, weight).cases
    assert case.args[0].weight is case.args[2]
    report = check_function(Applied, case.args)
    assert [v.verdict for v in report.inputs] == ["ok", "ok"]


@pytest.mark.slow
def test_calls_that_work_with_their_own_tensors_only_are_left_out(tmp_path):
    weight = torch.ones(3, requires_grad=True)
    # What is computed from the parameter is another tensor once both are stored.
    found = recorded(tmp_path, weight, weight * 1)
    assert found.cases == ()
    assert any("new tensors" in line for line in found.tried)
