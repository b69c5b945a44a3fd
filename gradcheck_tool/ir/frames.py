"""What has to be left when control leaves a statement: loops, `with`, `finally`, `except ... as`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.ir.builder import Frame, FunctionBuilder
from gradcheck_tool.ir.nodes import Block, ExitWith, Reg

if TYPE_CHECKING:
    import libcst as cst


@dataclass(slots=True, eq=False)
class LoopFrame(Frame):
    """A loop: `continue` goes to `head`, `break` to `after`."""

    head: Block
    after: Block


@dataclass(slots=True, eq=False)
class FinallyFrame(Frame):
    """The statements under `finally` run on every way out."""

    body: cst.BaseSuite

    def leave(self, b: FunctionBuilder, node: cst.CSTNode) -> None:
        """Emit a copy of the statements."""
        b.caught = self.caught
        b.protect(node, self.handler)
        b.suite(self.body)


@dataclass(slots=True, eq=False)
class WithFrame(Frame):
    """The context manager in `manager` learns that the block has ended."""

    item: cst.CSTNode
    manager: Reg
    is_async: bool

    def leave(self, b: FunctionBuilder, node: cst.CSTNode) -> None:
        """Emit the call of `__exit__`."""
        b.protect(node, self.handler)
        b.emit(ExitWith(self.item, b.reg(), self.manager, None, self.is_async))


@dataclass(slots=True, eq=False)
class ExceptFrame(Frame):
    """`except ... as name` unbinds the name when it ends."""

    name: cst.Name

    def leave(self, b: FunctionBuilder, node: cst.CSTNode) -> None:
        """Emit `name = None; del name`: the body may have unbound it already."""
        b.protect(node, self.handler)
        b.store(self.name, self.name.value, b.const(self.name, None))
        b.delete(self.name, self.name.value)
