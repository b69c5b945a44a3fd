"""Whether a place may be written to: nothing is written through a link that leads out of the tree."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path


class LeadsOutError(OSError):
    """A place is not written to: on the way to it, a link of the tree leads out of it."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(0, reason, str(path))

    def __str__(self) -> str:
        """The reason alone: who tells it names the path."""
        return self.strerror or ""


def leads_out(path: Path, tree: Path) -> str | None:
    """Why a place in a tree is really another place outside; None where it is not.

    A path has to stay within every repository that it lies in by its name, or else within its tree; and
    within the folder that the command runs in, where that is above them. Outside of all of them it is the
    user's own affair.

    Args:
        path: absolute; there need not be anything yet.
        tree: absolute: the folder that is the tree where the path lies in no repository.
    """
    roots = repositories_of(path.parent) or (tree,)
    here = Path.cwd()
    if roots[-1].is_relative_to(here):
        roots = (*roots, here)
    target = Path(os.path.realpath(path))
    for root in roots:
        if path.is_relative_to(root) and not target.is_relative_to(os.path.realpath(root)):
            return f"a link leads out of {root}, to {target}"
    return None


def refuse_links(path: Path, tree: Path) -> None:
    """Refuse to write to a place that is really one outside of its tree; see `leads_out`.

    Raises:
        LeadsOutError: a link leads out.
    """
    reason = leads_out(path, tree)
    if reason is not None:
        raise LeadsOutError(path, reason)


@lru_cache(maxsize=256)
def repositories_of(folder: Path) -> tuple[Path, ...]:
    """The repositories that a folder lies in by its name, the innermost first."""
    return tuple(place for place in (folder, *folder.parents) if os.path.lexists(place / ".git"))
