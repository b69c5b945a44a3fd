"""One HTML file that needs no other: what was found, each with its picture; readable without scripts."""

from __future__ import annotations

from collections import Counter
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from gradcheck_tool import __version__
from gradcheck_tool.findings import Severity
from gradcheck_tool.report.concise import place
from gradcheck_tool.report.facts import counted, facts
from gradcheck_tool.report.page_style import findings_style, page_style, picture_style
from gradcheck_tool.report.picture.layout import picture
from gradcheck_tool.report.picture_html import drawn, worded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.report.context import ReportContext
    from gradcheck_tool.report.picture.layout import Picture


def render(findings: Sequence[Finding], context: ReportContext) -> str:
    """Render the report."""
    return page([picture(finding, context.lines) for finding in findings], context)


def page(pictures: Sequence[Picture], context: ReportContext) -> str:
    """The text of the HTML file.

    Args:
        pictures: of the findings, in order of place.
        context: names of files, and what a run has left alone.
    """
    return "".join(f"{line}\n" for line in _page(pictures, context))


def _page(pictures: Sequence[Picture], context: ReportContext) -> Iterator[str]:
    title = f"gradlint: {counted(len(pictures), 'finding')}" if pictures else "gradlint: nothing found"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    style = f"{page_style()}{findings_style()}{picture_style()}"
    yield f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>"
    yield f"<header><h1>{title}</h1>\n<p class=place>{_summary(pictures)}</p></header>"
    named = [(f"f{number}", one) for number, one in enumerate(pictures, start=1)]
    if len(named) > 1:
        yield from _contents(named, context)
    yield "<main>"
    for filename, group in groupby(named, lambda pair: pair[1].finding.location.filename):
        yield f"<section>\n<h2>{escape(context.relative(filename))}</h2>"
        for name, one in group:
            yield from article(name, one, context)
        yield "</section>"
    yield from _left_alone(context)
    yield "</main>\n</body>\n</html>"


def _summary(pictures: Sequence[Picture]) -> str:
    severities = Counter(one.finding.severity for one in pictures)
    told = [counted(severities[one], one.value) for one in Severity if severities[one]]
    files = len({one.finding.location.filename for one in pictures})
    where = f" in {counted(files, 'file')}" if files else ""
    return f"{', '.join(told)}{where}; gradlint {__version__}" if told else f"gradlint {__version__}"


def _contents(named: Sequence[tuple[str, Picture]], context: ReportContext) -> Iterator[str]:
    yield '<nav aria-label="Findings"><ul>'
    for filename, group in groupby(named, lambda pair: pair[1].finding.location.filename):
        yield f"<li>{escape(context.relative(filename))}<ul>"
        for name, one in group:
            finding = one.finding
            cell = "" if finding.location.cell is None else f"cell {finding.location.cell}, "
            where = f"{cell}row {finding.location.start.row}"
            what = f"<span class={finding.severity.value}>{escape(finding.code)}</span>"
            words = escape(finding.name.replace("-", " "))
            yield f'<li><a href="#{name}">{where}</a> {what} {words}</li>'
        yield "</ul></li>"
    yield "</ul></nav>"


def article(name: str, one: Picture, context: ReportContext) -> Iterator[str]:
    """A finding with its picture in lines of HTML; `name` makes its anchors its own."""
    finding = one.finding
    code = escape(finding.code)
    linked = f'<a href="{escape(finding.url)}">{code}</a>' if "://" in finding.url else code
    severity = f'<span class="severity {finding.severity.value}">{finding.severity.value} {linked}</span>'
    where = f"{escape(place(finding.location, context))} ({escape(finding.name)})"
    yield f'<article id="{name}">\n<h3>{severity} {worded(finding.message)}</h3>\n<p class=place>{where}</p>'
    yield from drawn(one, context, name)
    yield from _notes(finding)
    yield "</article>"


def _notes(finding: Finding) -> Iterator[str]:
    notes = [*facts(finding)]
    if finding.fix is not None:
        notes.append((f"{finding.fix.applicability.value} fix", finding.fix.message))
    notes.append(("more", f"`gradlint rule {finding.code}`"))
    yield "<dl>"
    for label, text in notes:
        yield f"<dt>{escape(label)}</dt><dd>{worded(text)}</dd>"
    yield "</dl>"


def _left_alone(context: ReportContext) -> Iterator[str]:
    if context.not_watched:
        yield "<section>\n<h2>Not watched</h2>\n<ul>"
        for one in context.not_watched:
            where = escape(place(one.location, context))
            yield f"<li>{worded(one.message)} <span class=place>{where}</span></li>"
        yield "</ul>\n</section>"
