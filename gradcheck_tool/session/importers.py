"""The files of a repository that lead to a few of its files through what they import.

A mistake in one file may only show where another uses it: a layer that a training script differentiates, a
helper that a trainer calls. Where a few files are checked, those that use them are executed as well, so that
a finding does not depend on which files a command names.
"""

from __future__ import annotations

from os import fsencode
from typing import TYPE_CHECKING

from gradcheck_tool.ir.files import is_called_like_tests
from gradcheck_tool.triage.imported import differentiates, imports_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.session.import_graph import ImportGraph
    from gradcheck_tool.session.repository import Repository

# Of so many files that are checked, those are looked for that import them; more are a repository's part.
FEW = 16
# How many imports there may be in a row, how many files are executed in all, and of how many characters: the
# first of them whatever its length.
STEPS = 3
MOST = 8
LENGTH = 48_000


class Importers:
    """Looks for the files that import others."""

    def __init__(self, repository: Repository, graph: ImportGraph) -> None:
        self._repository = repository
        self._graph = graph

    def of(self, checked: Sequence[Path]) -> list[Path]:
        """The other files that import these, directly or through others.

        What trains comes first, then what is near, and what is short.
        """
        if len(checked) > FEW:
            return []
        texts = {path: data for each in checked for path, data in self._repository.texts(each).items()}
        steps: dict[Path, int] = {}
        seen = {*checked}
        near = seen & texts.keys()
        for step in range(STEPS):
            names = {fsencode(path.parent.name if path.stem == "__init__" else path.stem) for path in near}
            others = [path for path in texts if path not in seen]
            naming = [path for path in others if any(name in texts[path] for name in names)]
            near = {path for path in naming if self._imports(path, texts[path], near)}
            seen |= near
            steps.update((path, step) for path in near if path.stem != "__init__")

        def rank(path: Path) -> tuple[bool, bool, int, int, Path]:
            text = texts[path]
            return not differentiates(text), is_called_like_tests(str(path)), steps[path], len(text), path

        found: list[Path] = []
        left = LENGTH
        for path in sorted(steps, key=rank):
            if len(found) < MOST and (not found or len(texts[path]) <= left):
                found.append(path)
                left -= len(texts[path])
        return found

    def _imports(self, importer: Path, data: bytes, targets: set[Path]) -> bool:
        """Does a file import one of these?"""
        found = (path for one in imports_in(data) for path in self._graph.files_of(importer, one))
        return not targets.isdisjoint(found)


def is_about(finding: Finding, filenames: Iterable[str]) -> bool:
    """Does a finding, or a step of its story, stand in one of these files?"""
    places = {finding.location.filename, *(step.location.filename for step in finding.trace)}
    return not places.isdisjoint(filenames)
