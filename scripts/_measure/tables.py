"""The committed form of the measurements: compact, in stable order, one variant a line."""

from __future__ import annotations

import json
import sys
from typing import Any

import torch

from . import collect, variants
from .probe import Call, observe
from .signatures import signature

NUMERIC = {"operator.**": frozenset(["self", "other"]), "operator.**=": frozenset(["other"])}


def table_of(calls: dict[str, list[Call]]) -> dict[str, Any]:
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
    return {"torch": torch.__version__.split("+")[0], "names": names, "ops": ops}


def entry_of(name: str, calls: list[Call]) -> dict[str, Any] | None:
    """One op: its parameters and guarded profiles; None where no call of it worked."""
    seen = []
    for call in calls:
        try:
            observation = observe(call)
        except Exception as error:
            sys.stderr.write(f"{name}: {call.source}: {type(error).__name__}: {str(error)[:150]}\n")
            continue
        if observation is not None:
            seen.append(variants.Seen(collect.facts_of(call), observation))
        elif call.source:
            sys.stderr.write(f"{name}: {call.source}: does not work\n")
    declared = signature(name)
    if not seen or declared is None:
        return None
    entry: dict[str, Any] = {"params": list(declared.positional)}
    for key, value in (
        ("keyword", list(declared.keyword)),
        ("defaults", {n: v for n, v in declared.defaults.items() if n in declared.names}),
        ("synonyms", declared.synonyms),
        ("rest", declared.rest),
    ):
        if value:
            entry[key] = value
    entry["variants"] = [{**({"when": guard} if guard else {}), **compact(fitted.profile)} for guard, fitted in variants.variants(seen, NUMERIC.get(name, variants.NUMERIC))]
    return entry


def compact(profile: dict[str, Any]) -> dict[str, Any]:
    """The profile without what is at its default, and without what an in-place call says twice."""
    outputs = [{k: v for k, v in output.items() if v not in (None, "", False)} for output in profile["outputs"]]
    saves = dict(profile["saves"])
    for position, output in enumerate(outputs):
        if output.get("view") == "same":
            saves.pop(output["view_of"] if output["view_of"] in profile["writes"] else f"out{position or ''}", None)
    short = {**profile, "outputs": outputs, "saves": saves}
    if short["result"] == "tensor":
        del short["result"]
    return {key: value for key, value in short.items() if value not in ([], {}, "", False)}


def dump(table: dict[str, Any]) -> str:
    """JSON with one op head or variant a line."""
    lines = ["{", f'"torch": {json.dumps(table["torch"])},', '"names": {']
    lines.append(",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(table["names"].items())))
    lines += ["},", '"ops": {']
    lines.append(",\n".join(_entry(name, entry) for name, entry in sorted(table["ops"].items())))
    return "\n".join([*lines, "}", "}", ""])


def _entry(name: str, entry: dict[str, Any]) -> str:
    head = {key: value for key, value in entry.items() if key != "variants"}
    rows = ",\n".join("  " + json.dumps(variant) for variant in entry["variants"])
    return f'{json.dumps(name)}: {json.dumps(head)[:-1]}, "variants": [\n{rows}]}}'
