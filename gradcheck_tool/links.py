"""Where the documentation is found: the one place that knows its address."""

from __future__ import annotations

import re

# The site that `mkdocs build` makes of this repository, with a slash at the end. `project.urls` has it, too.
HOME = "https://gradlint.readthedocs.io/en/latest/"

# The catalogue that readers of the repository have; on the site, each rule has a page of its own.
RULES = "docs/rules.md"

_OURS = re.compile(r"G[CL]\d{3}")


def rule_page(code: str) -> str:
    """The page of a code on the site, from its root."""
    return f"rules/{code.lower()}/"


def rule_link(code: str) -> str:
    """The address at which a code is documented; empty for rules of other packs."""
    return f"{HOME}{rule_page(code)}" if _OURS.fullmatch(code) else ""
