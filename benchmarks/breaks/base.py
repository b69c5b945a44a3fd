"""What a deliberate break is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class StaleBreakError(Exception):
    """The text that a break replaces is not in its file, or stands there more than once."""


class Break(NamedTuple):
    """A mistake to make on purpose.

    Attributes:
        name: what is wrong then.
        path: the file, from the root of the tree.
        old: a piece of its text, which stands there once.
        new: what takes its place.
        tests: the arguments of pytest that name the tests which should notice.
    """

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied(self, tree: Path) -> str:
        """The text of the file with the break.

        Raises:
            StaleBreakError: the text to replace is not there once.
        """
        text = (tree / self.path).read_text("utf-8")
        count = text.count(self.old)
        if count != 1:
            where = "is gone" if count == 0 else f"stands there {count} times"
            raise StaleBreakError(
                f"{self.path}: the break {self.name!r} does not apply: {self.old!r} {where}"
            )
        return text.replace(self.old, self.new)
