"""The names under which the methods of library objects are found."""

from __future__ import annotations

import pytest

from gradcheck_tool.domain.records import Class, Instance
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import Const, LibraryObject, Ref
from gradcheck_tool.library.torch.model_names import find_method, model_names


def made(s: State, cls: str) -> Ref:
    return s.new(Instance(LibraryObject(cls)))


@pytest.mark.parametrize(
    ("cls", "names"),
    [
        ("torch.nn.Linear", ["torch.nn.Linear", "torch.nn.Module"]),
        ("torch.nn.Parameter", ["torch.nn.Parameter"]),
        ("torch.optim.Adam", ["torch.optim.Adam", "torch.optim.Optimizer"]),
        ("torch.optim.lr_scheduler.StepLR", ["torch.optim.lr_scheduler.StepLR", "scheduler"]),
        ("torch.optim.swa_utils.AveragedModel", ["torch.optim.swa_utils.AveragedModel"]),
        ("torch.inference_mode", ["torch.inference_mode", "torch.no_grad"]),
        ("somewhere.Else", ["somewhere.Else"]),
    ],
)
def test_an_object_is_what_its_class_is(cls: str, names: list[str]) -> None:
    s = State()
    assert model_names(s, made(s, cls)) == names


def test_a_class_of_the_program_is_what_it_derives_from() -> None:
    s = State()
    cls = Class("Net", (), None, None)
    ref = s.new(cls)
    cls.mro = (ref, LibraryObject("torch.autograd.Function"))
    assert model_names(s, ref) == ["class torch.autograd.Function"]
    assert model_names(s, Const(3)) == []


def test_a_method_is_that_of_the_most_derived_name_that_has_it() -> None:
    s = State()
    layer, optimizer = made(s, "torch.nn.Linear"), made(s, "torch.optim.SGD")
    assert find_method(s, layer, "eval") is find_method(s, made(s, "torch.nn.Conv2d"), "eval") is not None
    assert find_method(s, optimizer, "zero_grad") is not find_method(s, layer, "zero_grad")
    assert find_method(s, layer, "no_such_method") is None
