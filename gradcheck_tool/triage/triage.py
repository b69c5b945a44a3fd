"""Which functions of a file are worth executing, by the triggers of the rules in force.

A function is a candidate when a trigger finds something in its code, or when it calls such a function of the
same file, so that what the two do together is seen; so is a method whose class inherits what trains.
The others are executed only as part of a candidate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.triage.file_text import FileText
from gradcheck_tool.triage.imported import Imported, called_imports, calls_of_units, imported_bases
from gradcheck_tool.triage.look import Look
from gradcheck_tool.triage.mentions import Mentions
from gradcheck_tool.triage.prefilter import Prefilter
from gradcheck_tool.triage.running import computes, running_code, trains, without_prose

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.ir.outline import Outline, Unit
    from gradcheck_tool.trigger import Trigger

# Whether an import leads to code of the repository that computes gradients.
Leads = Callable[[Imported], bool]
# Whether what is called of an import, or an attribute of it, computes gradients.
Computes = Callable[[Imported, str], bool]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The functions of a file that are worth executing, by qualified name.

    Attributes:
        functions: their names.
        body: whether the file's top-level code is worth executing for its own sake.
        trains: those of them that compute gradients and take optimizer steps, or call those that do.
        rows: how many rows they have together.
        mentions: what is enough for a function in a file whose top-level code is executed.
    """

    functions: frozenset[str]
    body: bool
    trains: frozenset[str]
    rows: int
    mentions: Mentions

    def __bool__(self) -> bool:
        return self.body or bool(self.functions)


class Triage:
    """The triggers of the rules in force, sorted once for all files.

    Attributes:
        prefilter: which files may have something that a trigger finds, judged by their bytes.
        mentions: the names that the triggers look for in files that run by themselves.
    """

    def __init__(self, triggers: Iterable[Trigger]) -> None:
        self._triggers = tuple(dict.fromkeys(triggers))
        texts = (text for trigger in self._triggers for text in (*trigger.words, *trigger.in_file))
        self._texts = tuple(dict.fromkeys(texts))
        self._judge_all = any(not trigger.is_name for trigger in self._triggers)
        self.prefilter = Prefilter(self._triggers)
        self.mentions = Mentions.of(self._triggers)

    def candidates(
        self, outline: Outline, leads: Leads | None = None, computes: Computes | None = None
    ) -> Candidates:
        """Find the functions of a file that are worth executing.

        Args:
            outline: the file.
            leads: whether an import leads to code of the repository that computes gradients.
            computes: whether what is called of an import computes gradients.
        """
        source = outline.source
        present = frozenset([text for text in self._texts if text in source])
        looks = [Look(trigger, source) for trigger in self._triggers if trigger.is_near(present)]
        file = FileText(outline)
        patterns = _by_words(look for look in looks if look.trigger.callers and look.has_pattern)
        classes = [look for look in looks if look.trigger.callers and not look.has_pattern]
        named = {
            unit
            for unit in outline.units
            if any(look.allows(file, unit) for look in classes) or _is_found(patterns, file, unit)
        }
        if computes is not None and self._judge_all:
            named |= {unit for unit, one, attribute in calls_of_units(outline) if computes(one, attribute)}
            heirs = {name for name, one, attribute in imported_bases(outline) if computes(one, attribute)}
            named |= {unit for unit in outline.units if unit.owner in heirs}
        found = file.with_callers(named)
        alone = _by_words(look for look in looks if not look.trigger.callers)
        found |= {
            unit
            for unit in outline.units
            if unit not in found
            and any(word in unit.text and look.finds(file, unit, unit.text) for word, look in alone)
        }
        training = file.with_callers({unit for unit in found if trains(unit)}) & found
        rows = sum(unit.last - unit.first + 1 for unit in found)
        body = self._runs(outline, [look for look in looks if look.trigger.is_name])
        body = body or (self._judge_all and leads is not None and any(map(leads, called_imports(outline))))
        return Candidates(_qualnames(found), body, _qualnames(training), rows, self.mentions)

    def _runs(self, outline: Outline, names: list[Look]) -> bool:
        """May a rule have something to say of what the top-level code does?"""
        return any(
            (self._judge_all and computes(code)) or any(look.matches(code) for look in names)
            for code in running_code(outline)
        )


def _qualnames(units: set[Unit]) -> frozenset[str]:
    return frozenset(unit.qualname for unit in units)


def _by_words(looks: Iterable[Look]) -> list[tuple[str, Look]]:
    """Looks with each of their fixed words, which are asked for first."""
    return [(word, look) for look in looks for word in look.words]


def _is_found(looks: list[tuple[str, Look]], file: FileText, unit: Unit) -> bool:
    """Does a look find something in a function that is no text and no comment?"""
    if not any(word in unit.text and look.matches(unit.text) for word, look in looks):
        return False
    bare = without_prose(unit.text)
    return any(word in bare and look.finds(file, unit, bare) for word, look in looks)
