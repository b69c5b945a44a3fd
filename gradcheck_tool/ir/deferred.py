"""Functions whose bodies are parsed and lowered when something first asks for them.

libcst reads a skeleton of the file, in which a number stands for each body that is left out. What the
tree of such a module lacks has no position: what is found is to be located in a module lowered in full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import libcst as cst

from gradcheck_tool.ir.nodes import Function, FunctionKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gradcheck_tool.ir.outline import Definition, Outline, Unit

_WORD = re.compile(r"[^\W\d]\w*")

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


def skeleton(outline: Outline, wanted: frozenset[str] | None) -> tuple[str, dict[int, Unit]]:
    """The file's text without bodies, and the units by the numbers that stand for theirs.

    With `wanted`, qualified names of functions, without the definitions that nothing names which these
    or the top-level code need.
    """
    lines = outline.lines
    dropped = [] if wanted is None else _unneeded(outline, wanted)
    gone = {row for definition in dropped for row in range(definition.first, definition.last + 1)}
    kept: list[str] = []
    units: dict[int, Unit] = {}
    at = 1
    for unit in outline.units:
        if not unit.body or unit.row in gone:
            continue
        kept += [lines[row - 1] for row in range(at, unit.body) if row not in gone]
        first = lines[unit.body - 1]
        kept.append(f"{first[: len(first) - len(first.lstrip())]}{unit.row}")
        units[unit.row] = unit
        at = unit.last + 1
    kept += [lines[row - 1] for row in range(at, len(lines) + 1) if row not in gone]
    return "\n".join(kept), units


def _unneeded(outline: Outline, wanted: frozenset[str]) -> list[Definition]:
    """The definitions of names that occur neither in what is wanted nor in anything that it needs."""
    roots = {unit.row for unit in outline.units if unit.qualname in wanted}
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
