"""Where light nodes stand, from the places that Python's own parser notes in its tree."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, Any

from gradcheck_tool.ir.spans import UnplacedError, text_between

if TYPE_CHECKING:
    from gradcheck_tool.ir import syntax
    from gradcheck_tool.ir.spans import Place, Span

# Before 3.12, Python guesses where the expressions of a formatted string stand.
_KNOWS_FORMATTED = sys.version_info >= (3, 12)
# Nodes that Python's tree has no place for, or another, and the methods that know.
_SPECIAL = {
    "Name": "_name",
    "GeneratorExp": "_generator",
    "Decorator": "_decorator",
    "CompFor": "_comp_for",
    "WithItem": "_with_item",
    "BooleanOperation": "_boolean",
    "Module": "_module",
}
_DEFINES = re.compile(r"(?:async\s+)?(?:def|class)[\s\\]+")


class LightSpans:
    """Spans of the light nodes of one program: of all that has a place of its own in the text."""

    def __init__(self, lines: list[str]) -> None:
        """`lines` are those of the program without a byte order mark."""
        self._lines = lines
        self._guessed: set[int] = set()

    def span(self, node: syntax.CSTNode) -> Span:
        """Start and end of a node, without the parentheses around it; those of a tuple are part of it.

        Raises:
            UnplacedError: nothing tells where the node stands.
        """
        special = _SPECIAL.get(type(node).__name__)
        if special is None:
            return self._of(getattr(node, "origin", None))
        found: Span = getattr(self, special)(node)
        return found

    def formatted(self, value: ast.AST) -> None:
        """Note that a node of Python's tree stands in a formatted string, with all below it."""
        if not _KNOWS_FORMATTED:
            self._guessed.update(map(id, ast.walk(value)))

    def text(self, node: syntax.CSTNode) -> str:
        """The source text of a node, as Python itself prints it where nothing tells the place.

        Of a node that only wraps another, such as an argument, it is that of the other.
        """
        try:
            return self._between(*self.span(node))
        except UnplacedError:
            inner: Any = node
            if hasattr(inner, "origin"):
                return ast.unparse(inner.origin)
            return inner.value if isinstance(inner.value, str) else self.text(inner.value)

    def _between(self, start: Place, end: Place) -> str:
        return text_between(self._lines, start, end)

    def _of(self, origin: Any) -> Span:
        if not hasattr(origin, "lineno"):
            raise UnplacedError(origin)
        if id(origin) in self._guessed and not self._is_right(origin):
            raise UnplacedError(origin)
        return self._noted(origin)

    def _noted(self, origin: Any) -> Span:
        start = self._place(origin.lineno, origin.col_offset)
        return start, self._place(origin.end_lineno, origin.end_col_offset)

    def _place(self, row: int, column: int) -> Place:
        """Python counts columns in bytes."""
        line = self._lines[row - 1]
        return row, column if line.isascii() else len(line.encode()[:column].decode(errors="replace"))

    def _is_right(self, origin: ast.AST) -> bool:
        try:
            found = ast.parse(f"({self._between(*self._noted(origin))})", mode="eval").body
        except (SyntaxError, ValueError, IndexError):
            return False
        return ast.dump(found) == ast.dump(origin)

    def _name(self, node: Any) -> Span:
        """A name by itself, or in something that a statement or an attribute is made of."""
        origin = getattr(node, "origin", None)
        start, end = self._of(origin)
        if isinstance(origin, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defines = _DEFINES.match(self._between(start, end))
            if defines is None:
                raise UnplacedError(node)
            start = self._after(start, defines[0])
        elif isinstance(origin, ast.Attribute) or (isinstance(origin, ast.alias) and origin.asname):
            return (end[0], end[1] - len(node.value)), end
        elif not isinstance(origin, ast.alias | ast.arg):
            return start, end
        return start, (start[0], start[1] + len(node.value))

    def _generator(self, node: Any) -> Span:
        """Python counts the parentheses, which may be those of a call."""
        start, end = self._of(node.origin)
        text = self._between(start, end)
        if not text.startswith("("):
            return start, end
        bare = text[1:-1]
        first, last = text[: len(text) - len(bare.lstrip()) - 1], f"({bare.rstrip()}"
        return self._after(start, first), self._after(start, last)

    @staticmethod
    def _after(start: Place, text: str) -> Place:
        """The place where a text ends that starts at another."""
        row, column = start
        *above, last = text.split("\n")
        return (row + len(above), len(last)) if above else (row, column + len(last))

    def _keyword_before(self, place: Place, keyword: str) -> Place:
        """The start of a keyword before a place, with no more than blanks and brackets between."""
        row, column = place
        line = self._lines[row - 1][:column]
        while row > 0:
            at = line.rfind(keyword)
            if at >= 0:
                return row, at
            row -= 1
            line = self._lines[row - 1].partition("#")[0]
        raise UnplacedError(keyword)

    @staticmethod
    def _module(_: Any) -> Span:
        return (1, 0), (1, 0)

    def _decorator(self, node: Any) -> Span:
        start, end = self.span(node.decorator)
        return self._keyword_before(start, "@"), end

    def _comp_for(self, node: Any) -> Span:
        start = self._keyword_before(self.span(node.target)[0], "async" if node.asynchronous else "for")
        last = node.inner_for_in or (node.ifs[-1].test if node.ifs else node.iter)
        return start, self.span(last)[1]

    def _boolean(self, node: Any) -> Span:
        """Python has one node for `a and b and c`."""
        if hasattr(node, "origin"):
            return self._of(node.origin)
        return self.span(node.left)[0], self.span(node.right)[1]

    def _with_item(self, node: Any) -> Span:
        start, end = self.span(node.item)
        return start, end if node.asname is None else self.span(node.asname.name)[1]
