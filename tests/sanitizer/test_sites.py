"""Whose code a file is, and what it costs to tell a place."""

import gc
import sys
import sysconfig
from types import FrameType

import pytest
import torch
from torch import nn

import gradcheck_tool
from gradcheck_tool.sanitizer.sites import Site, here, is_program, is_users, site_of_traceback


@pytest.mark.parametrize(
    ("filename", "program"),
    [
        ("/home/someone/project/train.py", True),
        ("/home/someone/project/torch/train.py", True),
        ("/home/someone/.local/lib/python3.11/site-packages/torch/nn/modules/module.py", False),
        ("/home/someone/.local/lib/python3.11/site-packages/einops/layers/torch.py", False),
        ("/usr/lib/python3/dist-packages/torch/nn/modules/module.py", False),
        (f"{sysconfig.get_paths()['stdlib']}/functools.py", False),
    ],
)
def test_the_program_is_what_is_not_installed(filename: str, program: bool) -> None:
    assert is_program(filename) is program
    assert is_users(filename) is program


def test_frames_of_torch_are_left_out_wherever_it_is_installed() -> None:
    torch = "/opt/other/lib/python3.11/site-packages/torch/nn/functional.py"
    library = "/opt/other/lib/python3.11/site-packages/einops/einops.py"
    called: dict[str, object] = {}
    exec(compile("def fail(): raise ValueError", torch, "exec"), called)
    exec(compile("def call(): fail()", library, "exec"), called)
    try:
        called["call"]()  # type: ignore[operator]
    except ValueError as error:
        traceback = error.__traceback__
        assert traceback is not None
        inner = site_of_traceback(traceback.tb_next)
    assert inner is not None
    assert inner.location.filename == library


def _calls_of_a_step(blocks: int) -> int:
    """How many functions of Python a watched forward of a model with so many blocks calls."""
    model = nn.Sequential(*(nn.Sequential(nn.Linear(1, 1), nn.Tanh()) for _ in range(blocks)))
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    with gradcheck_tool.watch(quiet=True):
        sys.setprofile(count)
        try:
            model(torch.ones(1, 1))
        finally:
            sys.setprofile(None)
    return calls


def test_modules_have_their_names_without_a_search_through_the_whole_model() -> None:
    _calls_of_a_step(1)  # imports what it needs
    assert _calls_of_a_step(160) < 5 * _calls_of_a_step(40)


class _Reader(nn.Module):
    def forward(self, _: torch.Tensor) -> Site | None:
        return here()


def _places() -> int:
    return sum(type(one) is Site for one in gc.get_objects())


def test_places_in_modules_that_are_gone_are_forgotten() -> None:
    before = _places()
    for _ in range(10):
        modules = [_Reader() for _ in range(1000)]
        for module in modules:
            module(torch.ones(1))
    assert _places() - before < 6000
