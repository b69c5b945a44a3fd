"""A run as one HTML file: the summary, for each Function the evidence, and what was not checked and why."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from gradcheck_tool.harness.summary import ORDER, counts
from gradcheck_tool.report.context import relative_name
from gradcheck_tool.report.facts import shown
from gradcheck_tool.report.page_style import page_style
from gradcheck_tool.trust.visible import visible_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.harness.outcomes import Outcome

_TEMPLATE = Path(__file__).with_name("page.html.jinja")


def _visible(value: object) -> object:
    return visible_lines(value) if isinstance(value, str) else value


def page(outcomes: Sequence[Outcome], problems: Sequence[tuple[str, str]], folder: Path) -> str:
    """The text of the HTML file, which needs no other file.

    Args:
        outcomes: of every Function asked for.
        problems: files that could not be read, each with the reason.
        folder: file names are shown relative to it.
    """
    found = Counter(outcome.status for outcome in outcomes)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True, finalize=_visible
    )
    environment.filters["slug"] = lambda words: words.replace(" ", "-")
    environment.filters["shown"] = shown
    environment.filters["relative"] = lambda filename: relative_name(filename, folder)
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        style=Markup(page_style()),  # noqa: S704 - gradlint's own
        headline=counts(outcomes),
        statuses=[status for status in ORDER if found[status]],
        counts=found,
        outcomes=outcomes,
        unchecked=[outcome for outcome in outcomes if not outcome.is_checked],
        problems=[(relative_name(filename, folder), why) for filename, why in problems],
    )
