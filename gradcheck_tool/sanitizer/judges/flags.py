"""A flag that is set on a module, where it means nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records

TYPO = "GL316"


def judge(records: Records) -> Iterator[Told]:
    """Tell which module was to be frozen."""
    for site, kind in records.parameters.flags.items():
        if not records.steps.total:
            continue
        one = step(site, "this sets an attribute of the module, which means nothing to PyTorch")
        yield Told(
            TYPO,
            site.location,
            f"setting {quoted(site, '`requires_grad`')} freezes nothing of {kind}: its parameters still "
            "require grad; call `requires_grad_(False)`",
            placed(one),
        )
