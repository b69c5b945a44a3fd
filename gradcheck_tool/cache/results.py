"""The result cache: what checking a file gave, for as long as nothing that it depends on changes.

One JSON file for each way of checking (tool, rules, configuration).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from gradcheck_tool.cache.folder import why_foreign
from gradcheck_tool.cache.packing import pack, pair, unpack
from gradcheck_tool.cache.schema import SchemaError, each, items, number, optional_text, text
from gradcheck_tool.cache.store import forget_oldest, read_entries, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gradcheck_tool.findings import Finding

# `(importer, dotted name, dots)` of an import, and the digest of what it led to (None: no such file).
Import = tuple[str, str, int]
Dependency = tuple[Import, str | None]
Resolve = Callable[[Import], str | None]

# Ways of checking whose results stay: those of older versions and of selections long gone do not.
KEPT = 16


class Remembered(NamedTuple):
    """What checking a file gave: findings; of other files, functions entered and suppressions used.

    `unfinished` names the functions whose analysis reached the work limit, `mistaken` says what is wrong with
    suppression comments.
    """

    findings: tuple[Finding, ...]
    entered: tuple[tuple[str, str], ...] = ()
    used: tuple[tuple[str, int], ...] = ()
    unfinished: tuple[str, ...] = ()
    mistaken: tuple[str, ...] = ()


class ResultCache:
    """Results of one way of checking.

    Entries are `[digest, dependencies, findings, entered functions, used suppressions, unfinished functions,
    mistaken comments]` by file name.
    """

    def __init__(self, cache: Path, key: str) -> None:
        """`cache` is the cache folder; `key` names the way of checking."""
        self._cache = cache
        self._path = self._cache / f"check-{key}.json"
        self._entries = {} if why_foreign(self._cache) else read_entries(self._path)
        self._new: dict[str, list[Any]] = {}

    def get(self, filename: str, content: str, resolve: Resolve) -> Remembered | None:
        """What is remembered of a file, if neither it nor what it depends on has changed.

        Args:
            filename: absolute path.
            content: digest of the file's bytes.
            resolve: digest of what an import leads to now.
        """
        try:
            known = _Entry.of(self._entries.get(filename))
        except ValueError:
            return None
        if known.content != content:
            return None
        if any(resolve(asked) != found for asked, found in known.dependencies):
            return None
        return known.told

    def put(self, filename: str, content: str, dependencies: Sequence[Dependency], found: Remembered) -> None:
        """Remember a result until `save`."""
        packed = [[list(asked), digest] for asked, digest in dependencies]
        told = [pack(finding) for finding in found.findings]
        places = [
            list(map(list, found.entered)),
            list(map(list, found.used)),
            list(found.unfinished),
            list(found.mistaken),
        ]
        self._new[filename] = [content, packed, told, *places]

    def save(self) -> None:
        """Write what is new beside what other runs have written since. Failing to is no error."""
        if not self._new:
            return
        kept = {name: entry for name, entry in read_entries(self._path).items() if os.path.exists(name)}  # noqa: PTH110
        write(self._cache, self._path, {**kept, **self._new})
        forget_oldest(self._cache, "check-*.json", KEPT)
        self._new.clear()


class _Entry(NamedTuple):
    """What is remembered of a file, and what it depends on."""

    content: str
    dependencies: tuple[Dependency, ...]
    told: Remembered

    @classmethod
    def of(cls, packed: Any) -> _Entry:
        """An entry of the cache.

        Raises:
            ValueError: it is none.
        """
        content, dependencies, findings, entered, used, unfinished, mistaken = items(packed, 7)
        told = Remembered(
            each(findings, unpack),
            each(entered, pair),
            each(used, _comment),
            each(unfinished, text),
            each(mistaken, text),
        )
        return cls(text(content), each(dependencies, _dependency), told)


def _dependency(packed: Any) -> Dependency:
    asked, found = items(packed, 2)
    importer, dotted, level = items(asked, 3)
    if not isinstance(level, int) or isinstance(level, bool):
        raise SchemaError("not a number of dots")
    return (text(importer), text(dotted), level), optional_text(found)


def _comment(packed: Any) -> tuple[str, int]:
    name, row = items(packed, 2)
    return text(name), number(row)
