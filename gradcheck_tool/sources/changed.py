"""Which lines of files have changed since a commit, for `gradlint check --since`.

git is asked for files as they were, and for nothing else: what a repository's own configuration lets git run
on a diff (filters, text converters, file monitors) stays out of it.
"""

from __future__ import annotations

import os
import subprocess
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.sources.errors import SourceError
from gradcheck_tool.sources.source import read_source, split_lines
from gradcheck_tool.trust.reading import read_program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding, Location
    from gradcheck_tool.sources.source import Source

# These name another repository than the one that a file lies in; git sets them for hooks.
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")

# The rows of a file, or of one cell of a notebook, that have changed.
_Rows = dict["int | None", "set[int]"]


class GitError(Exception):
    """What has changed cannot be told; the text says why."""


class ChangedLines:
    """The lines that have changed between a commit and the files as they are.

    The commit is the one where the history of the named commit and that of HEAD part: what others have added
    to a branch since does not count.
    """

    def __init__(self, commit: str, folder: Path) -> None:
        """`commit` is a commit, branch or tag as git knows it; `folder` is where the command runs.

        Raises:
            GitError: the folder is in a repository that has no such commit.
        """
        self._commit = commit
        self._repositories: dict[Path, _Repository] = {}
        self._rows: dict[str, _Rows | None] = {}
        root = _root(folder)
        if root is not None:
            self._repository(root).base  # noqa: B018 - a misspelt commit is an error without findings, too

    def touch(self, finding: Finding) -> bool:
        """Whether the place of a finding, or a step of its story, lies on a changed line.

        Raises:
            GitError: a file of it is in no repository, or git cannot be asked.
        """
        return any(map(self._is_changed, (finding.location, *(step.location for step in finding.trace))))

    def _is_changed(self, location: Location) -> bool:
        if location.filename not in self._rows:
            self._rows[location.filename] = self._changed_rows(location.filename)
        changed = self._rows[location.filename]
        if changed is None:
            return True
        rows = changed.get(location.cell, ())
        return any(row in rows for row in range(location.start.row, location.end.row + 1))

    def _changed_rows(self, filename: str) -> _Rows | None:
        """The changed rows of a file; None where all of them are new."""
        path = Path(filename)
        root = _root(path.parent)
        if root is None:
            raise GitError(f"{filename} is not in a git repository")
        before = self._repository(root).data(path)
        if before is None:
            return None
        try:
            old, new = read_source(filename, before), read_source(filename, read_program(path))
        except (OSError, SourceError):
            return None
        return _difference(old, new)

    def _repository(self, root: Path) -> _Repository:
        if root not in self._repositories:
            self._repositories[root] = _Repository(root, self._commit)
        return self._repositories[root]


class _Repository:
    """One repository, as it was at a commit."""

    def __init__(self, root: Path, commit: str) -> None:
        self._root = root
        self._commit = commit

    @cached_property
    def base(self) -> str:
        """The commit that the files are compared with."""
        named = self._git(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{self._commit}^{{commit}}"
        )
        if named.returncode != 0:
            raise GitError(f"git knows no commit {self._commit!r} in {self._root}")
        commit = named.stdout.decode().strip()
        parted = self._git("merge-base", commit, "HEAD")
        return parted.stdout.decode().strip() if parted.returncode == 0 else commit

    def data(self, path: Path) -> bytes | None:
        """The bytes that a file had then; None where there was none of this name."""
        name = os.fsencode(path.relative_to(self._root).as_posix())
        if b"\n" in name:
            return None
        told = self._git("cat-file", "--batch", given=f"{self.base}:".encode() + name + b"\n").stdout
        head, _, rest = told.partition(b"\n")
        words = head.split()
        if len(words) < 3 or words[-2] != b"blob":
            return None
        return rest[: int(words[-1])]

    def _git(self, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        environment = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
        try:
            return subprocess.run(  # noqa: S603
                ["git", "-C", str(self._root), *words],  # noqa: S607 - the user's git, wherever it is
                input=given,
                capture_output=True,
                check=False,
                env={**environment, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"},
            )
        except OSError as error:
            raise GitError(f"git cannot be started: {error.strerror or error}") from error


def _root(folder: Path) -> Path | None:
    """The root of the repository that a folder lies in."""
    return next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), None)


def _difference(old: Source, new: Source) -> _Rows:
    if old.notebook is None or new.notebook is None:
        return {None: _new_rows(split_lines(old.text), split_lines(new.text))}
    before = {cell.source for cell in old.notebook.cells}
    return {
        cell.number: set(range(1, len(split_lines(cell.source)) + 1))
        for cell in new.notebook.cells
        if cell.source not in before
    }


def _new_rows(old: Sequence[str], new: Sequence[str]) -> set[int]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return {
        index + 1
        for kind, _, _, start, end in matcher.get_opcodes()
        if kind != "equal"
        for index in range(start, end)
    }
