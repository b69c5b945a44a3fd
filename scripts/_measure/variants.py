"""From observations of many calls of one op to the smallest set of guarded profiles.

Groups of observations are split by one fact about one argument at a time, as long as a profile fitted to
each group leaves less undecided.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .fitting import Fitted, Seen, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

NUMERIC = frozenset(
    ["p", "ord", "exponent", "dropout_p", "output_size", "label_smoothing", "beta", "num_layers"]
)
SPECIAL = (0, 1, 2, -1, 0.5, float("inf"), -float("inf"))
KINDS, NUMBERS, RANKS = 3, 4, 5
OPEN = ("dtype", "list")
"""Kinds that do not stand for all that is under them: only what was seen is in a guard."""

Guard = dict[str, list[str]]
Variant = tuple[Guard, Fitted]


@dataclass(frozen=True)
class Detail:
    """For which parameters single numbers, and ranks of tensors, may make a difference."""

    numeric: frozenset[str] = NUMERIC
    ranked: frozenset[str] = frozenset()


def variants(seen: list[Seen], detail: Detail) -> list[Variant]:
    """Guarded profiles in the order in which they are to be tried."""
    found = _split(seen, {}, detail)
    while (shorter := _merged(found)) is not None:
        found = shorter
    return sorted(found, key=lambda item: _order(item[0]))


def _order(guard: Guard) -> tuple[int, int]:
    constants = sum(1 for atoms in guard.values() if all(atom.startswith("=") for atom in atoms))
    return (-constants, -len(guard))


@dataclass(frozen=True)
class Feature:
    """One way to tell calls apart; `level` counts how special it is."""

    level: int
    parameter: str
    label: Callable[[Seen], str]

    def groups(self, seen: list[Seen]) -> dict[str, list[Seen]]:
        """The calls by label."""
        found: dict[str, list[Seen]] = {}
        for one in seen:
            found.setdefault(self.label(one), []).append(one)
        return found


def _split(seen: list[Seen], guard: Guard, detail: Detail) -> list[Variant]:
    whole = fit(seen)
    feature = _best(seen, whole.cost, detail) if whole.cost else None
    if feature is None:
        return [(guard, whole)]
    found: list[Variant] = []
    for atoms, group in _joined(feature, seen):
        found += _split(group, {**guard, feature.parameter: atoms}, detail)
    return found


def _best(seen: list[Seen], cost: float, detail: Detail) -> Feature | None:
    """The plainest feature that leaves least undecided; None where none helps."""
    rated = []
    for order, feature in enumerate(_features(seen, detail)):
        groups = feature.groups(seen)
        left = round(_cost(groups.values()) / len(seen), 6) if len(groups) > 1 else cost
        if left <= cost - 0.02:
            rated.append((feature.level >= NUMBERS, left, feature.level, len(groups), order, feature))
    return min(rated)[-1] if rated else None


def _cost(groups: Iterable[list[Seen]]) -> float:
    return sum(fit(group).cost * len(group) for group in groups)


def _joined(feature: Feature, seen: list[Seen]) -> list[tuple[list[str], list[Seen]]]:
    """The groups of a feature, those that one profile fits put together, with their atoms."""
    joined: list[tuple[list[str], list[Seen]]] = []
    groups = feature.groups(seen)
    for label, group in sorted(groups.items(), key=lambda item: (item[0].startswith("="), item[0])):
        for labels, other in joined:
            if _cost([group + other]) <= _cost([group, other]) + 1e-9:
                labels.append(label)
                other.extend(group)
                break
        else:
            joined.append(([label], list(group)))
    kinds = [(labels, group, _kinds(feature, labels, group)) for labels, group in joined]
    return [
        (_atoms(labels, mine, [k for _, other, more in kinds if other is not group for k in more]), group)
        for labels, group, mine in kinds
    ]


def _kinds(feature: Feature, labels: list[str], group: list[Seen]) -> set[str]:
    """The kinds that a group is named by; a number by its value, unless it stands for others too."""
    named = {label for label in labels if label.startswith("=")}
    found: set[str] = set()
    for one in group:
        fact = one.facts.get(feature.parameter)
        kind = fact.kind if fact else "absent"
        general = _is_general(kind) and any(_is_general(label) for label in labels)
        if feature.label(one) not in named or general:
            found.add(_truncated(kind, KINDS) if feature.level < RANKS else kind)
    return found


def _is_general(kind: str) -> bool:
    return kind.startswith(("number", "list.number"))


def _atoms(labels: list[str], mine: set[str], others: list[str]) -> list[str]:
    """The shortest atoms that name these kinds and none of the others."""
    atoms = {_shortest(kind, others) for kind in mine}
    values = {label for label in labels if label.startswith("=")}
    covered = {value for value in values if any(kind.startswith(_kind_of(value)) for kind in mine)}
    return sorted(atoms | (values - covered))


def _shortest(kind: str, others: list[str]) -> str:
    parts = kind.split(".")
    for depth in range(1, len(parts)):
        prefix = ".".join(parts[:depth])
        if prefix not in OPEN and not any(
            other == prefix or other.startswith(prefix + ".") for other in others
        ):
            return prefix
    return kind


def _kind_of(value: str) -> str:
    """The kind of number or list that a constant's atom names; something that is no kind for others."""
    return "list.number" if value[1] == "[" else "?" if value[1] in 'tf"' else "number"


