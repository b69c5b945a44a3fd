"""Modules and their parameters as arguments of the same call."""

import pytest
import torch
from torch.autograd import Function

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.gradcheck.held import held_by_others


def _replayed(factor):
    class Replayed(Function):
        """Runs a module without a graph, and again in backward."""

        @staticmethod
        def forward(ctx, run, x, *weights):
            ctx.run = run
            ctx.save_for_backward(x, *weights)
            return run(x)

        @staticmethod
        def backward(ctx, g):
            x, *weights = ctx.saved_tensors
            with torch.enable_grad():
                x = x.detach().requires_grad_()
                y = ctx.run(x)
            wanted = [x, *(w for w in weights if w.requires_grad)]
            got = dict(zip(map(id, wanted), torch.autograd.grad(y, wanted, g), strict=True))
            return None, got[id(x)], *(factor * got[id(w)] if id(w) in got else None for w in weights)

    return Replayed


def _arguments():
    torch.manual_seed(0)
    module = torch.nn.Linear(3, 2).double()
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    return module, x, *module.parameters()


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: lambda x: 1.0 * m(x), lambda m: m.forward])
def test_parameters_of_a_module_are_moved_in_the_module(wrap):
    module, *others = _arguments()
    report = check_function(_replayed(1.0), (wrap(module), *others))
    assert report.ok, report.text()
    assert [v.verdict for v in report.inputs] == ["ok"] * 3


def test_wrong_gradient_of_a_module_is_found():
    report = check_function(_replayed(2.0), _arguments())
    assert [v.verdict for v in report.inputs] == ["ok", "wrong", "wrong"]
    assert {f.evidence["diagnosis"] for f in report.findings} == {"factor"}


def test_the_module_is_left_as_it_was():
    arguments = _arguments()
    before = [w.detach().clone() for w in arguments[2:]]
    check_function(_replayed(1.0), arguments)
    for weight, value in zip(arguments[2:], before, strict=True):
        assert torch.equal(weight, value)
        assert weight.requires_grad
        assert weight.grad is None


def test_only_what_another_argument_holds_is_held():
    module, x, weight, bias = _arguments()
    assert list(held_by_others([module, x, weight, bias])) == [2, 3]
    assert held_by_others([torch.nn.Linear(3, 2), x, weight]) == {}
    assert list(held_by_others([{"scale": weight}, weight])) == [1]
