"""The committed form of the measurements: compact, in stable order, one variant a line."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import torch

from .collect import ATTENTION, PRODUCTS
from .facts import fact
from .fitting import Seen
from .probe import observe
from .signatures import signature
from .variants import NUMERIC, Detail, variants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .run import Call

POWER = Detail(numeric=frozenset(["self", "other"]))
PRODUCT = Detail(ranked=frozenset(["self", "other", "input"]))
HEADS = Detail(ranked=frozenset(["query"]))
DETAILS = {"operator.**": POWER, "operator.**=": POWER, **dict.fromkeys(PRODUCTS, PRODUCT), ATTENTION: HEADS}


def table_of(calls: Mapping[str, list[Call]]) -> dict[str, Any]:
    """The whole table: `ops` by first spelling, `names` that share another's entry."""
    ops: dict[str, Any] = {}
    names: dict[str, str] = {}
    known: dict[str, str] = {}
    for name, group in calls.items():
        entry = entry_of(name, group)
        if entry is None:
            continue
        text = json.dumps(entry, sort_keys=True)
        if text in known:
            names[name] = known[text]
        else:
            known[text] = name
            ops[name] = entry
    return {"torch": torch.__version__.split("+", maxsplit=1)[0], "names": names, "ops": ops}


def entry_of(name: str, calls: list[Call]) -> dict[str, Any] | None:
    """One op: its parameters and guarded profiles; None where no call of it worked."""
    declared = signature(name)
    rows = variant_rows(name, calls)
    if not rows or declared is None:
        return None
    head: dict[str, Any] = {
        "params": list(declared.positional),
        "keyword": list(declared.keyword),
        "defaults": {n: v for n, v in declared.defaults.items() if n in declared.names},
        "synonyms": declared.synonyms,
        "rest": declared.rest,
    }
    return {**{key: value for key, value in head.items() if value or key == "params"}, "variants": rows}


def variant_rows(name: str, calls: list[Call]) -> list[dict[str, Any]]:
    """The guarded profiles of some calls as they stand in the table; rare ones first."""
    detail = DETAILS.get(name, Detail(NUMERIC))
    common = seen_of([call for call in calls if not call.is_rare])
    rare = seen_of([call for call in calls if call.is_rare])
    found = [({**guard, "rare": True}, fitted) for guard, fitted in _only_rare(rare, common, detail)]
    found += variants(common, detail) if common else []
    rows = []
    for guard, fitted in found:
        when = {key: atoms for key, atoms in guard.items() if key != "rare"}
        marks = {"when": when, "rare": "rare" in guard}
        rows.append({**{key: value for key, value in marks.items() if value}, **compact(fitted.profile)})
    return rows


def _only_rare(rare: list[Seen], common: list[Seen], detail: Detail) -> list[Any]:
    """The variants that hold rare calls and no common one."""
    if not rare:
        return []
    apart = []
    for guard, fitted in variants(common + rare, detail):
        if not any(_inside(one, guard) for one in common):
            apart.append((guard, fitted))
    assert apart, "no guard tells the rare calls apart"
    return apart


def _inside(one: Seen, guard: Mapping[str, list[str]]) -> bool:
    kinds = {name: one.facts[name].kind if name in one.facts else "absent" for name in guard}
    return all(
        any(f"{kinds[name]}.".startswith(f"{atom}.") for atom in atoms) for name, atoms in guard.items()
    )


def seen_of(calls: list[Call]) -> list[Seen]:
    """What was observed of the calls that work; the others are named on stderr."""
    seen = []
    for call in calls:
        try:
            observation = observe(call)
        except Exception as error:
            sys.stderr.write(f"{call.name}: {call.source}: {str(error)[:150]}\n")
            continue
        if observation is not None:
            slots = {name: fact(value).kind for name, value in call.arguments.items()}
            tensors = {n: kind for n, kind in slots.items() if kind.startswith(("tensor", "list.tensor"))}
            seen.append(Seen(call.facts, tensors, observation))
        elif call.source:
            sys.stderr.write(f"{call.name}: {call.source}: does not work\n")
    return seen


def compact(profile: dict[str, Any]) -> dict[str, Any]:
    """The profile without what is at its default, and without what an in-place call says twice."""
    outputs = [
        {k: v for k, v in output.items() if v not in (None, "", False)} for output in profile["outputs"]
    ]
    saves = dict(profile["saves"])
    for position, output in enumerate(outputs):
        if output.get("view") == "same":
            parent = output["view_of"]
            saves.pop(parent if parent in profile["writes"] else f"out{position or ''}", None)
    short = {**profile, "outputs": outputs, "saves": saves}
    if short["result"] == "tensor":
        del short["result"]
    return {key: value for key, value in short.items() if value not in ([], {}, "", False)}


def dump(table: dict[str, Any], key: str) -> str:
    """JSON with one head of an entry or one variant a line."""
    names = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(table["names"].items()))
    entries = ",\n".join(_entry(name, entry) for name, entry in sorted(table[key].items()))
    head = f'"torch": {json.dumps(table["torch"])}'
    return f'{{\n{head},\n"names": {{\n{names}\n}},\n"{key}": {{\n{entries}\n}}\n}}\n'


def _entry(name: str, entry: dict[str, Any]) -> str:
    head = {key: value for key, value in entry.items() if key != "variants"}
    rows = ",\n".join("  " + json.dumps(variant) for variant in entry["variants"])
    return f'{json.dumps(name)}: {json.dumps(head)[:-1]}, "variants": [\n{rows}]}}'
