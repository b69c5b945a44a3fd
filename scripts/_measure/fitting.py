"""One profile for a group of observations: a field that no single statement fits is undecided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .facts import Fact
    from .outputs import Shown
    from .probe import Observation
    from .run import Mask

SOFT = 0.1
DTYPES = ("float", "int", "bool", "complex", "same", "promoted")
MEMBERS = ("tracked", "refuses", "unimplemented", "writes", "unversioned", "zero")
FLOATING = ("tensor.float", "tensor.complex", "list.tensor")


@dataclass(frozen=True)
class Seen:
    """One observation: the facts of its arguments, defaults filled in, and the kinds of its slots."""

    facts: dict[str, Fact]
    slots: dict[str, str]
    observation: Observation

    def may_require_grad(self, name: str) -> bool:
        """Whether the call has a tensor here that can."""
        return self.slots.get(name, "").startswith(FLOATING)


@dataclass
class Fitted:
    """A profile as it goes to the table, and how much of it is undecided.

    What matters less, such as shapes, costs a tenth, for the part of the calls that say something on it.
    """

    profile: dict[str, Any]
    cost: float


def fit(seen: list[Seen]) -> Fitted:
    """The one profile that agrees with all of these observations as far as possible."""
    undecided: set[str] = set()
    soft: dict[str, float] = {}
    all_seen = [one.observation for one in seen]
    profile: dict[str, Any] = {
        "result": _same([o.result for o in all_seen], undecided, "result"),
        "outputs": _outputs(all_seen, undecided, soft),
        "saves": _saves(seen, undecided),
        "frees": _frees(all_seen, undecided),
    }
    profile |= {key: _membership(seen, key, undecided) for key in MEMBERS}
    profile["dense"] = sorted(set().union(*(o.dense for o in all_seen)))
    profile["apart"] = sorted(set().union(*(o.apart for o in all_seen)))
    profile["idempotent"] = all(o.idempotent for o in all_seen)
    profile["guarded"] = _guarded([o.guarded for o in all_seen])
    profile["second"] = _second(seen, soft)
    nodes = {o.node for o in all_seen}
    profile["node"] = next(iter(nodes)) if len(nodes) == 1 else ""
    profile["undecided"] = sorted(undecided)
    return Fitted(profile, len(undecided) + SOFT * sum(soft.values()))


def _same(values: list[Any], undecided: set[str], name: str) -> Any:
    if all(value == values[0] for value in values):
        return values[0]
    undecided.add(name)
    return None


def _membership(seen: list[Seen], key: str, undecided: set[str]) -> list[str]:
    """Parameters for which `key` holds in every call that gives them a tensor.

    A write that bumps no version is seen only where it changes values: one call is enough.
    """
    holds: list[str] = []
    for name in sorted(set().union(*(getattr(one.observation, key) for one in seen))):
        able = [one for one in seen if (name in one.slots if key == "writes" else one.may_require_grad(name))]
        values = {name in getattr(one.observation, key) for one in able}
        if values == {True} or key == "unversioned":
            holds.append(name)
        elif key != "zero":
            undecided.add(f"{key}.{name}")
    return holds


def _saves(seen: list[Seen], undecided: set[str]) -> dict[str, list[str] | None]:
    found: dict[str, list[str] | None] = {}
    for slot in sorted(set().union(*(one.observation.saved for one in seen))):
        having = [one.observation for one in seen if slot.startswith("out") or slot in one.slots]
        yes = [mask for o in having for mask in o.masks if mask in o.saved.get(slot, ())]
        no = [mask for o in having for mask in o.masks if mask not in o.saved.get(slot, ())]
        condition = any_of(yes, no)
        elements = {one.elements[slot] for one in having if slot in one.elements}
        if condition is NotImplemented or len(elements) > 1 or "?" in elements:
            undecided.add(f"saves.{slot}")
        elif elements and elements != {"all"}:
            found[slot] = [f"{slot}.{elements.pop()}"]
        else:
            found[slot] = condition
    for slot in set().union(*(one.observation.partly for one in seen)):
        found.pop(slot, None)
        undecided.add(f"saves.{slot}")
    return found


def any_of(yes: list[Mask], no: list[Mask]) -> Any:
    """The parameters one of which must require grad: None if none need be named, or NotImplemented."""
    if not no:
        return None
    never = frozenset().union(*no)
    deciding = frozenset().union(*yes) - never
    return sorted(deciding) if all(mask & deciding for mask in yes) else NotImplemented


def _frees(seen: list[Observation], undecided: set[str]) -> Any:
    """True, False, the parameters of which one must require grad, or None."""
    yes = [mask for o in seen for mask in o.masks if mask in o.freed]
    no = [mask for o in seen for mask in o.masks if mask not in o.freed]
    if not yes:
        return False
    condition = any_of(yes, no)
    if condition is NotImplemented:
        undecided.add("frees")
        return None
    return True if condition is None else condition


def _outputs(seen: list[Observation], undecided: set[str], soft: dict[str, float]) -> list[dict[str, Any]]:
    counts = {len(one.outputs) for one in seen}
    results = {one.result for one in seen}
    if len(counts) > 1 or results == {"list"}:
        unlike: set[str] = set()
        shown = _output([output for one in seen for output in one.outputs], "out", unlike, soft)
        if results <= {"tuple", "list"} and not unlike - {"out.view", "out.view_of"}:
            undecided |= unlike
            return [{**shown, "many": True}]
        undecided.add("outputs")
        return []
    return [
        _output([one.outputs[position] for one in seen], f"out{position or ''}", undecided, soft)
        for position in range(max(counts))
    ]


def _output(columns: list[Shown], key: str, undecided: set[str], soft: dict[str, float]) -> dict[str, Any]:
    """One output's description; `key` is its slot."""
    shown: dict[str, Any] = {"name": _same([column.name for column in columns], undecided, f"{key}.name")}
    dtypes = frozenset.intersection(*(column.dtype for column in columns))
    shown["dtype"] = next((kind for kind in DTYPES if kind in dtypes), None)
    if not dtypes:
        undecided.add(f"{key}.dtype")
    known = [column.differentiable for column in columns if column.differentiable is not None]
    shown["differentiable"] = bool(known) and _same(known, undecided, f"{key}.differentiable")
    shown |= _view(columns, key, undecided)
    shown["strided"] = any(column.strided for column in columns)
    shapes = [column.shape for column in columns if column.shape is not None]
    shown["shape"] = _shape(shapes, shown["view"])
    if len({"scalar" in shape for shape in shapes}) > 1:
        soft[f"{key}.shape"] = len(shapes) / len(columns)
    return shown


