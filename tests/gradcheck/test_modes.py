"""Modes on request, heat maps, and Functions that behave differently under a mode."""

import pytest
import torch
from torch.autograd import Function

from gradcheck_tool.gradcheck import check_function, heatmap

D = torch.float64


class Sine(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos()


_ADDRESSES: dict = {}


class ByAddress(Function):
    """Looks its saved tensor up by address: saved-tensor hooks break it."""

    @staticmethod
    def forward(ctx, x):
        key = x.detach().clone()
        _ADDRESSES[key.data_ptr()] = key
        ctx.save_for_backward(key)
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        (key,) = ctx.saved_tensors
        return g * (2.0 if key.data_ptr() in _ADDRESSES else 5.0)


def _x():
    return torch.linspace(-1, 1, 6, dtype=D, requires_grad=True)


@pytest.mark.parametrize("mode", ["saved_hooks", "checkpoint", "autocast"])
def test_a_right_function_is_right_under_every_mode(mode):
    assert check_function(Sine, (_x(),), modes=(mode,)).ok


def test_a_function_broken_by_saved_tensor_hooks_is_reported():
    report = check_function(ByAddress, (_x(),), modes=("saved_hooks",), contracts=False, variations=False)
    assert [f.code for f in report.findings if f.severity.value == "error"] == ["GC210"]


def test_unknown_mode_is_an_error():
    with pytest.raises(ValueError, match="saved_hooks"):
        check_function(Sine, (_x(),), modes=("hooks",))


def test_heat_map_as_text_marks_the_wrong_entry():
    heat = torch.zeros(5, 9)
    heat[3, 7] = 2.0
    lines = heatmap.text(heat).splitlines()
    assert lines[3][1 + 7] == "@"
    assert sum(line.count("@") for line in lines) == 1


def test_heat_map_of_a_large_input_stays_small():
    heat = torch.zeros(4096, 4096)
    heat[0, 4095] = 1.0
    lines = heatmap.text(heat).splitlines()
    assert len(lines) == 16
    assert lines[0].endswith("@|")


def test_heat_map_as_picture(tmp_path):
    pytest.importorskip("matplotlib")
    path = heatmap.picture(torch.rand(8, 8), str(tmp_path / "plots"), "some.Function input 0")
    assert path.read_bytes().startswith(b"\x89PNG")
