"""The modelled engine and PyTorch side by side: each action is done in both, and both raise the same or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool import Site
from gradcheck_tool.domain.records import Frame
from gradcheck_tool.domain.state import State
from gradcheck_tool.engine.backward import BackwardPass, run_backward
from gradcheck_tool.engine.effect import Effect
from gradcheck_tool.engine.errors import Raised
from gradcheck_tool.engine.gradients import accumulate
from gradcheck_tool.engine.operations import apply, apply_inplace
from gradcheck_tool.engine.tensors import new_tensor
from gradcheck_tool.interp.api import Env
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.predictions import is_said

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.domain.graph import Tensor
    from gradcheck_tool.domain.values import Ref

MODULE = lower_module("pass", "program.py")
SITE = Site(MODULE, MODULE.tree)
SIZE = 3

UNARY: dict[str, Effect] = {
    "exp": Effect("ExpBackward0", saves={"out": None}, frees=True),
    "sin": Effect("SinBackward0", saves={"self": None}, frees=True),
    "neg": Effect("NegBackward0", frees=False),
    "view_as_row": Effect("ViewBackward0", frees=False, view_of="self", view="plain"),
}
BINARY: dict[str, Effect] = {
    "add": Effect("AddBackward0", frees=False),
    "mul": Effect("MulBackward0", saves={"self": ("other",), "other": ("self",)}, frees=True),
}
# What is written over is saved as a copy, which nothing else can change.
WRITES: dict[str, Effect] = {
    "exp_": UNARY["exp"],
    "neg_": UNARY["neg"],
    "sin_": Effect("SinBackward0", frees=True),
    "add_": BINARY["add"],
    "mul_": Effect("MulBackward0", saves={"other": ("self",)}, frees=True),
}


class Twin:
    """Tensors in both worlds, by number."""

    def __init__(self) -> None:
        self.s = State()
        frame = Frame(MODULE.body, None, None)
        self.s.frames.append(self.s.new(frame))
        frame.env = Env(MODULE, self.s.frames[0])
        self.tensors: list[tuple[Ref, torch.Tensor]] = []
        self.leaves: list[tuple[Ref, torch.Tensor]] = []

    def both(self, model: Callable[[], Any], real: Callable[[], Any]) -> tuple[Any, Any] | None:
        """Do an action in both worlds. None where both raise, for the same reason."""
        found = happened = None
        try:
            ours = model()
        except Raised as raised:
            found = raised.event
            assert found is not None
        try:
            theirs = real()
        except RuntimeError as error:
            happened = str(error)
        assert (found is None) == (happened is None), (found, happened)
        if found is not None:
            assert is_said(found.text, str(happened))
            return None
        return ours, theirs

    def make(self, requires_grad: bool) -> bool:
        ref = new_tensor(self.s, SITE, requires_grad=requires_grad, shape=(SIZE,), name="t")
        self.tensors.append((ref, torch.ones(SIZE, requires_grad=requires_grad)))
        self.leaves += [self.tensors[-1]] * requires_grad
        return True

    def call(self, name: str, *numbers: int) -> bool:
        """An operation that makes a new tensor or a view."""
        (refs, given) = zip(*(self.tensors[number] for number in numbers), strict=True)
        effect = UNARY[name] if name in UNARY else BINARY[name]
        arguments = dict(zip(("self", "other"), refs, strict=False))
        real = (
            (lambda: given[0].view(SIZE)) if name == "view_as_row" else lambda: getattr(torch, name)(*given)
        )
        done = self.both(lambda: apply(self.s, effect, arguments, SITE, name, [(SIZE,)]), real)
        if done is None:
            return False
        self.tensors.append((done[0][0], done[1]))
        return True

    def write(self, name: str, *numbers: int) -> bool:
        """An operation that writes into its first argument."""
        (refs, given) = zip(*(self.tensors[number] for number in numbers), strict=True)
        arguments = dict(zip(("self", "other"), refs, strict=False))
        return (
            self.both(
                lambda: apply_inplace(self.s, WRITES[name], refs[0], arguments, SITE, name),
                lambda: getattr(given[0], name)(*given[1:]),
            )
            is not None
        )

    def switch(self, grad: bool) -> bool:
        self.s.grad = grad
        torch.set_grad_enabled(grad)
        return True

    def backward(self, number: int, retain: bool) -> bool:
        """Differentiate a tensor in grad mode, and add to the gradients of the leaves; then these agree, too."""
        self.switch(grad=True)
        ref, real = self.tensors[number]
        run = BackwardPass([ref], [True], retain, False, SITE, "backward()")

        def differentiate() -> None:
            run_backward(self.s, run)
            for leaf in run.leaves:
                accumulate(self.s, run, leaf)

        ones = torch.ones(SIZE)
        if self.both(differentiate, lambda: real.backward(ones, retain_graph=retain)) is None:
            return False
        for leaf, tensor in self.leaves:
            record: Tensor = self.s[leaf]
            assert (record.grad_state == "none") == (tensor.grad is None)
        return True
