"""What PyTorch refuses at once: the exception says what is wrong, and its place is where."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges.exception import Raised, quoted

if TYPE_CHECKING:
    from gradcheck_tool.sanitizer.told import Told

Judge = Callable[[Raised], "Told | None"]


def refused(code: str, why: str) -> Judge:
    """A judge of one kind of refusal; `why` follows the source text of the place."""

    def judge(raised: Raised) -> Told | None:
        return raised.told(code, f"{quoted(raised.site, 'this call')} {why}")

    return judge
