"""`[tool.gradlint]` in pyproject.toml, or gradlint.toml: reading, checking, and which file is in force.

The configuration of a file is the nearest one above it. A gradlint.toml (or .gradlint.toml) wins over the
pyproject.toml beside it, and a pyproject.toml without `[tool.gradlint]` is passed over. Configurations are
merged only where one names another in `extend`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcheck_tool.spelling import nearest
from gradcheck_tool.toml_text import NotTomlError, parse_toml
from gradcheck_tool.trust.reading import MOST_OF_SETTINGS, RefusedFileError, read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# The folder of results beside a configuration.
CACHE_FOLDER = ".gradlint_cache"

FILE_NAMES = (".gradlint.toml", "gradlint.toml", "pyproject.toml")
# Stands for the file of what the command line says in the manner of one.
COMMAND_LINE = Path("--config")

# Folders that hold no source of the project's own, as in ruff.
DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pypackages__",
    "_build",
    "buck-out",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)

_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")

# Keys that decide which rules are in force, and keys whose values add to those of an extended file.
_SELECTION = ("select", "extend-select", "ignore")
_ADDED = (
    *("extend-select", "ignore", "extend-exclude", "per-file-ignores"),
    *("rule-packs", "model-packs", "gradcheck"),
)


class ConfigError(Exception):
    """The configuration cannot be used; the text names the file, the key and what would be right."""


@dataclass(frozen=True)
class Config:
    """What is in force for a file.

    Attributes:
        root: folder that the patterns and relative paths of the configuration start from.
        source: the file it came from, or None for the defaults.
        select, extend_select, ignore: rule selectors: codes, prefixes, `ALL`, `default`.
        per_file_ignores: pattern of files to the selectors ignored there.
        exclude, extend_exclude: gitignore-style patterns of what is not checked.
        rule_packs: folders of further rules.
        model_packs: folders of further models of libraries.
        untrusted: folders of both kinds that are left out: the user has not consented to them.
        target_torch: torch version that the code is written for, such as `2.6`; None is the newest.
        baseline: file of findings that are known and not reported.
        strict: report only what assumes nothing beyond the code.
        report_unused_suppressions: also report comments that suppress nothing (GL001).
        fixable, unfixable: selectors of the rules whose fixes are offered, and of those whose fixes are not.
        preview: also apply rules that are still being tried out.
        ignore_comments: report what suppression comments suppress, too.
        cache_folder: where results are kept in place of a folder of the root.
        gradcheck: the table of the run-time engine, which checks it itself.
        files: the file it came from and those that this one extends.
        origins: the files that set a key or added to it, by the key as it is spelt there; a key that
            has none is the default or comes from an option of its own.
    """

    root: Path
    source: Path | None = None
    select: tuple[str, ...] = ("default",)
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    rule_packs: tuple[Path, ...] = ()
    model_packs: tuple[Path, ...] = ()
    untrusted: tuple[Path, ...] = ()
    target_torch: str | None = None
    baseline: Path | None = None
    strict: bool = False
    report_unused_suppressions: bool = False
    fixable: tuple[str, ...] = ("ALL",)
    unfixable: tuple[str, ...] = ()
    preview: bool = False
    ignore_comments: bool = False
    cache_folder: Path | None = None
    gradcheck: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Path, ...] = field(default=(), compare=False, repr=False)
    origins: Mapping[str, tuple[Path, ...]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def cache(self) -> Path:
        """The folder of results and of recorded calls."""
        return self.cache_folder or self.root / CACHE_FOLDER

    def origin(self, key: str) -> Path | None:
        """The file that has the last word about a key."""
        return (self.origins.get(key) or (None,))[-1]


@dataclass(frozen=True)
class Overrides:
    """What the command line says about configurations.

    Attributes:
        isolated: no file is read; the defaults are in force.
        path: this file is in force everywhere, whatever lies nearer.
        settings: texts `KEY = VALUE` in TOML, which count like a file that extends the one in force.
        select: replaces the configuration's whole selection (select, extend-select, ignore).
        extend_select, ignore: come on top.
        exclude: replaces the patterns; `extend_exclude` comes on top.
        target_torch, baseline: replace the configuration's.
        strict, preview, report_unused_suppressions: turn these on; `no_baseline` leaves the baseline out.
        fixable, unfixable: replace the configuration's.
        ignore_comments, cache_folder: as in `Config`; no configuration says these.
        trust: the user consents to all packs, for this run.
    """

    isolated: bool = False
    path: Path | None = None
    settings: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    extend_exclude: tuple[str, ...] = ()
    target_torch: str | None = None
    baseline: Path | None = None
    no_baseline: bool = False
    strict: bool = False
    report_unused_suppressions: bool = False
    fixable: tuple[str, ...] = ()
    unfixable: tuple[str, ...] = ()
    preview: bool = False
    ignore_comments: bool = False
    cache_folder: Path | None = None
    trust: bool = False

    def apply(self, config: Config) -> Config:
        """The configuration with the command line's wishes."""
        selection = _reselected(config, self.select) if self.select else config
        origins = {
            key: paths for key, paths in selection.origins.items() if not getattr(self, _field(key), None)
        }
        return replace(
            selection,
            origins=origins,
            extend_select=selection.extend_select + self.extend_select,
            ignore=selection.ignore + self.ignore,
            exclude=self.exclude or config.exclude,
            extend_exclude=config.extend_exclude + self.extend_exclude,
            target_torch=self.target_torch or config.target_torch,
            baseline=None if self.no_baseline else self.baseline or config.baseline,
            strict=self.strict or config.strict,
            preview=self.preview or config.preview,
            report_unused_suppressions=self.report_unused_suppressions or config.report_unused_suppressions,
            fixable=self.fixable or config.fixable,
            unfixable=self.unfixable or config.unfixable,
            ignore_comments=self.ignore_comments,
            cache_folder=self.cache_folder,
        )


