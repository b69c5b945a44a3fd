"""Watching what is read of a state, to tell later whether another state would be read the same.

The dictionaries of a state are exchanged for watched ones, which its forks share the watch of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _collections_abc import dict_items


class ReadSet:
    """What was read since watching began.

    `records`, `path_condition` and `memory` are the keys that were asked for, `variables` the frames and
    names. `spoiled` tells that more was read than these say. `forgets`: gradients of groups of parameters
    became unknown, if there were any. `cut` are functions that were not called, as they ran too often
    already. `compared` are the values of which it was asked how they compare.
    """

    __slots__ = (
        "compared",
        "cut",
        "forgets",
        "memory",
        "path_condition",
        "records",
        "spoiled",
        "variables",
    )

    def __init__(self) -> None:
        self.records: set[Any] = set()
        self.path_condition: set[Any] = set()
        self.memory: set[Any] = set()
        self.variables: set[tuple[int, str]] = set()
        self.spoiled = False
        self.forgets = False
        self.compared: set[Any] = set()
        self.cut: set[Any] = set()

    def add(self, inner: ReadSet) -> None:
        """Add what was read in a part of the time."""
        self.records |= inner.records
        self.path_condition |= inner.path_condition
        self.memory |= inner.memory
        self.variables |= inner.variables
        self.cut |= inner.cut
        self.spoiled |= inner.spoiled
        self.forgets |= inner.forgets
        self.compared |= inner.compared


class ReadTrackingDict(dict[Any, Any]):
    """A dictionary that adds the keys it is asked for to `seen`; going through all of it spoils the watch."""

    __slots__ = ("seen", "watch")

    def __init__(self, items: dict[Any, Any], watch: ReadSet, seen: set[Any]) -> None:
        super().__init__(items)
        self.watch = watch
        self.seen = seen

    def __getitem__(self, key: Any) -> Any:
        self.seen.add(key)
        return dict.__getitem__(self, key)

    def __contains__(self, key: Any) -> bool:
        self.seen.add(key)
        return dict.__contains__(self, key)

    def get(self, key: Any, default: Any = None) -> Any:
        self.seen.add(key)
        return dict.get(self, key, default)

    def items(self) -> dict_items[Any, Any]:
        self.watch.spoiled = True
        return dict.items(self)

    def copy(self) -> ReadTrackingDict:
        return type(self)(self, self.watch, self.seen)


class ReadTrackingHeap(ReadTrackingDict):
    """A heap that notices of a frame only the variables that are read."""

    __slots__ = ()

    def variable(self, frame: int, name: str) -> Any:
        """A variable of a frame."""
        self.watch.variables.add((frame, name))
        return dict.__getitem__(self, frame).locals.get(name)
