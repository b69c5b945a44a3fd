"""One trigger, looked for in the functions of one file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.triage.conditions import BY_NAME, holds
from gradcheck_tool.triage.file_text import FileText, compiled, has_any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.ir.outline import Unit
    from gradcheck_tool.trigger import Trigger


class Look:
    """What a trigger looks for in one file, with the names that the file's imports give it."""

    def __init__(self, trigger: Trigger, source: str) -> None:
        self.trigger = trigger
        self._pattern = compiled(trigger.pattern) if trigger.pattern else None
        self._ignored = compiled(trigger.ignoring) if trigger.ignoring else None
        self._imported = [(name, compiled(pattern)) for name, pattern in _imported(trigger, source)]

    @property
    def words(self) -> tuple[str, ...]:
        """Texts, one of which is in all code that matches; an empty one where any code may."""
        return (*self.trigger.words, *(name for name, _ in self._imported)) or ("",)

    @property
    def has_pattern(self) -> bool:
        """Is there something to be found in code? Else the condition alone says what is worth executing."""
        return bool(self.trigger.word or self._pattern)

    def allows(self, file: FileText, unit: Unit) -> bool:
        """Does the condition hold of a function, where there is one?"""
        where = self.trigger.where
        return where is None or holds(where, file, unit)

    def finds(self, file: FileText, unit: Unit, code: str) -> bool:
        """Does the condition hold of a function whose code has the pattern? The quicker is asked first."""
        if self.trigger.where in BY_NAME:
            return self.allows(file, unit) and self.matches(code)
        return self.matches(code) and self.allows(file, unit)

    def matches(self, code: str) -> bool:
        """Is the pattern in code that has one of the words?"""
        return self._matches(code) or any(
            name in code and pattern.search(code) is not None for name, pattern in self._imported
        )

    def _matches(self, code: str) -> bool:
        if self._ignored is not None:
            code = self._ignored.sub("", code)
        if self._pattern is not None:
            return self._pattern.search(code) is not None
        return has_any(code, self.trigger.words)


def _imported(trigger: Trigger, source: str) -> Iterator[tuple[str, str]]:
    """The names that imports of a file give to what a trigger looks for, with their patterns."""
    if trigger.is_name:
        for other in re.findall(rf"{trigger.pattern}\s+as\s+(\w+)", source):
            yield other, rf"\b{other}\b"
    for module in trigger.imported_from:
        for name in _imports_from(module, source):
            yield name, rf"\b{name}\("


def _imports_from(module: str, source: str) -> Iterator[str]:
    head = f"from {module} import "
    if head not in source:
        return
    for names in compiled(rf"{re.escape(head)}(\([^)]*\)|.*)").findall(source):
        for part in names.strip("()").split(","):
            name = part.split("#")[0].split(" as ")[-1].strip()
            if name.isidentifier() and "_" not in (name[0], name[-1]):
                yield name
