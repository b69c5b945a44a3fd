"""Where something happens: the user's own frames, interned, so that a place costs one look-up."""

from __future__ import annotations

import ast
import dis
import linecache
import os
import re
import sys
import sysconfig
import weakref
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcheck_tool.findings import Location, Position
from gradcheck_tool.sanitizer.module_paths import CALL, called_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType, TracebackType

_DEPTH = 5
"""So many of the user's frames tell where something happens."""

_OURS = str(Path(__file__).parents[1]) + os.sep
_PATHS = sysconfig.get_paths()
_MACHINERY = (_OURS, "<frozen")
_MACHINES = tuple(package + os.sep for package in ("torch", "_pytest", "pluggy"))
"""Packages whose code is on the way from the user's to an operation."""
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
"""Where packages are installed: an environment may take those of another one, and those of the user."""
_STANDARD = tuple({_PATHS[key] + os.sep for key in ("stdlib", "platstdlib")})

_COMPREHENSIONS = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")

_USER, _LIBRARY, _MACHINE = range(3)
_kinds: dict[str, int] = {}


class Site:
    """A place in the program.

    Attributes:
        frames: as code and instruction, the innermost first.
        module: the path of the innermost module that is called there, from the outermost one; empty for that.
    """

    __slots__ = ("__dict__", "_owner", "frames", "module")

    def __init__(self, frames: tuple[tuple[CodeType, int], ...], owner: Any = None, module: str = "") -> None:
        self.frames = frames
        self.module = module
        self._owner = None if owner is None else weakref.ref(owner)

    def is_in(self, owner: Any) -> bool:
        """Is it a place in the call of this very module?"""
        return self._owner is None or self._owner() is owner

    def is_gone(self) -> bool:
        """Is the module gone that was called there?"""
        return self._owner is not None and self._owner() is None

    @cached_property
    def location(self) -> Location:
        """The expression that was being evaluated in the innermost frame."""
        return _location(*self.frames[0])

    @cached_property
    def text(self) -> str:
        """Its source text, on one line; the whole assignment where an item is assigned."""
        text = source_text(self.location)
        return _assignment(self.location, text) if text and _stores_item(*self.frames[0]) else text

    @cached_property
    def function(self) -> str:
        """The function it stands in."""
        return self.frames[0][0].co_name

    @property
    def callers(self) -> Iterator[Location]:
        """The calls that led there, the nearest first."""
        return (_location(*frame) for frame in islice(self.frames, 1, None))

    @property
    def calls(self) -> Iterator[tuple[int, Location]]:
        """The calls of functions that led there, each with the number of its frame."""
        for index, ((callee, _), caller) in enumerate(pairwise(self.frames), 1):
            if callee.co_name not in _COMPREHENSIONS:
                yield index, _location(*caller)

    def parts_from(self, other: Site) -> int | None:
        """Which of the frames is the one that both places were reached from, by different ways?

        None where they have none in common, or it is not known any more.
        """
        codes = [code for code, _ in other.frames]
        found = None
        for index in reversed(range(len(self.frames))):
            code, instruction = self.frames[index]
            if code not in codes:
                if found is None:
                    continue  # the other way is not known that far out
                break
            reached = codes.index(code)
            found = index
            if other.frames[reached][1] != instruction:
                break
            del codes[reached:]
        return found


class _Known(dict[tuple[int, ...], Site]):
    """The sites that are known, by frames and module; those of modules that are gone are forgotten."""

    _room = 4096

    def __setitem__(self, key: tuple[int, ...], site: Site) -> None:
        super().__setitem__(key, site)
        if len(self) > self._room:
            for old, one in list(self.items()):
                if one.is_gone():
                    self.pop(old, None)
            self._room = max(type(self)._room, 2 * len(self))


_sites = _Known()


def site_of(frame: FrameType | None) -> Site | None:
    """The user's frames from here outwards; those of a library where the user has none.

    None where there are neither: the program has not begun, or has ended.
    """
    found: list[tuple[CodeType, int]] = []
    key: list[int] = []
    library: tuple[CodeType, int] | None = None
    owner: Any = None
    start = frame
    while frame is not None:
        code = frame.f_code
        if owner is None and code.co_name == CALL:
            owner = frame.f_locals.get("self")
        kind = _kinds.get(code.co_filename)
        if kind is None:
            kind = _kind(code.co_filename)
        if kind == _USER:
            found.append((code, frame.f_lasti))
            key += (id(code), frame.f_lasti)
            if len(found) == _DEPTH:
                break
        elif kind == _LIBRARY and library is None:
            library = (code, frame.f_lasti)
        frame = frame.f_back
    if not found:
        if library is None:
            return None
        found = [library]
        key = [id(library[0]), library[1]]
    key.append(id(owner))
    site = _sites.get(tuple(key))
    if site is None or not site.is_in(owner):
        site = _sites[tuple(key)] = Site(tuple(found), owner, called_path(start) if owner is not None else "")
    return site


def here() -> Site | None:
    """The place that the program has reached."""
    return site_of(sys._getframe(1))


# A compiler that meets it in what it compiles is not to look into it, and to warn of what it finds.
vars(here)["_torchdynamo_disable"] = True


def site_of_traceback(traceback: TracebackType | None) -> Site | None:
    """The user's frames that an exception came through."""
    frames: list[tuple[CodeType, int]] = []
    library: list[tuple[CodeType, int]] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        kind = _kind(code.co_filename)
        if kind == _USER:
            frames.append((code, traceback.tb_lasti))
        elif kind == _LIBRARY:
            library.append((code, traceback.tb_lasti))
        traceback = traceback.tb_next
    chosen = frames or library
    return Site(tuple(reversed(chosen))) if chosen else None


