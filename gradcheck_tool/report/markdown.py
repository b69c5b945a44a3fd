"""Pages of rules on a terminal: headings, paragraphs, lists, tables and programs in its width and colours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.report.style import columns, linked, painter
from gradcheck_tool.report.wrapping import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.report.style import Style

# Longer lines are hard to read, however wide a terminal is.
WIDEST = 100
_FENCE = "```"
# What has a form of its own within a line: code, strong words, links.
_SPAN = re.compile(r"`([^`]+)`|\*\*(.+?)\*\*|\[((?:[^\[\]`]|`[^`]*`)+)\]\(([^)\s]+)\)")
_HEADING = re.compile(r"(#+) +(.*)")
_ITEM = re.compile(r"(\s*(?:[-*]|\d+\.) +)(.*)")
_RULER = re.compile(r"\|[\s:|-]+\|")
# Marks of the place that an example is about.
_MARKED = re.compile(r"# <- .*")
# Stand for the beginning and the end of what has a form of its own.
_ENDS = {"`": ("\ue001", "\ue002"), "*": ("\ue003", "\ue004"), "[": ("\ue005", "\ue006")}
_CLOSING = frozenset(end for _, end in _ENDS.values())
_KEPT = str.maketrans("", "", "".join(end for ends in _ENDS.values() for end in ends))


@dataclass(frozen=True)
class Page:
    """How Markdown is shown.

    Attributes:
        width: columns of the terminal.
        color: whether there are colours.
        links: whether the terminal opens links.
    """

    width: int
    color: bool
    links: bool

    def render(self, text: str) -> str:
        """The page as text for the terminal, ending with a line end."""
        lines = [line for block in _blocks(text) for line in self._block(block)]
        return "".join(f"{line}\n" for line in lines)

    def _block(self, lines: Sequence[str]) -> Iterator[str]:
        first = lines[0]
        if first.startswith(_FENCE):
            yield from (f"    {self._program(line)}".rstrip() for line in lines[1:])
        elif heading := _HEADING.fullmatch(first):
            yield self._painted(heading[2].upper() if len(heading[1]) == 1 else heading[2], "bold")
        elif first.startswith("|"):
            yield from self._table(lines)
        elif item := _ITEM.fullmatch(first):
            rest = " ".join([item[2], *(line.strip() for line in lines[1:])])
            yield from self._paragraph(rest, item[1], " " * len(item[1]))
        else:
            yield from self._paragraph(" ".join(line.strip() for line in lines), "", "")

    def _paragraph(self, text: str, first: str, indent: str) -> Iterator[str]:
        room = min(self.width, WIDEST) - len(indent)
        addresses: list[str] = []
        marked = _SPAN.sub(lambda span: self._span(span, addresses), text)
        open_span = ""
        lead = first
        for line in _wrapped(marked, room):
            shown, open_span = self._shown(line, open_span, addresses)
            yield f"{lead}{shown}".rstrip()
            lead = indent

    def _span(self, span: re.Match[str], addresses: list[str]) -> str:
        code, strong, label, address = span.groups()
        if code and not self.color:
            return span[0]  # without colours, code is told from words by its marks
        kind, text = ("`", code) if code else ("*", strong) if strong else ("[", label)
        if kind == "[":
            addresses.append(address)
            text = text.replace("`", "")
            if not self.links and "://" in address:
                text = f"{text} <{address}>"
        start, end = _ENDS[kind]
        return f"{start}{text}{end}"

    def _shown(self, line: str, open_span: str, addresses: list[str]) -> tuple[str, str]:
        """A line with its spans painted, and the kind of the span that goes on in the next one."""
        parts: list[str] = []
        kind = open_span
        for part in re.split(f"([{''.join(end for ends in _ENDS.values() for end in ends)}])", line):
            begun = next((one for one, (start, _) in _ENDS.items() if part == start), None)
            if begun is not None:
                kind = begun
            elif part in _CLOSING:
                if kind == "[" and addresses:
                    addresses.pop(0)
                kind = ""
            elif part:
                parts.append(self._styled(part, kind, addresses))
        return "".join(parts), kind

    def _styled(self, text: str, kind: str, addresses: Sequence[str]) -> str:
        if kind == "[":
            opened = self.links and addresses and "://" in addresses[0]
            painted = self._painted(text, "blue")
            return linked(painted, addresses[0]) if opened else painted
        if kind == "`":
            return self._painted(text, "cyan")
        return self._painted(text, "bold") if kind else text

    def _program(self, line: str) -> str:
        mark = _MARKED.search(line)
        if mark is None:
            return line
        return line[: mark.start()] + self._painted(mark[0], "red")

    def _table(self, lines: Sequence[str]) -> Iterator[str]:
        rows = [
            [re.sub(_SPAN, lambda span: span[1] or span[2] or span[3], cell.strip()) for cell in cells]
            for cells in (line.strip().strip("|").split("|") for line in lines if not _RULER.fullmatch(line))
        ]
        widths = [max(map(columns, column)) for column in zip(*rows, strict=False)]
        for number, row in enumerate(rows):
            text = "  ".join(
                cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=False)
            ).rstrip()
            yield self._painted(text, "bold") if number == 0 else text

    def _painted(self, text: str, style: Style) -> str:
        return painter(self.color)(text, style)


def _wrapped(marked: str, room: int) -> list[str]:
    """Lines of a text with marks, which take no room."""
    plain = marked.translate(_KEPT)
    lines: list[str] = []
    at = 0
    for line in wrapped(plain, room):
        taken: list[str] = []
        left = len(line)
        while at < len(marked) and (left or marked[at] in _CLOSING):
            taken.append(marked[at])
            left -= marked[at].translate(_KEPT) != ""
            at += 1
        lines.append("".join(taken))
        at += at < len(marked) and marked[at] == " "
    return lines


def _blocks(text: str) -> Iterator[list[str]]:
    """Paragraphs, items, tables and programs, each as its lines; an empty line is a block of its own."""
    in_program = False
    block: list[str] = []
    for line in text.splitlines():
        if line.startswith(_FENCE):
            if not in_program:
                yield from [block] if block else []
                block = [line]
            else:
                yield block
                block = []
            in_program = not in_program
        elif in_program:
            block.append(line)
        elif not line.strip():
            yield from [block] if block else []
            yield [""]
            block = []
        elif block and (_ITEM.fullmatch(line) or _HEADING.fullmatch(block[0])):
            yield block
            block = [line]
        else:
            block.append(line)
    yield from [block] if block else []
