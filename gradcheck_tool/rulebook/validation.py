"""What a rule class must be like to work at all."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from gradcheck_tool.rulebook.handlers import handler_name, handlers, judged_events, known_handlers
from gradcheck_tool.rulebook.triggers import triggers_of
from gradcheck_tool.spelling import nearest
from gradcheck_tool.trackers.events import NameUse

if TYPE_CHECKING:
    from gradcheck_tool.rulebook.rule import Rule

_CODE = re.compile(r"[A-Z]{2,}[0-9]{3}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FULL_NAME = re.compile(r"\w+(\.\w+)*(\.\*)?")
_EFFECTS = ("raises", "silent", "warns")


def check_rule(rule: type[Rule]) -> None:
    """Refuse a rule class that could never work.

    Raises:
        ValueError: saying which attribute or method is wrong, and how.
    """
    for attribute in ("code", "name", "severity"):
        if not hasattr(rule, attribute):
            raise ValueError(f"{rule.__name__} has no `{attribute}`")
    if not _CODE.fullmatch(rule.code):
        raise ValueError(
            f"{rule.__name__}.code is {rule.code!r}: letters and three digits are needed, as in GL201"
        )
    if not _NAME.fullmatch(rule.name):
        raise ValueError(f"{rule.__name__}.name is {rule.name!r}, which is not kebab-case")
    if rule.effect not in _EFFECTS:
        raise ValueError(f"{rule.__name__}.effect is {rule.effect!r}, not one of {', '.join(_EFFECTS)}")
    known = known_handlers(rule)
    for handler in handlers(rule):
        if handler not in known:
            close = nearest(handler, known)
            hint = f"did you mean `{close}`?" if close else f"there are {', '.join(sorted(known))}"
            raise ValueError(f"{rule.__name__}.{handler} matches no event; {hint}")
    _check_names(rule)
    _check_trackers(rule)
    triggers_of(rule)


def _check_trackers(rule: type[Rule]) -> None:
    """An event of a tracker in the rule's file happens only where a rule in force names the tracker.

    Trackers are told by what they derive: their class would load the interpreter.
    """
    beside = [
        value
        for value in vars(sys.modules[rule.__module__]).values()
        if getattr(value, "derives", ()) and value.__module__ == rule.__module__
    ]
    named = {kind for tracker in rule.trackers for kind in tracker.derives}
    judged = set(judged_events(rule).values())
    for tracker in beside:
        for kind in judged.intersection(tracker.derives) - named:
            raise ValueError(
                f"{rule.__name__} judges {kind.__name__}: name {tracker.__name__}, which derives it, "
                "in `trackers`"
            )


def _check_names(rule: type[Rule]) -> None:
    for name in rule.names:
        if not _FULL_NAME.fullmatch(name):
            raise ValueError(
                f"{rule.__name__}.names has {name!r}, which is no name such as `torch.autograd.grad`"
            )
    judges = handler_name(NameUse)
    if hasattr(rule, judges) and not rule.names:
        raise ValueError(f"{rule.__name__}.{judges} needs `names`, the full names that it is called for")
    if rule.names and not hasattr(rule, judges):
        raise ValueError(f"{rule.__name__} has `names`, but no `{judges}` that judges their uses")
    if not rule.triggers and any(name.endswith(".*") for name in rule.names):
        raise ValueError(f"{rule.__name__} needs `triggers`: `.*` in `names` does not say what to look for")
