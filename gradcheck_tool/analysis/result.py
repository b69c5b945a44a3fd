"""What became of one file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradcheck_tool.findings import Finding


@dataclass(frozen=True)
class FileResult:
    """What became of one file.

    Attributes:
        findings: in order of place; rows of a notebook are rows of a cell.
        problem: why the file, or a part of it, could not be checked, else None.
        failed: the fault is not the program's: its bytes could not be had, or gradlint broke down.
        partial: the problem concerns a part of the file, and the rest was checked.
        imports: `(importer, dotted name, dots)` of the imports that the findings depend on.
        content: digest of the bytes that were checked.
        unfinished: names of the functions whose analysis reached the work limit.
        is_short: with more work there might be more findings.
        entered: `(filename, qualified name)` of the functions in other files that the top-level code led to.
        mistaken: what is wrong with comments that are to suppress something, a sentence each.
        used: `(filename, row)` of the comments in other files that suppress what was found there.
    """

    findings: tuple[Finding, ...] = field(default=())
    problem: str | None = None
    failed: bool = False
    partial: bool = False
    imports: tuple[tuple[str, str, int], ...] = ()
    content: str = ""
    unfinished: tuple[str, ...] = ()
    is_short: bool = False
    entered: tuple[tuple[str, str], ...] = ()
    used: tuple[tuple[str, int], ...] = ()
    mistaken: tuple[str, ...] = ()
