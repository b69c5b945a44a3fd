"""Where the documentation is found: the one place that knows the repository's address."""

from __future__ import annotations

# What a browser opens the repository's files below, with a slash at its end. As long as the repository has
# no public address, links are relative to its root.
HOME = ""

# The catalogue is one page; a code's own heading is its anchor.
RULES = "docs/rules.md"


def link(page: str, heading: str) -> str:
    """The address of a heading on a page (path from the repository's root)."""
    return f"{HOME}{page}#{heading}"


def rule_link(code: str) -> str:
    """Where the catalogue documents a rule."""
    return link(RULES, code.lower())
