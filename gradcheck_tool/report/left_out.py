"""The line about packs that were left out because the user has not consented to them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from gradcheck_tool.report.context import relative_name
from gradcheck_tool.trust.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gradcheck_tool.config import Config


def left_out_line(configs: Iterable[Config], folder: Path) -> str | None:
    """What was left out under some configurations, and what to do; None where nothing was."""
    packs = dict.fromkeys(pack for config in configs for pack in config.untrusted)
    if not packs:
        return None
    # Who copies the command must not run what a tree has written into the name of a folder.
    names = " ".join(visible(shlex.quote(relative_name(str(pack), folder))) for pack in packs)
    code = "a pack is code" if len(packs) == 1 else "packs are code"
    how = f"read it, then consent with `gradlint trust {names}`, or for once with --trust"
    return f"left out {names}: {code}; {how}"
