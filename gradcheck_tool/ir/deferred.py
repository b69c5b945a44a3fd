"""Functions whose bodies are parsed and lowered when something first asks for them.

libcst reads a skeleton of the file, in which a number stands for each body that is left out. What the
tree of such a module lacks has no position: what is found is to be located in a module lowered in full.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import libcst as cst

from gradcheck_tool.ir.nodes import Function, FunctionKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.ir.outline import Outline, Unit

_OF_THE_BODY = frozenset(
    {
        "blocks",
        "captured",
        "docstring",
        "entry",
        "inner",
        "is_generator",
        "live_in",
        "local_names",
        "loops",
        "order",
    }
)


class DeferredFunction(Function):
    """A function that lowers its body by `lower` when a fact about the body is first asked for."""

    __slots__ = ("_lower",)

    def __init__(
        self,
        name: str,
        qualname: str,
        node: cst.CSTNode,
        lower: Callable[[DeferredFunction], None],
        *,
        is_async: bool,
    ) -> None:
        self.name = name
        self.qualname = qualname
        self.kind = FunctionKind.FUNCTION
        self.node = node
        self.params = []
        self.is_async = is_async
        self.decorators = 0
        self._lower = lower

    def __getattr__(self, name: str) -> Any:
        """Python asks here for what is not set: all that is known of the body, before it is lowered."""
        if name not in _OF_THE_BODY:
            raise AttributeError(name)
        self.blocks, self.entry, self.order, self.loops, self.live_in = {}, 0, [], {}, {}
        self.local_names = self.captured = frozenset()
        self.is_generator, self.inner, self.docstring = False, [], None
        self._lower(self)
        return getattr(self, name)


@dataclass(slots=True)
class Bodies:
    """The bodies that a skeleton leaves out, and where to note the functions that are lowered later."""

    outline: Outline
    units: dict[int, Unit]
    lowered: list[Function]

    def unit(self, node: cst.FunctionDef) -> Unit | None:
        """The unit that the function of the skeleton stands for; None where its body is there."""
        if not isinstance(node.body, cst.IndentedBlock) or len(node.body.body) != 1:
            return None
        line = node.body.body[0]
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
        number = small.value if isinstance(small, cst.Expr) else None
        return self.units.get(int(number.value, 0)) if isinstance(number, cst.Integer) else None

    def source(self, unit: Unit) -> str:
        """A program that consists of the unit alone, without its decorators."""
        code = "\n".join(self.outline.lines[unit.row - 1 : unit.last]) + "\n"
        return f"if 1:\n{code}" if code[0] in " \t" else code


def skeleton(outline: Outline) -> tuple[str, dict[int, Unit]]:
    """The file's text without bodies, and the units by the numbers that stand for theirs."""
    lines = outline.lines
    kept: list[str] = []
    units: dict[int, Unit] = {}
    at = 0
    for unit in outline.units:
        if not unit.body:
            continue
        kept += lines[at : unit.body - 1]
        first = lines[unit.body - 1]
        kept.append(f"{first[: len(first) - len(first.lstrip())]}{unit.row}")
        units[unit.row] = unit
        at = unit.last
    return "\n".join(kept + lines[at:]), units
