"""Whether gradients are recorded where the functions of a repository are called, up to the scripts.

Functions and methods are found by their names, wherever they are mentioned: what is handed on may be called
there. Objects that are called are found by the names under which they are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gradcheck_tool.session.repository import Repository
    from gradcheck_tool.session.uses import ReadUses, Use, Uses

# A unit: its file, the class it is a method of (if any), and its name.
Unit = tuple["Path", str, str]

# How many units are followed; who calls more is not known.
MOST_UNITS = 200
_CALLED = frozenset({"__call__", "forward"})
# Frameworks call these themselves, without gradients.
_HOOKS = frozenset({"predict_step", "test_step", "validation_step"})


class Callers:
    """The callers of functions in the files of one repository."""

    def __init__(self, repository: Repository, path: Path, read: ReadUses) -> None:
        self._repository = repository
        self._path = path
        self._read = read
        self._texts = repository.texts(path)
        self._uses: dict[Path, Uses | None] = {}

    def record_nothing(self, unit: str, *, reading_out: bool = False) -> bool:
        """Is a function called, and does no way from a script to it record gradients?

        Args:
            unit: the function.
            reading_out: it makes no difference to calls of which only the number is used.
        """
        cls, name = _parts(unit)
        seen: dict[Unit, None] = {(self._path, cls, name): None}
        waiting = list(seen)
        is_silent = False
        while waiting:
            uses = list(self._uses_of(waiting.pop()))
            silent = [use for _, use in uses if _is_silent(use) or (reading_out and use.is_read_out)]
            recording = {(path, use.cls, use.function) for path, use in uses if use not in silent}
            reading_out = False  # what a caller does with its own result says nothing of this one
            if not uses or None in self._uses.values() or any(not function for _, _, function in recording):
                return False
            is_silent = is_silent or bool(silent)
            new = recording - seen.keys()
            if len(seen) + len(new) > MOST_UNITS:
                return False
            seen.update(dict.fromkeys(new))
            waiting += new
        return is_silent

    def differentiate(self, unit: str) -> bool:
        """Is a function used in functions alone that compute gradients themselves, or record none?

        They are executed with what they call, which shows how that is used.
        """
        uses = [use for _, use in self._uses_of((self._path, *_parts(unit)))]
        return bool(uses) and all(use.differentiates or _is_silent(use) for use in uses)

    def _uses_of(self, unit: Unit) -> Iterator[tuple[Path, Use]]:
        path, cls, name = unit
        if name == "__init__":
            yield from self._named(cls)
        elif name in _CALLED and cls:
            yield from self._of_objects(path, cls)
        elif not name.startswith("__"):
            family = self._repository.family(path, cls) if cls else None
            is_hidden = family is not None and self._is_hidden(cls, name, family)
            for other, use in self._named(name):
                if is_hidden and use.receiver not in ("", "self", cls):
                    continue
                if self._may_mean(use, other, path, name, family) and self._takes(unit, use):
                    yield other, use

    def _is_hidden(self, cls: str, name: str, family: set[str]) -> bool:
        """Has every class of a family of which objects are made a method of its own in the place of this one?

        Objects have those then: this one is called by them alone, as that of the base.
        """
        made = [each for each in family if any(use.is_called for _, use in self._named(each))]
        return bool(made) and cls not in made and all(self._has_own(each, name) for each in made)

    def _has_own(self, cls: str, name: str) -> bool:
        found = (self._of(path) for path in self._mentioning(cls))
        return any(uses is not None and (cls, name) in uses.functions for uses in found)

    def _may_mean(self, use: Use, other: Path, path: Path, name: str, family: set[str] | None) -> bool:
        """May a name in a file mean a function (`family` is None), or a method of classes?"""
        if family is None:
            return use.receiver is not None or other == path or not self._defines(other, name)
        return use.receiver is not None and (use.receiver != "self" or not use.cls or use.cls in family)

    def _takes(self, unit: Unit, use: Use) -> bool:
        """Can the unit get the arguments of a use that calls it?

        A method that is called as one of its class gets its object, too.
        """
        path, cls, name = unit
        uses = self._of(path)
        parameters = uses.functions.get((cls, name)) if uses is not None else None
        if parameters is None or use.given is None or (cls and use.receiver == cls):
            return True
        return parameters.take(use.given)

    def _defines(self, path: Path, name: str) -> bool:
        uses = self._of(path)
        return uses is not None and name in uses.defined

    def _of_objects(self, path: Path, cls: str) -> Iterator[tuple[Path, Use]]:
        """The calls of the objects of a class; modules are called in training, too."""
        if self._repository.is_module(path, cls):
            return
        known = {cls}
        waiting = [cls]
        while waiting:
            name = waiting.pop()
            for other in self._mentioning(name):
                uses = self._of(other)
                more = uses.kept_as(known) - known if uses is not None else set()
                known |= more
                waiting += more
        for name in sorted(known - {cls}):
            yield from ((other, use) for other, use in self._named(name) if use.is_called)

    def _named(self, name: str) -> Iterator[tuple[Path, Use]]:
        for other in self._mentioning(name):
            uses = self._of(other)
            yield from ((other, use) for use in (uses.named.get(name, ()) if uses is not None else ()))

    def _mentioning(self, name: str) -> list[Path]:
        word = name.encode()
        return [path for path, data in self._texts.items() if word in data]

    def _of(self, path: Path) -> Uses | None:
        """The names that a file uses; None where it is not Python, as a notebook is not."""
        if path not in self._uses:
            text = self._texts.get(path)
            self._uses[path] = self._read.of(text) if text is not None else None
        return self._uses[path]


def _is_silent(use: Use) -> bool:
    """Does what makes a use record nothing, whoever calls that?"""
    return use.without or use.function in _HOOKS


def _parts(unit: str) -> tuple[str, str]:
    """The class that a unit is a method of (if any), and its name."""
    outer, _, name = unit.rpartition(".")
    last = outer.rpartition(".")[2]
    return ("" if last == "<locals>" else last), name
