"""What the shell offers for values of options and arguments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.report import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator


def formats(incomplete: str) -> list[str]:
    """Report formats that begin like this."""
    return [name for name in FORMATS if name.startswith(incomplete)]


def rules(incomplete: str) -> list[tuple[str, str]]:
    """Codes of rules that begin like this, with their names, and names that do."""
    known = list(_known())
    codes = [(code, name) for code, name in known if code.startswith(incomplete.upper())]
    return codes or [(name, code) for code, name in known if name.startswith(incomplete)]


def selectors(incomplete: str) -> list[tuple[str, str]]:
    """Families and codes for the last of the selectors; those before it stay in front."""
    before, comma, last = incomplete.rpartition(",")
    families = dict.fromkeys((code[:3], f"every {code[:3]} rule") for code, _ in _known())
    words = [("ALL", "every rule"), ("default", "the rules that are on by default"), *families, *_known()]
    return [(before + comma + word, about) for word, about in words if word.startswith(last)]


def _known() -> Iterator[tuple[str, str]]:
    """Code and name of each rule; the built-in ones when the configuration here cannot be used."""
    from gradcheck_tool.codes import CODES
    from gradcheck_tool.config import ConfigError, Overrides
    from gradcheck_tool.configs import Configs
    from gradcheck_tool.rulebook.ruleset import RulePackError, RuleSet

    try:
        packs = Configs(Path.cwd(), Overrides()).for_folder(Path.cwd()).rule_packs
        known = RuleSet.load(packs).known
    except (ConfigError, RulePackError):
        known = RuleSet.load().known
    yield from ((rule.code, rule.name) for rule in known)
    yield from ((entry.code, entry.name) for entry in CODES.values())
