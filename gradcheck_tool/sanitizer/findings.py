"""What was told becomes findings: rules name them, configurations and comments leave some out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.findings import Finding
from gradcheck_tool.links import rule_link

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.rulebook.rule import Rule
    from gradcheck_tool.sanitizer.told import Told
    from gradcheck_tool.session.session import Outcome, Session


def findings_of(told: Iterable[Told], session: Session) -> list[Finding]:
    """All findings, whatever is reported.

    Raises:
        ConfigError: a rule pack cannot be used.
    """
    rules = {rule.code: rule for rule in session.rules_known()}
    return [finding_of(one, rules[one.code]) for one in told if one.code in rules]


def completed(told: Iterable[Told], session: Session) -> Outcome:
    """The findings that the configurations of their files report.

    Raises:
        ConfigError: a configuration, a selector, a rule pack or a baseline cannot be used.
    """
    return session.reported(findings_of(told, session))


def finding_of(told: Told, rule: Rule) -> Finding:
    """What was told, with what its rule says of it."""
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=told.message,
        location=told.location,
        predicts=told.raised or (None if rule.effect == "raises" else rule.predicts),
        trace=told.trace,
        url=rule_link(rule.code),
        evidence=told.evidence or None,
        source="run",
    )
