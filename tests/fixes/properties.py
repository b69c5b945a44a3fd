"""What holds of every file that fixes have changed, whatever the file."""

from __future__ import annotations

import ast
import difflib
import io
import tokenize
import warnings
from collections import Counter
from typing import TYPE_CHECKING

from gradcheck_tool.fixes.apply import Fixed, fix_bytes
from gradcheck_tool.sources.source import Source, read_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from gradcheck_tool.config import Config
    from gradcheck_tool.findings import Finding
    from gradcheck_tool.session.files import FileChecker


class Fixing:
    """Fixes files, and says what of it is wrong.

    Attributes:
        source: the program that was examined last, as it was before fixes.
        findings: what was found in it.
        fixed: what fixes made of it, None where nothing was to be fixed.
        left: what is found in that.
    """

    def __init__(self, checker: FileChecker, config: Config) -> None:
        self._checker = checker
        self._config = config
        self._seen: dict[int, Source] = {}
        self._kept: list[Finding] = []

    def fix(self, data: bytes, path: Path) -> None:
        """Apply all fixes, unsafe ones included.

        Raises:
            SourceError: the file is no Python.
        """
        self.fixed: Fixed | None = None
        self.left: list[Finding] = []
        self.source = Source("", "")
        self.findings: list[Finding] = []
        self._seen.clear()
        self._kept.clear()
        examined = self._examine(data, path)
        if examined is None:
            return
        self.source, self.findings = examined
        if any(finding.fix for finding in self.findings):
            self.fixed = fix_bytes(data, lambda current: self._examine(current, path), unsafe=True)
            after = self._examine(self.fixed.data, path)
            self.left = after[1] if after else []

    def codes(self, data: bytes, path: Path) -> Counter[str]:
        """How often each rule finds something in a file.

        Raises:
            SourceError: the file is no Python.
        """
        examined = self._examine(data, path)
        return Counter(finding.code for finding in examined[1]) if examined else Counter()

    def violations(self, path: Path, hidden: Counter[str] | None = None) -> Iterator[str]:
        """What is wrong with the fixes that were made.

        `hidden` counts findings that errors which are mended may have kept from being seen.
        """
        fixed = self.fixed
        if fixed is None or not fixed.fixed:
            return
        before, after = self.source.text, read_source(str(path), fixed.data).text
        if compiles(before) and not compiles(after):
            yield "the file does not compile"
        if Counter(comments(before)) != Counter(comments(after)):
            yield f"comments differ: {set(comments(before)) ^ set(comments(after))}"
        for line in removed(before, after) - self._touched(fixed.fixed):
            yield f"a line that no fix is about is changed: {line!r}"
        again = fix_bytes(fixed.data, lambda current: self._examine(current, path), unsafe=True)
        if again.data != fixed.data:
            yield f"a second run fixes {[finding.code for finding in again.fixed]}"
        found, now = (Counter(finding.code for finding in some) for some in (self.findings, self.left))
        made = Counter(finding.code for finding in fixed.fixed)
        for code, count in now.items():
            # A fix may take findings of another rule with it.
            if count > max(found[code] - made[code], (hidden or Counter())[code], 0):
                yield f"{code}: {found[code]} found, {made[code]} fixed, {count} left"

    def _examine(self, data: bytes, path: Path) -> tuple[Source, list[Finding]]:
        examined = self._checker.examine(data, str(path), self._config)
        findings = [finding for finding in examined.findings if finding.location.filename == str(path)]
        self._kept += findings  # so that no other has the same identity
        self._seen.update((id(finding), examined.source) for finding in findings)
        return examined.source, findings

    def _touched(self, findings: Sequence[Finding]) -> set[str]:
        """The lines that the edits of fixes stand in."""
        touched: set[str] = set()
        for finding in findings:
            lines = self._seen[id(finding)].text.splitlines(keepends=True)
            for edit in finding.fix.edits if finding.fix else ():
                touched.update(lines[edit.start.row - 1 : edit.end.row])
        return touched


def compiles(text: str) -> bool:
    """Does Python compile a program?"""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<program>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def comments(text: str) -> Iterable[str]:
    """The comments of a program, as far as it can be read."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.string
    except (tokenize.TokenError, SyntaxError):
        return


def removed(before: str, after: str) -> set[str]:
    """The lines that are not there any more, with their ends."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    found: set[str] = set()
    for kind, start, end, _, _ in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            found.update(old[start:end])
    return found