def _shape(shapes: list[frozenset[str]], view: str | None) -> str | None:
    """The first description that fits all: that of the argument itself, scalar, the broadcast, others."""
    common = frozenset.intersection(*shapes) if shapes else frozenset()
    if "scalar" not in common and not any("telling" in shape for shape in shapes):
        return None
    own = ("self", "input", "tensor") if view == "same" or "alone" in common else ()
    order = (*own, "scalar", "broadcast", "self", "input", *sorted(common))
    return next((shape for shape in order if shape in common and shape not in {"telling", "alone"}), None)


def _view(columns: list[Shown], key: str, undecided: set[str]) -> dict[str, Any]:
    """How the output shares memory: `maybe` where that varies, or depends on the memory layout."""
    views = {column.view for column in columns}
    if len(views) > 1 and not (views <= {"view", "maybe"} or views <= {"same", "maybe"}):
        undecided.add(f"{key}.view")
    parents = {column.view_of for column in columns} - {None}
    if len(parents) > 1:
        undecided.add(f"{key}.view_of")
    view = next(iter(views)) if len(views) == 1 else "maybe"
    dense = {column.dense for column in columns}
    return {
        "view": view,
        "view_of": next(iter(parents)) if len(parents) == 1 else None,
        "dense": next(iter(dense)) if view == "maybe" and len(dense) == 1 else None,
    }


def _guarded(told: list[dict[str, bool]]) -> list[str]:
    """What every call that could tell refuses where its elements share memory."""
    names = set().union(*told)
    return sorted(name for name in names if all(each.get(name, True) for each in told))


def _second(seen: list[Seen], soft: dict[str, float]) -> dict[str, list[str]]:
    """What each gradient depends on; a parameter is left out where that varies."""
    found: dict[str, list[str]] = {}
    for name in sorted(set().union(*(one.observation.second for one in seen))):
        having = [one for one in seen if name in one.observation.second]
        names = set().union(*(one.observation.second[name] for one in having))
        if all(_agrees(one, name, other) for one in having for other in names):
            found[name] = sorted(names)
        else:
            soft[f"second.{name}"] = 1
    return found


def _agrees(one: Seen, name: str, other: str) -> bool:
    """Whether this call's gradient of `name` depends on `other`, or could not."""
    could = other == "out" or other in one.observation.tracked
    return other in one.observation.second[name] or not could
