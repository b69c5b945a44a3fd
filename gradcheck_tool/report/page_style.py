"""What HTML reports look like: the style sheets, which each page has in itself."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def page_style() -> str:
    """The style of all HTML reports."""
    return (_HERE / "page.css").read_text(encoding="utf-8")


def findings_style() -> str:
    """The style of findings."""
    return (_HERE / "findings.css").read_text(encoding="utf-8")


def picture_style() -> str:
    """The style of their pictures."""
    return (_HERE / "picture.css").read_text(encoding="utf-8")