def config_in(folder: Path) -> Path | None:
    """The configuration file that a folder itself holds.

    Raises:
        ConfigError: a pyproject.toml that mentions gradlint is not TOML.
    """
    for name in FILE_NAMES:
        candidate = folder / name
        # Unlike Path.is_file, this takes a folder that cannot be entered for one without files.
        if os.path.isfile(candidate) and (name != "pyproject.toml" or _has_section(candidate)):  # noqa: PTH113
            return candidate
    return None


def load_config(path: Path, extending: tuple[Path, ...] = ()) -> Config:
    """Read one configuration file and those that it extends.

    Args:
        path: the file.
        extending: the files that led here by `extend`, the outermost first.

    Raises:
        ConfigError: it is missing, is not TOML, extends itself, or has an unknown key or a value of the
            wrong kind.
    """
    if path in extending:
        raise ConfigError(f"{extending[-1]}: `extend` is circular: {path} extends this file")
    return parse_config(_table(path), path, extending)


def parse_config(table: Mapping[str, Any], path: Path, extending: tuple[Path, ...] = ()) -> Config:
    """Check the table of one configuration file, and resolve its paths against the file's folder.

    Raises:
        ConfigError: an unknown key or a value of the wrong kind, here or in a file that it extends.
    """
    values = _Reader(table, path, path.parent).values()
    extended = values.pop("extend", None)
    base = Config(path.parent) if extended is None else _extended(extended, (*extending, path))
    return replace(_extending(base, values, path), root=path.parent, source=path, files=(*base.files, path))


def _extended(path: Path, extending: tuple[Path, ...]) -> Config:
    if not path.exists():
        raise ConfigError(f"{extending[-1]}: extend: {path} does not exist")
    return load_config(path, extending)


def with_settings(config: Config, settings: tuple[str, ...], folder: Path) -> Config:
    """A configuration extended by settings of the command line, whose paths start from a folder."""
    for text in settings:
        values = _Reader(_parsed(text, f"{COMMAND_LINE}: {text}"), COMMAND_LINE, folder).values()
        if "extend" in values:
            raise ConfigError(f"{COMMAND_LINE}: `extend` is not supported here; name the file itself")
        config = _extending(config, values, COMMAND_LINE)
    return config


def _extending(base: Config, values: Mapping[str, Any], origin: Path) -> Config:
    """A configuration with the values of one that extends it."""
    if "select" in values:
        base = _reselected(base, values["select"])
    added = {key: _added(key, value, base) for key, value in values.items()}
    before = {key: base.origins.get(key, ()) if key in _ADDED else () for key in values}
    origins = {**base.origins, **{key: (*before[key], origin) for key in values}}
    return replace(base, origins=origins, **{_field(key): value for key, value in added.items()})


def _reselected(config: Config, select: tuple[str, ...]) -> Config:
    """A configuration whose selection starts anew: what was added to the old one or left out is gone."""
    origins = {key: paths for key, paths in config.origins.items() if key not in _SELECTION}
    return replace(config, select=select, extend_select=(), ignore=(), origins=origins)


def _added(key: str, value: Any, base: Config) -> Any:
    """The value of a key: what the extended configuration has for it goes before, or is replaced."""
    if key not in _ADDED:
        return value
    before = getattr(base, _field(key))
    return {**before, **value} if isinstance(value, dict) else (*before, *value)


