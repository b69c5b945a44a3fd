"""What a rule declares to be worth executing, and which names it is asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.trigger import Trigger

if TYPE_CHECKING:
    from gradcheck_tool.rulebook.rule import Rule

# At the end of a name: all names that begin so.
ANY = ".*"


def triggers_of(rule: type[Rule]) -> tuple[Trigger, ...]:
    """The triggers that a rule declares, or those of its names."""
    return rule.triggers or tuple(Trigger.of_name(name) for name in rule.names)


def is_named(name: str, names: tuple[str, ...]) -> bool:
    """Is a full name one of those that a rule declares?"""
    return name in names or any(
        declared.endswith(ANY) and name.startswith(declared[:-1]) for declared in names
    )
