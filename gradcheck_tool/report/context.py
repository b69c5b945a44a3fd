"""What a report needs besides the findings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.trust.visible import visible_name

if TYPE_CHECKING:
    from gradcheck_tool.findings import Location
    from gradcheck_tool.report.not_watched import NotWatched
    from gradcheck_tool.rulebook.rule import Rule
    from gradcheck_tool.sources.problem import Problem

# The lines of a file, or of one cell of a notebook; empty when it cannot be read any more.
Lines = Callable[[str, int | None], Sequence[str]]


@dataclass(frozen=True)
class ReportContext:
    """Surroundings of one report.

    Attributes:
        folder: file names are shown relative to this folder when they are below it.
        lines: source text, for code frames and fingerprints.
        rules: gives the rules that were in force, for formats that describe them.
        color: whether terminal colours are wanted.
        width: columns of the terminal; None where the report goes somewhere else.
        links: whether codes and places are links that a terminal opens.
        not_watched: what a run has left alone.
        problems: what could not be checked, for formats that have a place for it.
        names: what readers call what is in no file, such as a cell of a notebook that runs.
    """

    folder: Path
    lines: Lines
    rules: Callable[[], Sequence[Rule]] = tuple
    color: bool = False
    width: int | None = None
    links: bool = False
    not_watched: Sequence[NotWatched] = ()
    problems: Sequence[Problem] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def relative(self, filename: str) -> str:
        """The name of a file as people write it, with the system's separators."""
        return visible_name(self.names.get(filename) or relative_name(filename, self.folder))

    def uri(self, filename: str) -> str:
        """The name of a file with forward slashes, as seen from the root of what CI has checked out.

        Who reads an interchange format looks for the file there, wherever in it the command ran.
        """
        return relative_name(filename, checkout(self.folder)).replace(os.sep, "/")


def checkout(folder: Path) -> Path:
    """The root of GitHub's or GitLab's checkout if the folder is in it, else the folder."""
    for variable in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        root = os.environ.get(variable)
        if root and folder.is_relative_to(root):
            return Path(root)
    return folder


def relative_name(filename: str, folder: Path) -> str:
    """The name of a file below a folder as seen from there; any other name as it is."""
    return filename.removeprefix(str(folder).rstrip(os.sep) + os.sep)


def shown_name(filename: str, folder: Path) -> str:
    """The same where people read it: in one line, without what controls a terminal or a CI service."""
    return visible_name(relative_name(filename, folder))


def in_cell(location: Location) -> str:
    """`cell 2, row 3: ` for a place in a notebook, else nothing: for formats that know no cells."""
    return "" if location.cell is None else f"cell {location.cell}, row {location.start.row}: "
