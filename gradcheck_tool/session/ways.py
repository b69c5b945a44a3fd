"""Findings of several files put together: executing one leads to code of others, where findings may stand.

A finding is reported once, at the file where the mistake stands, whichever files led there. What that file's
configuration leaves out is left out, and what a comment there suppresses counts for the comment. What
a file shows by executing a function on its own does not count where the top-level code of another calls it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.rulebook.selection import UNUSED_SUPPRESSION, is_left_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gradcheck_tool.analysis.result import FileResult
    from gradcheck_tool.config import Config
    from gradcheck_tool.findings import Finding, Location
    from gradcheck_tool.rulebook.ruleset import RuleSet
    from gradcheck_tool.session.closure import Closure


@dataclass(frozen=True, slots=True)
class _Told:
    """A finding and the file whose execution led to it."""

    finding: Finding
    way: Path

    @property
    def rank(self) -> tuple[bool, bool, str]:
        """The order of preference: what assumes nothing, then what the file's own execution shows."""
        return bool(self.finding.assumes), self.is_foreign, str(self.way)

    @property
    def is_foreign(self) -> bool:
        """Does it stand in another file?"""
        return str(self.way) != self.finding.location.filename


class Ways:
    """The findings of files that were checked, and the ways that led to them."""

    def __init__(self, closure: Closure) -> None:
        self._closure = closure
        self._told: dict[tuple[str, Location], list[_Told]] = {}
        self._used: set[tuple[str, int]] = set()
        self._entered: set[tuple[str, str]] = set()

    def add(self, way: Path, result: FileResult) -> None:
        """Add what checking a file gave."""
        for finding in result.findings:
            self._told.setdefault((finding.code, finding.location), []).append(_Told(finding, way))
        self._used.update(result.used)
        self._entered.update(result.entered)

    def findings(self, allowed: Callable[[Finding], bool]) -> dict[Finding, Path]:
        """Each finding once, with the file that led to it; those in other files only where allowed."""
        found = {}
        for told in self._told.values():
            kept = [one for one in told if not one.is_foreign or allowed(one.finding)]
            kept = [
                one for one in kept if not self._is_used(one.finding) and not self._is_decided(one.finding)
            ]
            first = min(kept, key=lambda one: one.rank, default=None)
            if first is not None and self._closure.stands(first.finding):
                found[first.finding] = first.way
        return found

    def _is_decided(self, finding: Finding) -> bool:
        """Does the top-level code of a file call what shows it when it is executed on its own?

        As in one file, the calls then tell what it is used with.
        """
        name = finding.location.filename
        return bool(finding.units) and all((name, unit) in self._entered for unit in finding.units)

    def _is_used(self, finding: Finding) -> bool:
        """Is it about a comment that suppresses what another file leads to?"""
        place = finding.location.filename, finding.location.start.row
        return finding.code == UNUSED_SUPPRESSION and place in self._used


def is_reported(finding: Finding, config: Config, rules: RuleSet) -> bool:
    """Would the configuration of a finding's own file report it?

    Raises:
        ConfigError: an exclusion of the configuration is no pattern.
    """
    from gradcheck_tool.sources.discover import is_excluded

    path = Path(finding.location.filename)
    in_force = any(rule.code == finding.code for rule in rules.active)
    return in_force and not is_excluded(path, config) and not is_left_out(finding.code, path, config)


def led_elsewhere(ways: Iterable[tuple[Finding, Path]]) -> dict[Path, set[Path]]:
    """The other files that led to findings in a file."""
    found: dict[Path, set[Path]] = {}
    for finding, way in ways:
        path = Path(finding.location.filename)
        if path != way:
            found.setdefault(path, set()).add(way)
    return found
