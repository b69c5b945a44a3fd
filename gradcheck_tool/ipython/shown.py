"""Findings below a cell: code frames, in HTML where a notebook shows them, as text on a terminal."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.report.context import ReportContext

_STYLED = re.compile(r"\x1b\[([\d;]*)m")
_COLOR = re.compile(r"38;5;(\d+)")
# The rest of the palette is not used by reports.
_STEPS = (0, 95, 135, 175, 215, 255)
_GREYS = 232
# Columns that a cell of a notebook has room for; what is wider can be scrolled.
WIDTH = 100


@dataclass(frozen=True)
class Shown:
    """What IPython displays: it asks for HTML or for text.

    Attributes:
        findings: in order of place.
        context: surroundings of a report, without colours.
        remark: a line for when there are none.
    """

    findings: Sequence[Finding]
    context: ReportContext
    remark: str

    def __repr__(self) -> str:
        """The report as text."""
        return self._report(self.context) or self.remark

    def _repr_html_(self) -> str:
        """The report in the colours of a terminal, which are read on a light and on a dark ground."""
        text = self._report(replace(self.context, color=True, width=WIDTH))
        if not text:
            return f'<div class="gradlint" style="opacity: 0.7">{html.escape(self.remark)}</div>'
        return (
            '<div class="gradlint"><pre style="white-space: pre; overflow-x: auto; line-height: 1.3; '
            'background: none; border-left: 3px solid #d70000; padding-left: 0.8em">'
            f"{_html(text)}</pre></div>"
        )

    def _report(self, context: ReportContext) -> str:
        from gradcheck_tool.report import render

        return render("full", self.findings, context).rstrip("\n")


def _html(text: str) -> str:
    """A report with the codes of a terminal as spans."""
    parts: list[str] = []
    is_open = False
    for index, part in enumerate(_STYLED.split(text)):
        if index % 2 == 0:
            parts.append(html.escape(part))
            continue
        if is_open:
            parts.append("</span>")
        style = _style(part)
        is_open = bool(style)
        if style:
            parts.append(f'<span style="{style}">')
    return "".join(parts)


def _style(codes: str) -> str:
    color = _COLOR.search(codes)
    bold = "font-weight: bold; " if codes.split(";", maxsplit=1)[0] == "1" else ""
    return (bold + (f"color: {_hex(int(color[1]))}" if color else "")).strip("; ")


def _hex(number: int) -> str:
    """A colour of the palette of 256."""
    if number >= _GREYS:
        return "#" + f"{8 + 10 * (number - _GREYS):02x}" * 3
    red, rest = divmod(number - 16, 36)
    return "#" + "".join(f"{_STEPS[step]:02x}" for step in (red, *divmod(rest, 6)))
