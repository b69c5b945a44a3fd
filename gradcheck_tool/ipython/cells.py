"""The cells that have run, as a notebook of its own, and the findings that a further one brings."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gradcheck_tool.findings import Finding

# The file that they would be in: the folder's configuration is in force, imports are looked for there.
NAME = "In.ipynb"
# Cells that are about gradlint itself.
_OWN = re.compile(r"\s*%(?:gradlint\b|load_ext\s+gradcheck_tool\b|reload_ext\s+gradcheck_tool\b)[^\n]*\s*")


class Cells:
    """Cells in the order in which they ran, by the number that IPython gives them (`In [3]`).

    A cell that ran twice is there twice: what it does the second time is part of the program.
    """

    def __init__(self, folder: Path, earlier: Mapping[int, str] | None = None) -> None:
        """`folder` is where the notebook runs (absolute); `earlier` are the cells that have run already."""
        self.filename = str(folder / NAME)
        self._folder = folder
        self._cells = {number: text for number, text in (earlier or {}).items() if not _OWN.fullmatch(text)}
        self._told: set[tuple[str, int | None, int, str]] = set()

    def text(self, number: int) -> str:
        """The source of a cell."""
        return self._cells.get(number, "")

    def add(self, number: int, text: str) -> None:
        """A cell runs, or has run."""
        if not _OWN.fullmatch(text):
            self._cells[number] = text

    def drop(self, number: int) -> None:
        """A cell has failed: how much of it was done nobody knows, and it is usually mended and run again."""
        self._cells.pop(number, None)

    def all(self) -> list[Finding]:
        """The findings in all cells.

        Raises:
            ConfigError: a configuration cannot be used.
        """
        from gradcheck_tool.session.session import Options, Session

        # Each time a new session: configurations and modules beside the notebook may have changed.
        return Session(self._folder, Options()).check_text(self._notebook(), self.filename).findings

    def new(self) -> list[Finding]:
        """The findings in all cells that were not told yet.

        Raises:
            ConfigError: a configuration cannot be used.
        """
        found = {_key(finding): finding for finding in self.all()}
        fresh = [finding for key, finding in found.items() if key not in self._told]
        self._told.update(found)
        return fresh

    def _notebook(self) -> bytes:
        """A notebook in which the number of a cell is that of its run."""
        last = max(self._cells, default=0)
        cells: list[dict[str, Any]] = [
            {"cell_type": "code", "metadata": {}, "outputs": [], "source": self._cells[number]}
            if number in self._cells
            else {"cell_type": "markdown", "metadata": {}, "source": ""}
            for number in range(1, last + 1)
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def _key(finding: Finding) -> tuple[str, int | None, int, str]:
    location = finding.location
    return finding.code, location.cell, location.start.row, finding.message
