"""Selectors: which rules `select`, `extend-select` and `ignore` mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.sources.discover import matches_pattern
from gradcheck_tool.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from gradcheck_tool.config import Config

ALL = "ALL"
DEFAULT = "default"

# Suppressions that suppress nothing are found by no rule, but selected like one.
UNUSED_SUPPRESSION = "GL001"

_PREFIX = re.compile(r"[A-Z]+[0-9]*")


class UnknownCodeError(ValueError):
    """A selector matches no rule.

    Attributes:
        key: the option or configuration key it stands in, such as `extend-select`.
        code: the selector as written.
        nearest: the most similar valid selector, or None.
    """

    def __init__(self, key: str, code: str, nearest: str | None) -> None:
        self.key, self.code, self.nearest = key, code, nearest
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        super().__init__(f"{key}: no rule matches {code!r}{hint}")


class PreviewCodeError(UnknownCodeError):
    """A selector names a rule that is on with `--preview` only."""

    def __init__(self, key: str, code: str) -> None:
        super().__init__(key, code, None)
        self.args = (f"{key}: {code} is a preview rule: turn on `preview` as well",)


def spelt(selector: str) -> str:
    """A selector as codes are written: `gl201` is GL201, `all` is ALL."""
    upper = selector.upper()
    if selector.lower() == DEFAULT:
        return DEFAULT
    return upper if _PREFIX.fullmatch(upper) else selector


def matches(selector: str, code: str, default: bool = True) -> bool:
    """Whether a selector means the rule of this code; `default` is whether that rule is on by default."""
    selector = spelt(selector)
    if selector == ALL:
        return True
    if selector == DEFAULT:
        return default
    return code.startswith(selector)


def check_selectors(
    key: str, selectors: Iterable[str], codes: Iterable[str], names: Mapping[str, str] | None = None
) -> None:
    """Refuse a selector that matches none of `codes`; `names` gives the code of a rule's name.

    Raises:
        UnknownCodeError: naming the key, the selector and the nearest valid one.
    """
    known = list(codes)
    for written in selectors:
        selector = spelt(written)
        if selector in (ALL, DEFAULT):
            continue
        if not _PREFIX.fullmatch(selector) or not any(code.startswith(selector) for code in known):
            raise UnknownCodeError(
                key, written, (names or {}).get(written) or nearest_selector(selector, known)
            )


def nearest_selector(selector: str, codes: Iterable[str]) -> str | None:
    """The valid selector that is most like a wrong one."""
    known = list(codes)
    prefixes = {code[:length] for code in known for length in range(2, len(code))}
    return nearest(selector, {ALL, DEFAULT, *known, *prefixes})


def is_selected(code: str, default: bool, select: Iterable[str], ignore: Iterable[str]) -> bool:
    """The most specific selector that matches decides; of two equally specific ones, `ignore` does."""
    wanted = [_weight(selector) for selector in select if matches(selector, code, default)]
    unwanted = [_weight(selector) for selector in ignore if matches(selector, code, default)]
    return bool(wanted) and max(wanted) > max(unwanted, default=-1)


def is_left_out(code: str, path: Path, config: Config) -> bool:
    """Whether `per-file-ignores` leaves a rule out in a file (absolute path).

    Raises:
        ConfigError: a key of it is no pattern.
    """
    return any(
        matches(selector, code)
        for pattern, selectors in config.per_file_ignores.items()
        if matches_pattern(pattern, config.root, path)
        for selector in selectors
    )


def _weight(selector: str) -> int:
    return 0 if spelt(selector) in (ALL, DEFAULT) else len(selector)
