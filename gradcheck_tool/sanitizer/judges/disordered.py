"""A GradScaler's calls are out of order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges.exception import Raised, quoted, step

if TYPE_CHECKING:
    from gradcheck_tool.sanitizer.told import Told

OUT_OF_ORDER = "GL413"


def judge(raised: Raised) -> Told:
    """Tell which calls of scalers came before."""
    before = list(raised.records.scaling.calls)[:-1]
    steps = (step(site, f"`{method}` is called here") for method, site in before)
    return raised.told(OUT_OF_ORDER, f"{quoted(raised.site, 'this call')} breaks the scaler's order", *steps)
