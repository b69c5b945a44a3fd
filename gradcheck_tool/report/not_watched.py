"""What a report says of a run besides findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.trust.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gradcheck_tool.findings import Location

COMPILED, HOOKS, THREAD, PROCESS = "compiled", "hooks", "thread", "process"
_REASONS = {
    COMPILED: (
        "as torch.compile has compiled it",
        "is compiled by torch.compile: what it does is not watched",
    ),
    HOOKS: (
        "as saved-tensor hooks of the program are called instead",
        "sets saved-tensor hooks of the program: what is saved under them is not watched",
    ),
    THREAD: (
        "as it runs in a thread that began outside of the watch",
        "runs in a thread that began outside of the watch: what such a thread does is not watched",
    ),
    PROCESS: (
        "as it starts Python outside of the watch",
        "starts Python outside of the watch: what that process does is not watched",
    ),
}
"""Why something is left alone: after what is named, and as a sentence that begins with it."""
_NAMED = 8
"""So many are named in a line for each reason."""


@dataclass(frozen=True, slots=True)
class NotWatched:
    """What a run has left alone.

    Attributes:
        what: the name of a compiled function, or the source text of what leads out of the watch.
        why: one of the reasons above.
        location: the first line of the function, or the place of that text.
    """

    what: str
    why: str
    location: Location

    @property
    def message(self) -> str:
        """That in words."""
        return f"`{self.what}` {_REASONS[self.why][1]}"


def in_a_line(left_alone: Iterable[NotWatched], name_of: Callable[[str], str]) -> str:
    """All that was left alone, by reason; empty if nothing was. `name_of` shortens the names of files."""
    by_reason: dict[str, list[NotWatched]] = {}
    for one in left_alone:
        by_reason.setdefault(one.why, []).append(one)
    parts = []
    for why, group in by_reason.items():
        places = (
            f"`{one.what}` ({name_of(one.location.filename)}:{one.location.start.row})" for one in group
        )
        more = f" and {len(group) - _NAMED} more" if len(group) > _NAMED else ""
        named = ", ".join(place for place, _ in zip(places, range(_NAMED), strict=False))
        parts.append(f"{_REASONS[why][0]}: {named}{more}")
    return visible(f"not watched, {'; '.join(parts)}") if parts else ""
