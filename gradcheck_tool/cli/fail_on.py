"""`--fail-on`: which findings make the exit status 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.findings import Severity
from gradcheck_tool.rulebook.selection import UnknownCodeError, check_selectors, matches
from gradcheck_tool.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.rulebook.rule import Rule

# From the one that matters least.
_ORDER = tuple(Severity)[::-1]
_WORDS = {severity.value: severity for severity in _ORDER}


@dataclass(frozen=True)
class FailOn:
    """What was asked for: severities from one on, and codes or what codes begin with. Nothing means all."""

    least: Severity | None = None
    selectors: tuple[str, ...] = ()

    @classmethod
    def of(cls, words: Iterable[str]) -> FailOn:
        """Severities and selectors as given; of several severities the least one counts."""
        given = list(words)
        severities = [_WORDS[word.lower()] for word in given if word.lower() in _WORDS]
        return cls(
            min(severities, key=_ORDER.index, default=None),
            tuple(word for word in given if word.lower() not in _WORDS),
        )

    def refuse_unknown(self, rules: Sequence[Rule]) -> None:
        """Refuse a word that is no severity, and a code that no rule has.

        Raises:
            UnknownCodeError: naming the nearest right one.
        """
        codes = [rule.code for rule in rules]
        for word in self.selectors:
            severity = nearest(word, _WORDS)
            if severity is not None and not any(matches(word, code) for code in codes):
                raise UnknownCodeError("fail-on", word, severity)
        check_selectors("fail-on", self.selectors, codes, {rule.name: rule.code for rule in rules})

    def counts(self, finding: Finding) -> bool:
        """Whether this finding makes the exit status 1."""
        if self.least is None and not self.selectors:
            return True
        is_severe = self.least is not None and _ORDER.index(finding.severity) >= _ORDER.index(self.least)
        return is_severe or any(matches(selector, finding.code) for selector in self.selectors)
