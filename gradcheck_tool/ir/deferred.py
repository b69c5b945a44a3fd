"""Functions whose bodies are lowered, from light nodes, when something first asks for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradcheck_tool.ir.nodes import Function, FunctionKind

if TYPE_CHECKING:
    from collections.abc import Callable

    import libcst as cst

    from gradcheck_tool.ir.conversion import Converter
    from gradcheck_tool.ir.outline import Outline

_OF_THE_BODY = frozenset(
    {
        "blocks",
        "captured",
        "docstring",
        "entry",
        "inner",
        "is_generator",
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
        self.live = None
        self.known = {}
        self._lower = lower

    def __getattr__(self, name: str) -> Any:
        """Python asks here for what is not set: all that is known of the body, before it is lowered."""
        if name not in _OF_THE_BODY:
            raise AttributeError(name)
        self.blocks, self.entry, self.order, self.loops = {}, 0, [], {}
        self.local_names = self.captured = frozenset()
        self.is_generator, self.inner, self.docstring = False, [], None
        self._lower(self)
        return getattr(self, name)


@dataclass(slots=True)
class Bodies:
    """What makes the bodies that were left out, and where to note the functions that are lowered later.

    The outline is held for whoever else wants that of the same file.
    """

    outline: Outline
    converter: Converter
    lowered: list[Function]
