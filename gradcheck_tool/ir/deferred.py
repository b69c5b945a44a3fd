"""Functions whose bodies are lowered, from light nodes, when something first asks for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradcheck_tool.ir.nodes import Function, FunctionKind
from gradcheck_tool.ir.outline import first_row

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable, Iterator

    import libcst as cst

    from gradcheck_tool.ir.conversion import Converter
    from gradcheck_tool.ir.outline import Definition, Outline

_WORD = re.compile(r"[^\W\d]\w*")

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


def needed(outline: Outline, wanted: frozenset[str]) -> list[ast.stmt]:
    """The top-level statements less definitions that are not needed by these functions or by other code.

    Args:
        outline: a file.
        wanted: qualified names of functions.
    """
    unneeded = {definition.first for definition in _unneeded(outline, wanted)}
    return [statement for statement in outline.body if first_row(statement) not in unneeded]


def _unneeded(outline: Outline, wanted: frozenset[str]) -> list[Definition]:
    """The definitions of names that occur neither in what is wanted nor in anything that it needs."""
    roots = {unit.last for unit in outline.units if unit.qualname in wanted}
    waiting: list[Definition] = []
    rest: list[Definition] = []
    for definition in outline.definitions:
        rows = range(definition.first, definition.last + 1)
        (rest if roots.isdisjoint(rows) else waiting).append(definition)
    words = _words(outline, _between(outline.definitions, len(outline.lines)))
    while waiting:
        words |= _words(outline, [(one.first, one.last) for one in waiting])
        waiting = [one for one in rest if not words.isdisjoint(one.names)]
        rest = [one for one in rest if words.isdisjoint(one.names)]
    return rest


def _between(definitions: list[Definition], last: int) -> Iterator[tuple[int, int]]:
    """The rows that belong to no definition."""
    at = 1
    for definition in definitions:
        yield at, definition.first - 1
        at = definition.last + 1
    yield at, last


def _words(outline: Outline, spans: Iterable[tuple[int, int]]) -> set[str]:
    code = "\n".join("\n".join(outline.lines[first - 1 : last]) for first, last in spans)
    return set(_WORD.findall(code))
