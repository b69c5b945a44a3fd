"""What the text of a custom autograd Function breaks of the contract of such classes."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.running import Analysis, events

FUNCTION = """
import torch
shared = None
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor=2.0):
        {forward}
    @staticmethod
    def backward(ctx, grad):
        {backward}
"""


class Defect(NamedTuple):
    """The bodies of `forward` and `backward`, and a replacement that makes them right.

    `# <-` marks the line that is reported; without a mark, it is that of `backward`.
    """

    forward: str
    backward: str
    old: str
    new: str


DEFECTS = {
    "input-on-ctx": Defect(
        "ctx.x = x  # <-\nreturn x * x",
        "return 2 * ctx.x * grad, None",
        "ctx.x = x  # <-",
        "ctx.save_for_backward(x)",
    ),
    "output-on-ctx": Defect(
        "y = x.exp()\nctx.y = y  # <-\nreturn y",
        "return ctx.y * grad, None",
        "ctx.y = y  # <-\n        return y",
        "ctx.save_for_backward(y)\n        return y",
    ),
    "output-on-ctx (in a tuple)": Defect(
        "y = x.exp()\nctx.kept = (factor, y)  # <-\nreturn y",
        "return ctx.kept[1] * grad, None",
        "(factor, y)  # <-",
        "(factor, x)",
    ),
    "missing-return": Defect("return x * 2", "scaled = grad * 2", "scaled =", "return"),
    "unmarked-write": Defect(
        "x.mul_(2)  # <-\nreturn x",
        "return grad * 2, None",
        "x.mul_(2)",
        "ctx.mark_dirty(x)\n        x.mul_(2)",
    ),
    "untracked-backward": Defect("return x * 2", "return grad.data * 2, None", "grad.data", "grad"),
    "unused-ctx": Defect(
        "ctx.size = x.shape  # <-\nreturn x * 2",
        "return grad * 2, None",
        "ctx.size = x.shape  # <-",
        "size = x.shape",
    ),
}


def _source(defect: Defect) -> str:
    bodies = [text.replace("\n", "\n        ") for text in (defect.forward, defect.backward)]
    return FUNCTION.format(forward=bodies[0], backward=bodies[1])


def _kinds(source: str) -> dict[str, list[int]]:
    """The rows of each kind of defect."""
    analysis = Analysis(source)
    found: dict[str, list[int]] = {}
    for event in analysis.of("FunctionDefect"):
        found.setdefault(event.kind, []).append(analysis.row(event))
    return found


@pytest.mark.parametrize("case", DEFECTS)
def test_a_defect_is_reported_and_its_correction_is_not(case: str) -> None:
    source, kind = _source(DEFECTS[case]), case.partition(" ")[0]
    lines = source.splitlines()
    marked = [row for row, line in enumerate(lines, 1) if line.endswith("# <-")]
    assert _kinds(source)[kind] == (marked or [lines.index("    def backward(ctx, grad):") + 1])
    assert DEFECTS[case].old in source
    assert kind not in _kinds(source.replace(DEFECTS[case].old, DEFECTS[case].new))


def test_a_method_without_staticmethod_is_reported_beside_one_that_has_it() -> None:
    source = _source(Defect("return x * 2", "return grad * 2, None", "", ""))
    head, _, tail = source.rpartition("    @staticmethod\n")
    assert "not-static" not in _kinds(source)
    assert _kinds(head + tail)["not-static"] == [head.count("\n") + 1]


def test_a_class_without_any_static_method_is_of_the_old_style_where_they_take_self() -> None:
    source = _source(Defect("return x * 2", "return grad * 2, None", "", "")).replace(
        "    @staticmethod\n", ""
    )
    assert len(_kinds(source)["not-static"]) == 2
    assert "not-static" not in _kinds(source.replace("ctx", "self"))


@pytest.mark.parametrize(
    ("value", "reported"),
    [
        ("importlib.import_module('kernels')", False),
        ("torch.empty(x.shape)", False),
        ("x * 2", True),
        ("helper(x)", True),
    ],
)
def test_only_what_a_call_computes_is_state_between_calls(value: str, reported: bool) -> None:
    """A library that forward loads when it is first needed is the same for every call."""
    source = f"""
import importlib, torch
shared = None
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        global shared
        if shared is None:
            shared = {value}
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * shared
"""
    assert any(e.kind == "state-on-class" for e in events(source, "FunctionDefect")) is reported


QUIET = {
    "an attribute that is not set where nothing is trained": (
        "if not ctx.needs_input_grad[0]:\n    return x * 2\nctx.scale = 2\nreturn x * 2",
        "return grad * ctx.scale, None",
    ),
    "an attribute that is not set where a name says that nothing is trained": (
        "store = any(ctx.needs_input_grad)\nif store:\n    ctx.scale = 2\nreturn x * 2",
        "return grad * ctx.scale, None",
    ),
    "an attribute that is not set where there are no inputs": (
        "ctx.count = len(factor)\nif ctx.count > 0:\n    ctx.scale = 2\nreturn x * 2",
        "return grad * ctx.scale, None",
    ),
    "an attribute that backward reads after it has asked": (
        "ctx.is_scaled = bool(factor)\nif factor:\n    ctx.scale = 2\nreturn x * 2",
        "if ctx.is_scaled:\n    return grad * ctx.scale, None\nreturn grad * 2, None",
    ),
    "the size of a result on ctx": (
        "y = x * 2\nshape = y.shape\nctx.shape = shape\nreturn shape, y",
        "return grad.reshape(ctx.shape) * 2, None",
    ),
    "a view of what is contiguous": ("return x * 2", "return grad.contiguous().view(-1) * 2, None"),
    "a view that any vector allows": ("return x * 2", "return (grad.view(-1, 1) * 2)[:, 0], None"),
    "the grad mode in backward": (
        "return x * 2",
        "print(torch.is_grad_enabled())\nreturn grad * 2, None",
    ),
}


@pytest.mark.parametrize("name", QUIET)
def test_what_callers_can_rely_on_is_quiet(name: str) -> None:
    new = {"unset-on-path", "grad-mode-in-forward", "output-on-ctx", "view-of-cotangent"}
    assert new.isdisjoint(_kinds(_source(Defect(*QUIET[name], "", ""))))
