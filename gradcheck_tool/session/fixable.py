"""Which fixes the configuration wants: `fixable` and `unfixable`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck_tool.rulebook.selection import is_selected

if TYPE_CHECKING:
    from gradcheck_tool.config import Config
    from gradcheck_tool.findings import Finding


def with_wanted_fix(finding: Finding, config: Config) -> Finding:
    """The finding, without its fix where the configuration of its file does not want it."""
    if finding.fix is None or is_selected(finding.code, True, config.fixable, config.unfixable):
        return finding
    return replace(finding, fix=None)
