"""Which files to check: the paths as given, folders walked as git and the configuration see them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.config import CACHE_FOLDER, ConfigError
from gradcheck_tool.sources.patterns import PatternError, Patterns
from gradcheck_tool.trust.reading import MOST_OF_SETTINGS, RefusedFileError, read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gradcheck_tool.config import Config

SUFFIXES = (".py", ".pyi", ".ipynb")
# Where git keeps what it leaves out, in a folder.
IGNORE_FILES = (".gitignore", ".git/info/exclude")

# Alternatives in a pattern.
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


@dataclass
class Discovery:
    """Files to check, in a stable order, the paths that are not there, and folders that cannot be read.

    `folders` are those that were walked; `looked_at` are the places of ignore files above them.
    """

    files: list[Path] = field(default_factory=list)
    missing: list[Path] = field(default_factory=list)
    unreadable: list[Path] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    looked_at: set[Path] = field(default_factory=set)


def discover(
    paths: Iterable[Path],
    config_for: Callable[[Path], Config],
    *,
    respect_gitignore: bool = True,
    force_exclude: bool = False,
) -> Discovery:
    """Find the files that `paths` mean.

    A file that is named is checked whatever its suffix, and whatever git or the configuration
    exclude, unless `force_exclude`. Folders are walked; links to folders are not followed.

    Args:
        paths: files and folders.
        config_for: the configuration in force in a folder (absolute path).
        respect_gitignore: leave out what .gitignore files and .git/info/exclude leave out.
        force_exclude: apply the exclusions to named files as well, as hooks need it.
    """
    found: dict[Path, None] = {}
    result = Discovery()
    walker = _Walker(config_for, respect_gitignore, result)
    for path in paths:
        place = absolute(path)
        # The functions of os.path take what cannot be read for something that is not there.
        if os.path.isdir(place):  # noqa: PTH112
            found.update(dict.fromkeys(walker.walk(place)))
        elif os.path.exists(place):  # noqa: PTH110
            if not (force_exclude and is_excluded(place, config_for(place.parent))):
                found[place] = None
        else:
            result.missing.append(place)
    result.files = list(found)
    return result


def absolute(path: Path) -> Path:
    """The path from the root on, without `..`, as every file is known by. Links stay links."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - it resolves no link


def is_excluded(path: Path, config: Config) -> bool:
    """Whether a walk from the configuration's root would have left this file out.

    Raises:
        ConfigError: an exclusion of the configuration is no pattern.
    """
    return _Ignore(config.root, _exclusions(config)).covers(path, False)


class _Walker:
    def __init__(
        self, config_for: Callable[[Path], Config], respect_gitignore: bool, result: Discovery
    ) -> None:
        self._config_for = config_for
        self._respect_gitignore = respect_gitignore
        self._result = result

    def walk(self, start: Path) -> Iterator[Path]:
        """Files below a folder that was named.

        Naming a folder is a wish to see it: what excludes the folder as a whole does not count.
        """
        ignores = tuple(ignore for ignore in self._ignores_above(start) if not ignore.covers(start, True))
        yield from self._walk(start, start, ignores)

    def _walk(self, folder: Path, start: Path, ignores: tuple[_Ignore, ...]) -> Iterator[Path]:
        excluded = self._excluded(folder, start)
        if self._respect_gitignore:
            ignores = (*_ignores_in(folder), *ignores)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            self._result.unreadable.append(folder)
            return
        self._result.folders.append(folder)
        for entry in entries:
            path = folder / entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            wanted = (
                entry.name != CACHE_FOLDER if is_folder else entry.name.endswith(SUFFIXES) and _is_file(entry)
            )
            if not wanted:
                continue
            if excluded.decides(path, is_folder) or _is_ignored(ignores, path, is_folder):
                continue
            if is_folder:
                yield from self._walk(path, start, ignores)
            else:
                yield path

    def _excluded(self, folder: Path, start: Path) -> _Ignore:
        """The exclusions for a folder; below a start that they exclude or do not reach, from there on."""
        config = self._config_for(folder)
        excluded = _Ignore(config.root, _exclusions(config))
        if excluded.covers(start, True) or not start.is_relative_to(config.root):
            return _Ignore(start, excluded.patterns)
        return excluded

    def _ignores_above(self, folder: Path) -> tuple[_Ignore, ...]:
        """The ignore files of the folders between this one and the root of its repository."""
        if not self._respect_gitignore or _is_repository(folder):
            return ()
        collected: list[_Ignore] = []
        for parent in folder.parents:
            collected += _ignores_in(parent)
            self._result.looked_at.update(parent / name for name in (".git", *IGNORE_FILES))
            if _is_repository(parent):
                return tuple(collected)
        return ()


