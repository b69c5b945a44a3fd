"""A run as one HTML file: the summary, for each Function the evidence, and what was not checked and why."""

from __future__ import annotations

import platform
import shlex
import sys
from collections import Counter
from contextlib import suppress
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from gradcheck_tool import __version__
from gradcheck_tool.harness.summary import ORDER, counts
from gradcheck_tool.report.context import relative_name
from gradcheck_tool.report.facts import shown
from gradcheck_tool.report.page_style import page_style
from gradcheck_tool.sources.lines import SourceLines
from gradcheck_tool.trust.visible import visible_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.harness.outcomes import InputResult, Outcome

_TEMPLATE = Path(__file__).with_name("page.html.jinja")


_MOST_ROWS = 60
"""Rows of one `backward` that are shown."""


_LABELS = {"analytic": "found", "numeric": "expected", "numeric_error": "tolerance", "name": "argument name"}
"""What pieces of evidence are called; others are called as they are in JSON."""


def _source(outcome: Outcome, lines: SourceLines) -> list[tuple[int, str, bool]]:
    """The rows of `backward` with their numbers, and whether they compute a gradient that is found wrong."""
    ref = outcome.unit.ref
    rows = ref.backward or ref.rows
    text = lines(ref.filename, None)[: rows.last][rows.first - 1 :][:_MOST_ROWS]
    suspicious = {(finding.evidence or {}).get("row") for finding in outcome.findings}
    return [(number, line, number in suspicious) for number, line in enumerate(text, rows.first)]


def _called(inputs: Sequence[InputResult], index: int) -> str:
    """What an input is called."""
    return next((f"input {one.label}" for one in inputs if one.index == index), f"input {index}")


def _made() -> str:
    """By what, when and how the page was made."""
    with suppress(PackageNotFoundError):
        return (
            f"gradlint {__version__}, PyTorch {version('torch')}, Python {platform.python_version()}; "
            f"{shlex.join(['gradlint', *sys.argv[1:]])}; {datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC"
        )
    return f"gradlint {__version__}"


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
    lines = SourceLines()
    environment.filters["source"] = lambda outcome: _source(outcome, lines)
    environment.filters["label"] = lambda key: _LABELS.get(key, key.replace("_", " "))
    environment.filters["called"] = _called
    environment.filters["relative"] = lambda filename: relative_name(filename, folder)
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        style=Markup(page_style()),  # noqa: S704 - gradlint's own
        made=_made(),
        headline=counts(outcomes),
        statuses=[status for status in ORDER if found[status]],
        counts=found,
        outcomes=outcomes,
        unchecked=[outcome for outcome in outcomes if not outcome.is_checked],
        problems=[(relative_name(filename, folder), why) for filename, why in problems],
    )
