"""What a pass claims to have noticed is true: errors of twice that size are found."""

import pytest
import torch
from torch.autograd import Function

from gradcheck_tool.gradcheck import check_function
from tests.gradcheck import published, right_cases, right_types, right_values
from tests.gradcheck.zoo import r

RIGHT = [*right_values.RIGHT, *right_types.RIGHT, *right_cases.RIGHT]
RIGHT += [(klass, lambda args=args: args) for klass, args in published.RIGHT]
QUICK = {"variations": False, "contracts": False, "second_order": False, "forward_mode": False, "vmap": False}

_SHARE = 0.99
"""Of the planted errors that have to be found."""


def planted(klass, index, error):
    """The Function with `error(gradient)` added to the gradient of argument `index`."""
    name = "vjp" if "vjp" in vars(klass) else "backward"
    original = getattr(klass, name)

    def backward(ctx, *cotangents):
        found = original(ctx, *cotangents)
        parts = list(found) if isinstance(found, tuple) else [found]
        if isinstance(parts[index], torch.Tensor):
            parts[index] = error(parts[index])
        return tuple(parts) if isinstance(found, tuple) else parts[0]

    return type(klass.__name__, (klass,), {name: staticmethod(backward), "__module__": klass.__module__})


def _factor(size):
    return lambda g: g * (1 + size)


def _entry(size, place):
    def error(g):
        wrong = g.clone()
        flat = wrong.view(-1)
        flat[place % flat.numel()] += size * g.abs().square().mean().sqrt().to(g.dtype)
        return wrong

    return error


def _claims():
    """(name, class, arguments, argument, size of a factor, size of an error of one entry) of every pass."""
    for klass, args in RIGHT:
        if not isinstance(klass, type):
            continue
        given = args()
        try:
            report = check_function(klass, given, **QUICK)
        except Exception:  # noqa: BLE001 - what it makes of these arguments is another test
            continue
        positions = [i for i, x in enumerate(given) if isinstance(x, torch.Tensor) and x.requires_grad]
        for verdict, position in zip(report.inputs, positions, strict=False):
            if verdict.verdict == "ok" and verdict.factor is not None and verdict.factor < 0.3:
                yield klass, args, position, verdict.factor, verdict.entry


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
def test_errors_of_twice_the_claimed_size_are_found():
    missed, tried = [], 0
    for klass, args, position, factor, entry in _claims():
        for kind, error in (("factor", _factor(2 * factor)), ("entry", _entry(2 * entry, 1))):
            if kind == "entry" and entry > 10:
                continue
            tried += 1
            report = check_function(planted(klass, position, error), args(), **QUICK)
            if all(v.verdict == "ok" for v in report.inputs):
                missed.append((klass.__name__, kind, factor if kind == "factor" else entry))
    assert tried > 100
    assert len(missed) <= (1 - _SHARE) * tried, missed


class NumpyProduct(Function):
    """A large product that leaves PyTorch: only finite differences can judge it."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.from_numpy(a.detach().numpy() @ b.detach().numpy())

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga = g @ b.T
        flat = ga.abs().argmax()
        ga.view(-1)[flat] *= 1.01
        return ga, a.T @ g


@pytest.mark.slow
def test_a_single_entry_off_by_a_percent_is_found_in_a_large_product_in_single_precision():
    args = (r(128, 128, dtype=torch.float32), r(128, 128, dtype=torch.float32, seed=1))
    report = check_function(NumpyProduct, args, **QUICK)
    assert [v.verdict for v in report.inputs] == ["wrong", "ok"], report.text()
    assert report.inputs[1].entry < 0.01