def _is_repository(folder: Path) -> bool:
    return os.path.exists(folder / ".git")  # noqa: PTH110 - see above


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether this is a file or leads to one; links that lead nowhere or in a circle do not."""
    try:
        return entry.is_file()
    except OSError:
        return False


@dataclass(frozen=True)
class _Ignore:
    """Patterns in gitignore's syntax, which hold below a folder."""

    root: Path
    patterns: Patterns

    def decides(self, path: Path, is_folder: bool) -> bool | None:
        """True to leave the path out, False to take it back in, None when no pattern matches."""
        relative = self._relative(path)
        return self.patterns.decides(relative, is_folder) if relative else None

    def covers(self, path: Path, is_folder: bool) -> bool:
        """Whether the path, or a folder that it lies in, is left out."""
        relative = self._relative(path)
        return bool(relative) and self.patterns.covers(relative, is_folder)

    def _relative(self, path: Path) -> str:
        """The path as seen from the root, with forward slashes; empty where it does not lie below it."""
        text = str(path)
        prefix = str(self.root).rstrip(os.sep) + os.sep
        return text[len(prefix) :].replace(os.sep, "/") if text.startswith(prefix) else ""


def _ignores_in(folder: Path) -> list[_Ignore]:
    """The ignore files of one folder, the one that wins first."""
    found = []
    for name in IGNORE_FILES:
        try:
            data = read_file(folder / name, MOST_OF_SETTINGS)
        except RefusedFileError as error:
            raise ConfigError(f"{folder / name}: {error.strerror}") from error
        except OSError:
            continue
        lines = data.decode("utf-8", errors="replace").splitlines()
        found.append(_Ignore(folder, _compiled_leniently(tuple(lines))))
    return found


def _is_ignored(ignores: tuple[_Ignore, ...], path: Path, is_folder: bool) -> bool:
    """What git says: the innermost ignore file with a matching pattern decides."""
    for ignore in ignores:
        verdict = ignore.decides(path, is_folder)
        if verdict is not None:
            return verdict
    return False


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> Patterns:
    return Patterns.of(patterns)


def _compiled_leniently(lines: tuple[str, ...]) -> Patterns:
    """The patterns of an ignore file; git passes over lines that are none, and so does this."""
    try:
        return _compiled(lines)
    except PatternError:
        return _compiled(tuple(filter(_is_pattern, lines)))


def _is_pattern(text: str) -> bool:
    """Whether this can be used as a gitignore-style pattern."""
    try:
        _compiled((text,))
    except PatternError:
        return False
    return True


@lru_cache(maxsize=64)
def _configured(patterns: tuple[str, ...], root: Path) -> Patterns:
    """Patterns of a configuration, which may have more forms than those of git's files, as in ruff."""
    return _compiled(tuple(_rooted(plain, root) for pattern in patterns for plain in _alternatives(pattern)))


def _alternatives(pattern: str) -> list[str]:
    """`{a,b}.py` as `a.py` and `b.py`; braces without a comma stand for themselves."""
    braces = _BRACES.search(pattern)
    if braces is None:
        return [pattern]
    before, after = pattern[: braces.start()], pattern[braces.end() :]
    return [found for word in braces[1].split(",") for found in _alternatives(f"{before}{word}{after}")]


def _rooted(pattern: str, root: Path) -> str:
    """`./build`, and the absolute path of something below the root, as the `/build` of gitignore files."""
    bare = pattern.removeprefix("!")
    sign = pattern[: len(pattern) - len(bare)]
    for start in (".", str(root).rstrip(os.sep)):
        if bare.startswith((f"{start}/", f"{start}{os.sep}")):
            return sign + bare[len(start) :].replace(os.sep, "/")
    return pattern


def _exclusions(config: Config) -> Patterns:
    patterns = (*config.exclude, *config.extend_exclude)
    try:
        return _configured(patterns, config.root)
    except PatternError as error:
        wrong = next(pattern for pattern in patterns if not _is_pattern(pattern))
        place = "" if config.source is None else f"{config.source}: "
        raise ConfigError(f"{place}exclude: {wrong!r} is not a pattern") from error


def matches_pattern(pattern: str, root: Path, path: Path) -> bool:
    """Whether a file matches a gitignore-style pattern, which starts from `root`, or with `!` does not.

    Raises:
        ConfigError: it is no pattern.
    """
    bare = pattern.removeprefix("!")
    try:
        patterns = _configured((bare,), root)
    except PatternError as error:
        raise ConfigError(f"per-file-ignores: {pattern!r} is not a pattern") from error
    return _Ignore(root, patterns).covers(path, False) == (bare == pattern)