def only_return(code: CodeType) -> Location | None:
    """The place where a function returns; None where there are several."""
    ends = (one for one in dis.get_instructions(code) if one.opname.startswith("RETURN_"))
    places = {_location(code, one.offset) for one in ends if one.opname != "RETURN_GENERATOR"}
    return places.pop() if len(places) == 1 else None


def only_use(code: CodeType, name: str) -> Location | None:
    """The row in which a function calls a method; None where there are several."""
    rows = {
        _row(code, one.offset)
        for one in dis.get_instructions(code)
        if one.argval == name and one.opname in ("LOAD_ATTR", "LOAD_METHOD")
    }
    return whole_row(code.co_filename, rows.pop()) if len(rows) == 1 else None


def reads_attribute(code: CodeType, name: str) -> bool:
    """May a function read this attribute of its first argument? It may if it hands that on to others."""
    instructions = list(dis.get_instructions(code))
    owner = code.co_varnames[0] if code.co_argcount else ""
    for one, following in pairwise(instructions):
        loaded = one.argval if isinstance(one.argval, tuple) else (one.argval,)
        if owner in loaded and one.opname.startswith("LOAD_"):
            is_last = loaded[-1] == owner
            if not is_last or following.opname not in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR"):
                return True
            if following.argval == name and following.opname != "STORE_ATTR":
                return True
    return owner in code.co_cellvars


def binds_argument(function: Any, index: int) -> bool:
    """Does a Python function bind one of its arguments to something else?"""
    index += hasattr(function, "__self__")
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None or code.co_argcount <= index:
        return False
    name = code.co_varnames[index]
    return any(one.opname.startswith("STORE_") and one.argval == name for one in dis.get_instructions(code))


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """The frames of a traceback that the program would have without us."""
    while traceback is not None and is_ours(traceback.tb_frame.f_code.co_filename):
        traceback = traceback.tb_next
    if traceback is not None:
        traceback.tb_next = without_ours(traceback.tb_next)
    return traceback


def is_ours(filename: str) -> bool:
    """Is a file one of this package?"""
    return filename.startswith(_OURS)


def is_users(filename: str) -> bool:
    """Is a file one that the user wrote?"""
    return not filename.startswith("<") and _kind(filename) == _USER


def absolute(filename: str) -> str:
    """The name by which the file of some code is told."""
    return filename if filename.startswith("<") else str(Path(filename).absolute())


def is_program(filename: str) -> bool:
    """Is a file one of the program, and of no library?"""
    return _kind(filename) == _USER


def _kind(filename: str) -> int:
    kind = _kinds.get(filename)
    if kind is None:
        installed = _INSTALLED.search(filename)
        if filename.startswith(_MACHINERY):
            kind = _MACHINE
        elif installed is not None:
            kind = _MACHINE if filename.startswith(_MACHINES, installed.end()) else _LIBRARY
        else:
            kind = _MACHINE if filename.startswith(_STANDARD) else _USER
        _kinds[filename] = kind
    return kind


def _location(code: CodeType, instruction: int) -> Location:
    filename = absolute(code.co_filename)
    if sys.version_info >= (3, 11):
        row, end_row, start, end = next(
            islice(code.co_positions(), max(instruction, 0) // 2, None), (None, None, None, None)
        )
        if row is not None and end_row is not None and start is not None and end is not None:
            return Location(
                filename,
                Position(row, column(code.co_filename, row, start)),
                Position(end_row, column(code.co_filename, end_row, end)),
            )
    return whole_row(code.co_filename, _row(code, instruction))


def _stores_item(code: CodeType, instruction: int) -> bool:
    return instruction >= 0 and dis.opname[code.co_code[instruction]] == "STORE_SUBSCR"


def _assignment(target: Location, text: str) -> str:
    """What assigns an item, of which Python tells the place of that item."""
    row = whole_row(target.filename, target.start.row)
    with suppress(SyntaxError):
        ast.parse("\n".join(source_lines(row)))
        return source_text(row)
    return f"{text} = ..."


def _row(code: CodeType, instruction: int) -> int:
    for first, last, row in code.co_lines():
        if first <= instruction < last and row is not None:
            return row
    return code.co_firstlineno


def column(filename: str, row: int, offset: int) -> int:
    """The 1-based column in characters of an offset in bytes."""
    line = linecache.getline(filename, row).encode()
    return len(line[:offset].decode(errors="replace")) + 1


def first_row(place: Location) -> Location:
    """A place without what follows its first row: the block of a `with`."""
    if place.start.row == place.end.row:
        return place
    return replace(place, end=whole_row(place.filename, place.start.row).end)


def whole_row(filename: str, row: int) -> Location:
    """All that stands in a row."""
    line = linecache.getline(filename, row).rstrip("\n")
    indent = len(line) - len(line.lstrip())
    return Location(
        absolute(filename), Position(row, indent + 1), Position(row, max(len(line), indent + 1) + 1)
    )


def source_lines(location: Location) -> list[str]:
    """The source text of a place by lines; empty ones where there is no source."""
    first, last = location.start, location.end
    lines = [linecache.getline(location.filename, row).rstrip("\n") for row in range(first.row, last.row + 1)]
    lines[-1] = lines[-1][: last.column - 1]
    lines[0] = lines[0][first.column - 1 :]
    return lines


def source_text(location: Location) -> str:
    """The source text of a place, on one line and not too long; empty where there is no source."""
    lines = source_lines(location)
    if not any(lines):
        return ""
    text = re.sub(r"\s+", " ", " ".join(line.strip() for line in lines))
    return text if len(text) <= 60 else f"{text[:57]}..."
