"""The picture of a rule's own bad example, as `gradlint explain` draws it, for a page of the site."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.config import Overrides
from gradcheck_tool.report.context import ReportContext
from gradcheck_tool.report.page_style import page_style, picture_style
from gradcheck_tool.report.picture.layout import picture
from gradcheck_tool.report.picture_html import drawn
from gradcheck_tool.session.session import Options, Session
from gradcheck_tool.sources.lines import SourceLines

if TYPE_CHECKING:
    from gradcheck_tool.rulebook.documentation import Program

_COLOURS = re.compile(r":root \{(.*?)\}", re.DOTALL)


def picture_of(program: Program, code: str) -> str | None:
    """The picture of what `code` reports in the program, or None where its story is that one place alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        path = folder / "example.py"
        path.write_text(program.source, encoding="utf-8")
        overrides = Overrides(isolated=True, select=(code,))
        session = Session(folder, Options(overrides, cache=False, jobs=1))
        outcome = session.check([path])
        finding = next(iter(outcome.findings))
        lines = SourceLines()
        drawing = picture(finding, lines, session.story(finding, outcome))
        if len(drawing.steps) < 2:
            return None
        return "\n".join(drawn(drawing, ReportContext(folder, lines), "step"))


def style() -> str:
    """The style of pictures in both colour schemes of the site, which the reader switches between."""
    light, dark, _ = _COLOURS.findall(page_style())
    schemes = f'.picture {{{light}}}\n[data-md-color-scheme="slate"] .picture {{{dark}}}\n'
    return f"{schemes}{picture_style()}"
