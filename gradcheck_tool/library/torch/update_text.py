"""What the text of a function that updates networks says: what is differentiated in it, and through what."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_text import FunctionBody

if TYPE_CHECKING:
    from collections.abc import Iterator

_CUTS = frozenset({"data", "detach", "item", "numpy", "tolist"})
# What keeps the elements of a tensor, in another form.
_KEEPS = frozenset(
    {"clone", "contiguous", "flatten", "float", "reshape", "squeeze", "to", "unsqueeze", "view", "view_as"}
)
_WITHOUT = frozenset({"inference_mode", "no_grad", "set_grad_enabled"})


class UpdateBody(FunctionBody):
    """The code of a function that computes losses, asked what these are computed from.

    Attributes:
        LOSS: what functions that compute losses are called.
    """

    LOSS: ClassVar[re.Pattern[str]] = re.compile(r"loss|mse|huber|criterion", re.IGNORECASE)

    def __init__(self, function: ir.Function, *, of_class: bool = False) -> None:
        super().__init__(function, of_class=of_class)
        # The instructions that run while gradients are recorded, as far as its own `with` tells.
        self.recorded = list(self._recorded())
        self._records = set(map(id, self.recorded))

    def records(self, i: ir.Instr) -> bool:
        """Does an instruction run while gradients are recorded?"""
        return id(i) in self._records

    def _recorded(self) -> Iterator[ir.Instr]:
        without: list[int] = []
        for i in self.instrs:
            if isinstance(i, ir.EnterWith) and self.name_of(self.maker(i.manager)) in _WITHOUT:
                without.append(i.manager)
            elif isinstance(i, ir.ExitWith) and i.manager in without:
                without.remove(i.manager)
            elif not without:
                yield i

    def history(self, reg: int) -> Iterator[int | str]:
        """The registers and the parameters that a gradient of a value may reach, as far as one can see."""
        return self.sources(reg, self._ends)

    def name_of(self, made: ir.Instr | None) -> str:
        """The name of what a call calls, or of an attribute; that of the object for `critic.forward(...)`."""
        if isinstance(made, ir.Call):
            func = self.maker(made.func)
            if isinstance(func, ir.GetAttr) and func.name == "forward":
                func = self.maker(func.obj)
            return func.name if isinstance(func, (ir.GetAttr, ir.LoadName)) else ""
        return made.name if isinstance(made, ir.GetAttr) else ""

    def variable(self, source: int | str) -> str:
        """The parameter that a source is, or the variable that gets it and nothing else."""
        if isinstance(source, str):
            return source
        stores = ((name, stores) for name, stores in self.stores.items() if len(stores) == 1)
        return next((name for name, (store, *_) in stores if store.src == source), "")

    def unwrapped(self, reg: int) -> int | str:
        """The register of a value, in whatever form it is handed on."""
        source, made = self.source(reg), self.maker(reg)
        while isinstance(made, ir.Call) and self.name_of(made) in _KEEPS:
            func = self.made.get(made.func)
            if not isinstance(func, ir.GetAttr):
                break
            source, made = self.source(func.obj), self.maker(func.obj)
        return source

    def computes(self, call: ir.Call) -> bool:
        """Is it a function of torch or a method of a result, and not code that may detach what it gets?"""
        func = self.made.get(call.func)
        if not isinstance(func, ir.GetAttr):
            return False
        is_of_result = isinstance(self.maker(func.obj), (ir.Call, ir.BinOp))
        return self.is_library(func.obj) or is_of_result or func.name in _KEEPS

    def _ends(self, made: ir.Instr) -> bool:
        """Is nothing behind it differentiated, as far as one can see?"""
        if not self.records(made):
            return True
        if isinstance(made, ir.GetAttr):
            return made.name in _CUTS
        if isinstance(made, ir.LoadName):
            stores = self.stores.get(made.name, ())
            return len(stores) > 1 and any(self.name_of(self.maker(s.src)) in _CUTS for s in stores)
        return isinstance(made, ir.Call) and not self.computes(made)