def _features(seen: list[Seen], detail: Detail) -> Iterator[Feature]:
    for parameter in dict.fromkeys(name for one in seen for name in one.facts):
        for depth in range(1, KINDS + 1):
            yield Feature(depth, parameter, _kind_label(parameter, depth))
        yield Feature(2, parameter, _constant_label(parameter, numbers=False))
        if parameter in detail.numeric:
            yield Feature(NUMBERS, parameter, _constant_label(parameter, numbers=True))
        if parameter in detail.ranked:
            yield Feature(RANKS, parameter, _kind_label(parameter, RANKS))


def _truncated(kind: str, depth: int) -> str:
    return ".".join(kind.split(".")[:depth])


def _kind_label(parameter: str, depth: int) -> Callable[[Seen], str]:
    def label(one: Seen) -> str:
        fact = one.facts.get(parameter)
        return _truncated(fact.kind, depth) if fact else "absent"

    return label


def _constant_label(parameter: str, *, numbers: bool) -> Callable[[Seen], str]:
    def label(one: Seen) -> str:
        fact = one.facts.get(parameter)
        if fact is None:
            return "absent"
        plain = fact.is_switch or (numbers and fact.has_constant and _is_special(fact.constant))
        return "=" + json.dumps(fact.constant) if plain else _truncated(fact.kind, KINDS)

    return label


def _is_special(constant: Any) -> bool:
    values = constant if isinstance(constant, list) else [constant]
    return all(value in SPECIAL for value in values)


def _merged(found: list[Variant]) -> list[Variant] | None:
    """One pair of variants less, where two differ in the atoms of one parameter only; None if none do."""
    for index, (guard, fitted) in enumerate(found):
        for other_index in range(index + 1, len(found)):
            other, other_fitted = found[other_index]
            parameter = _only_difference(guard, other)
            if parameter is not None and fitted.profile == other_fitted.profile:
                union = sorted({*guard[parameter], *other[parameter]})
                rest = [one for at, one in enumerate(found) if at not in {index, other_index}]
                return [*rest, ({**guard, parameter: union}, fitted)]
    return None


def _only_difference(one: Guard, other: Guard) -> str | None:
    """The parameter in which two guards differ, unless it is told apart by numbers."""
    if one.keys() != other.keys():
        return None
    different = [name for name in one if one[name] != other[name]]
    if len(different) != 1 or any(_is_number(atom) for atom in one[different[0]] + other[different[0]]):
        return None
    return different[0]


def _is_number(atom: str) -> bool:
    return atom.startswith("=") and atom[1] not in 'tf"'
