"""From observations of many calls of one op to the smallest set of guarded profiles.

A profile is fitted to a group of observations: a field that no single statement fits is undecided.
Groups are split by one fact about one argument at a time, as long as that decides more.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .facts import Fact
    from .probe import Mask, Observation

NUMERIC = frozenset(["p", "ord", "exponent", "dropout_p", "output_size", "label_smoothing", "beta"])
SPECIAL = (0, 1, 2, -1, 0.5, float("inf"), -float("inf"))
NUMBERS = 4
SOFT = 0.1
DTYPES = ("float", "int", "bool", "complex", "same", "promoted")


@dataclass(frozen=True)
class Seen:
    """One observation with the facts of its arguments (defaults filled in) and its tensor parameters."""

    facts: dict[str, Fact]
    observation: Observation

    @property
    def tensors(self) -> set[str]:
        return {name for name, fact in self.facts.items() if fact.kind.startswith(("tensor", "list.tensor"))}


@dataclass
class Fitted:
    """A profile as it goes to the table, and how much of it is undecided."""

    profile: dict[str, Any]
    cost: float


Guard = dict[str, list[Any]]


def variants(seen: list[Seen], numeric: frozenset[str] = NUMERIC) -> list[tuple[Guard, Fitted]]:
    """Guarded profiles in the order in which they are to be tried; `numeric`: parameters for which
    single numbers may make a difference.
    """
    return sorted(_split(seen, {}, numeric), key=lambda item: _generality(item[0]))


def _generality(guard: Guard) -> tuple[int, int]:
    constants = sum(1 for atoms in guard.values() if all(atom.startswith("=") for atom in atoms))
    return (-constants, -len(guard))


@dataclass(frozen=True)
class Feature:
    """One way to tell calls apart; `level` counts how special it is."""

    level: int
    parameter: str
    label: Callable[[Seen], str]

    def groups(self, seen: list[Seen]) -> dict[str, list[Seen]]:
        found: dict[str, list[Seen]] = {}
        for one in seen:
            found.setdefault(self.label(one), []).append(one)
        return found


def _split(seen: list[Seen], guard: Guard, numeric: frozenset[str]) -> list[tuple[Guard, Fitted]]:
    whole = fit(seen)
    if whole.cost == 0:
        return [(guard, whole)]
    rated = []
    for order, feature in enumerate(_features(seen, numeric)):
        groups = feature.groups(seen)
        if len(groups) > 1 and feature.parameter not in guard:
            rated.append((round(_cost(groups.values()) / len(seen), 6), feature.level, len(groups), order, feature))
    useful = [rating for rating in rated if rating[0] <= whole.cost - 0.05]
    if not useful:
        return [(guard, whole)]
    plain = [rating for rating in useful if rating[1] < NUMBERS]
    feature = min(plain or useful)[-1]
    found: list[tuple[Guard, Fitted]] = []
    for atoms, group in _joined(feature.groups(seen)):
        found += _split(group, {**guard, feature.parameter: atoms}, numeric)
    return found


def _cost(groups: Iterable[list[Seen]]) -> float:
    return sum(fit(group).cost * len(group) for group in groups)


def _joined(groups: dict[str, list[Seen]]) -> list[tuple[list[str], list[Seen]]]:
    """The groups, those that one profile fits put together; atoms as short as they can be."""
    joined: list[tuple[list[str], list[Seen]]] = []
    for label, group in sorted(groups.items(), key=lambda item: (item[0].startswith("="), item[0])):
        for labels, other in joined:
            if _cost([group + other]) <= _cost([group, other]) + 1e-9:
                labels.append(label)
                other.extend(group)
                break
        else:
            joined.append(([label], list(group)))
    return _shortened(joined)


def _shortened(joined: list[tuple[list[str], list[Seen]]]) -> list[tuple[list[str], list[Seen]]]:
    """Leave out numbers that their general kind covers, and give the largest group that kind."""
    kinds = {label for labels, _ in joined for label in labels if not label.startswith("=")}
    largest = max(joined, key=lambda item: len(item[1]))[0]
    short = []
    for labels, group in joined:
        atoms = {label for label in labels if not label.startswith("=")}
        for label in labels:
            kind = _number_kind(label)
            covered = kind in atoms or (labels is largest and kind not in kinds)
            if label.startswith("="):
                atoms.add(kind if kind and covered else label)
        short.append((sorted(atoms), group))
    return short


def _number_kind(label: str) -> str | None:
    """`number` or `list.number` for an atom that names a number or a list of them."""
    if not label.startswith("="):
        return None
    return "list.number" if label[1] == "[" else None if label[1] in 'tf"' else "number"


def _features(seen: list[Seen], numeric: frozenset[str]) -> Iterator[Feature]:
    for parameter in dict.fromkeys(name for one in seen for name in one.facts):
        for depth in (1, 2, 3):
            yield Feature(depth, parameter, _kind_label(parameter, depth))
        yield Feature(2, parameter, _constant_label(parameter, numbers=False))
        if parameter in numeric:
            yield Feature(NUMBERS, parameter, _constant_label(parameter, numbers=True))


def _kind_label(parameter: str, depth: int) -> Callable[[Seen], str]:
    def label(one: Seen) -> str:
        fact = one.facts.get(parameter)
        return ".".join(fact.kind.split(".")[:depth]) if fact else "absent"

    return label


def _constant_label(parameter: str, numbers: bool) -> Callable[[Seen], str]:
    def label(one: Seen) -> str:
        fact = one.facts.get(parameter)
        if fact is None:
            return "absent"
        plain = fact.has_constant and (isinstance(fact.constant, (bool, str)) or (numbers and _special(fact.constant)))
        return "=" + json.dumps(fact.constant) if plain else fact.kind

    return label


def _special(constant: Any) -> bool:
    values = constant if isinstance(constant, list) else [constant]
    return all(value in SPECIAL for value in values)


def fit(seen: list[Seen]) -> Fitted:
    """The one profile that agrees with all of these observations as far as possible."""
    undecided: list[str] = []
    soft: list[str] = []
    all_seen = [one.observation for one in seen]
    profile: dict[str, Any] = {
        "result": _same([o.result for o in all_seen], undecided, "result"),
        "outputs": _outputs(seen, undecided, soft),
        "saves": _saves(seen, undecided),
        "frees": _frees(all_seen, undecided),
    }
    for key in ("tracked", "refuses", "unimplemented", "writes", "unversioned", "zero"):
        profile[key] = _membership(seen, key, undecided)
    profile["dense"] = sorted(set().union(*(o.dense for o in all_seen)))
    profile["second"] = _second(seen, soft)
    profile["node"] = next(iter(nodes)) if len(nodes := {o.node for o in all_seen}) == 1 else ""
    profile["undecided"] = sorted(set(undecided))
    return Fitted(profile, len(set(undecided)) + SOFT * len(set(soft)))


def _same(values: list[Any], undecided: list[str], name: str) -> Any:
    if all(value == values[0] for value in values):
        return values[0]
    undecided.append(name)
    return None


def _membership(seen: list[Seen], key: str, undecided: list[str]) -> list[str]:
    """Parameters for which `key` holds in every call that gives them a tensor.

    A write that bumps no version is seen only where it changes values: one call is enough.
    """
    holds: list[str] = []
    for name in sorted(set().union(*(getattr(one.observation, key) for one in seen))):
        values = {name in getattr(one.observation, key) for one in seen if _may(one, key, name)}
        if values == {True}:
            holds.append(name)
        elif key == "unversioned":
            holds.append(name)
        elif key != "zero":
            undecided.append(f"{key}.{name}")
    return holds


def _may(one: Seen, key: str, name: str) -> bool:
    """Whether a call can say something on `key` of this parameter."""
    if key in ("writes", "unversioned"):
        return name in one.tensors
    return any(tensor_kind in one.facts[name].kind for tensor_kind in ("float", "complex", "list.tensor")) if name in one.tensors else False


def _saves(seen: list[Seen], undecided: list[str]) -> dict[str, list[str] | None]:
    found: dict[str, list[str] | None] = {}
    for slot in sorted(set().union(*(one.observation.saved for one in seen))):
        having = [one.observation for one in seen if slot.startswith("out") or slot in one.tensors]
        yes = [mask for o in having for mask in o.masks if mask in o.saved.get(slot, ())]
        no = [mask for o in having for mask in o.masks if mask not in o.saved.get(slot, ())]
        condition = any_of(yes, no)
        if condition is NotImplemented:
            undecided.append(f"saves.{slot}")
        else:
            found[slot] = condition
    for slot in sorted(set().union(*(one.observation.partly for one in seen))):
        found.pop(slot, None)
        undecided.append(f"saves.{slot}")
    return found


def any_of(yes: list[Mask], no: list[Mask]) -> Any:
    """The parameters one of which must require grad: None if none need be named, or NotImplemented."""
    if not no:
        return None
    never = frozenset().union(*no)
    deciding = frozenset().union(*yes) - never
    return sorted(deciding) if all(mask & deciding for mask in yes) else NotImplemented


def _frees(seen: list[Observation], undecided: list[str]) -> Any:
    """True, False, the parameters of which one must require grad, or None."""
    yes = [mask for o in seen for mask in o.masks if mask in o.freed]
    no = [mask for o in seen for mask in o.masks if mask not in o.freed]
    if not yes:
        return False
    condition = any_of(yes, no)
    if condition is NotImplemented:
        undecided.append("frees")
        return None
    return True if condition is None else condition


def _outputs(seen: list[Seen], undecided: list[str], soft: list[str]) -> list[dict[str, Any]]:
    counts = {len(one.observation.outputs) for one in seen}
    results = {one.observation.result for one in seen}
    if len(counts) > 1 and not results <= {"tuple", "list"}:
        undecided.append("outputs")
        return []
    many = len(counts) > 1 or results == {"list"}
    described = []
    for position in range(1 if many else max(counts)):
        columns = [o for one in seen for o in (one.observation.outputs if many else [one.observation.outputs[position]])]
        described.append(_output(columns, seen, position, undecided, soft))
    if many:
        described = [{**described[0], "many": True}] if described else []
    return described


def _output(columns: list[Any], seen: list[Seen], position: int, undecided: list[str], soft: list[str]) -> dict[str, Any]:
    key = f"out{position or ''}"
    shown: dict[str, Any] = {}
    shown["name"] = _same([column.name for column in columns], undecided, f"{key}.name")
    dtypes = frozenset.intersection(*(column.dtype for column in columns))
    shown["dtype"] = next((kind for kind in DTYPES if kind in dtypes), None)
    if not dtypes:
        undecided.append(f"{key}.dtype")
    known = [column.differentiable for column in columns if column.differentiable is not None]
    shown["differentiable"] = bool(known) and _same(known, undecided, f"{key}.differentiable")
    shown |= _view(columns, key, undecided)
    shapes = [column.shape for column in columns if column.shape is not None]
    common = frozenset.intersection(*shapes) if shapes else frozenset()
    shown["shape"] = next((s for s in ("scalar", "self", "input", "broadcast", *sorted(common)) if s in common), None)
    if len({"scalar" in shape for shape in shapes}) > 1:
        soft.append(f"{key}.shape")
    return shown


def _view(columns: list[Any], key: str, undecided: list[str]) -> dict[str, Any]:
    """How the output shares memory: `maybe` where that varies, or depends on the memory layout."""
    views = {column.view for column in columns}
    if len(views) > 1 and not (views <= {"view", "maybe"} or views <= {"same", "maybe"}):
        undecided.append(f"{key}.view")
    sources = {column.view_of for column in columns} - {None}
    if len(sources) > 1:
        undecided.append(f"{key}.view_of")
    view = next(iter(views)) if len(views) == 1 else "maybe"
    dense = {column.dense for column in columns}
    return {
        "view": view,
        "view_of": next(iter(sources)) if len(sources) == 1 else None,
        "dense": next(iter(dense)) if view == "maybe" and len(dense) == 1 else None,
    }


def _second(seen: list[Seen], soft: list[str]) -> dict[str, list[str]]:
    """What each gradient depends on; a parameter is left out where that varies."""
    found: dict[str, list[str]] = {}
    for name in sorted(set().union(*(one.observation.second for one in seen))):
        having = [one for one in seen if name in one.observation.second]
        names = set().union(*(one.observation.second[name] for one in having))
        agreed = all(
            (other in one.observation.second[name]) == (other in names)
            for one in having
            for other in names
            if other == "out" or other in one.tensors
        )
        if agreed:
            found[name] = sorted(names)
        else:
            soft.append(f"second.{name}")
    return found