def _field(key: str) -> str:
    return key.replace("-", "_")


def is_version(text: str) -> bool:
    """Whether this can be a `target-torch`."""
    return _VERSION.fullmatch(text) is not None


def _has_section(pyproject: Path) -> bool:
    # Parsing every pyproject.toml on the way up would cost more than looking for the word.
    try:
        if b"gradlint" not in read_file(pyproject, MOST_OF_SETTINGS):
            return False
    except RefusedFileError as error:
        raise ConfigError(f"{pyproject}: {error.strerror}") from error
    except OSError:
        return False
    tools = _toml(pyproject).get("tool")
    return isinstance(tools, dict) and "gradlint" in tools


def _table(path: Path) -> Mapping[str, Any]:
    document = _toml(path)
    if path.name != "pyproject.toml":
        return document
    tools = document.get("tool")
    if not isinstance(tools, dict) or "gradlint" not in tools:
        raise ConfigError(f"{path}: there is no `[tool.gradlint]` in it")
    if not isinstance(tools["gradlint"], dict):
        raise ConfigError(f"{path}: `tool.gradlint` must be a table")
    return tools["gradlint"]


def _toml(path: Path) -> dict[str, Any]:
    try:
        text = read_file(path, MOST_OF_SETTINGS).decode("utf-8-sig")
        return _parsed(text.replace("\r\n", "\n"), str(path))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from error


def _parsed(text: str, place: str) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except NotTomlError as error:
        raise ConfigError(f"{place}: {error}") from error


class _Reader:
    """Takes values of known kinds out of one table, for keys that it has."""

    def __init__(self, table: Mapping[str, Any], path: Path, folder: Path) -> None:
        """`path` is named in errors; paths in the table start from `folder`."""
        self._table = table
        self._path = path
        self._folder = folder

    def values(self) -> dict[str, Any]:
        for key in self._table:
            if key not in KEYS:
                raise ConfigError(f"{self._path}: unknown key `{key}`; {self._hint(key)}")
        return {key: read(self, key) for key, read in _READERS.items() if key in self._table}

    def text(self, key: str) -> str:
        value = self._table[key]
        if not isinstance(value, str):
            raise self._wrong(key, "a string")
        return value

    def path(self, key: str) -> Path:
        return self._resolved(self.text(key))

    def flag(self, key: str) -> bool:
        value = self._table[key]
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        return self._texts(key, self._table[key])

    def paths(self, key: str) -> tuple[Path, ...]:
        return tuple(map(self._resolved, self.texts(key)))

    def text_lists(self, key: str) -> dict[str, tuple[str, ...]]:
        return {name: self._texts(f"{key}.{name}", value) for name, value in self.table(key).items()}

    def table(self, key: str) -> dict[str, Any]:
        value = self._table[key]
        if not isinstance(value, dict):
            raise self._wrong(key, "a table")
        return value

    def version(self, key: str) -> str:
        value = self.text(key)
        if not is_version(value):
            raise self._wrong(key, 'a version such as "2.6"')
        return value

    def _resolved(self, text: str) -> Path:
        # One spelling for each path: a circle of files must be seen as one.
        return Path(os.path.normpath(self._folder / Path(text).expanduser()))

    def _texts(self, key: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(key, "a list of strings")
        return tuple(value)

    def _wrong(self, key: str, kind: str) -> ConfigError:
        return ConfigError(f"{self._path}: `{key}` must be {kind}")

    def _hint(self, key: str) -> str:
        if key == "tool":
            return "keys stand here by themselves, without `[tool.gradlint]`"
        close = nearest(key, KEYS)
        return f"did you mean `{close}`?" if close else f"there are {', '.join(KEYS)}"


_READERS: Mapping[str, Callable[[_Reader, str], Any]] = {
    "baseline": _Reader.path,
    "exclude": _Reader.texts,
    "extend": _Reader.path,
    "extend-exclude": _Reader.texts,
    "extend-select": _Reader.texts,
    "fixable": _Reader.texts,
    "gradcheck": _Reader.table,
    "ignore": _Reader.texts,
    "model-packs": _Reader.paths,
    "per-file-ignores": _Reader.text_lists,
    "preview": _Reader.flag,
    "report-unused-suppressions": _Reader.flag,
    "rule-packs": _Reader.paths,
    "select": _Reader.texts,
    "strict": _Reader.flag,
    "target-torch": _Reader.version,
    "unfixable": _Reader.texts,
}
KEYS = tuple(_READERS)
