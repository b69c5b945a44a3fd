"""What PyTorch's operations save, free, share and write: the reader of the measured tables.

The tables under `tables/` are made by `scripts/measure_ops.py` from the installed PyTorch. This module
only reads them. Whatever they do not know is None; nothing is guessed.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gradcheck_tool.engine.guards import ArgFact, Guard, guard_holds
from gradcheck_tool.engine.profile import Output, Profile, join_or_none

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")
# What is multiplied with: older programs pass it by position.
_FACTORS = frozenset({"alpha", "beta", "value"})
Variant = tuple[Guard, Profile]
# For so many different facts a specification remembers what they resolve to.
MOST_KNOWN = 128


@dataclass(frozen=True, slots=True)
class OpSpec:
    """A callable: its parameters and its profiles with the facts that each needs.

    `params` have positions, `keyword` have none; `synonyms` are other spellings of keywords (and the names
    that other overloads give to a position: `other` of `torch.max(x, other)` is `dim`). `rest` is the
    parameter that takes all further positional arguments, as a list if more than one. Variants in `rare`
    apply only where the facts establish their guards, such as a matrix times a batch of matrices.
    """

    name: str
    params: tuple[str, ...]
    keyword: tuple[str, ...]
    defaults: Mapping[str, Any]
    synonyms: Mapping[str, str]
    rest: str | None
    variants: tuple[Variant, ...]
    rare: tuple[Variant, ...] = ()
    known: dict[Any, Profile | None] = field(default_factory=dict, init=False, compare=False, repr=False)

    def bind(self, positional: Sequence[T], keywords: Mapping[str, T]) -> dict[str, T | list[T]] | None:
        """Arguments by parameter name, or None where they do not fit. A method's receiver comes first.

        Factors may still come before the tensors that they are for: `p.add_(-lr, gradient)`.
        """
        bound: dict[str, T | list[T]] = {}
        surplus = len(positional) - len(self.params) if self.rest is None else 0
        if 0 < surplus <= len(_FACTORS.intersection(self.keyword)):
            positional = [*positional[:1], *positional[1 + surplus :]]
        head = self.params if self.rest is None else self.params[: self.params.index(self.rest)]
        bound.update(zip(head, positional, strict=False))
        extra = list(positional[len(head) :])
        if extra and self.rest is None:
            return None
        if extra and self.rest is not None:
            bound[self.rest] = extra[0] if len(extra) == 1 else extra
        for keyword, value in keywords.items():
            name = self.parameter(keyword)
            if name is None or name in bound:
                return None
            bound[name] = value
        return bound

    def parameter(self, keyword: str) -> str | None:
        """The parameter that a keyword means."""
        if keyword in self.params or keyword in self.keyword:
            return keyword
        return self.synonyms.get(keyword)

    def resolve(self, kinds: Mapping[str, ArgFact]) -> Profile | None:
        """The profile for these facts, by parameter name; parameters left out are absent.

        Where the facts fit several variants the result holds what they agree on and names the rest in
        `undecided`; None where no variant was measured for such arguments, or the numbers of outputs differ.
        """
        return _once(self.known, kinds, self._resolve)

    def _resolve(self, kinds: Mapping[str, ArgFact]) -> Profile | None:
        for guard, profile in self.rare:
            if guard_holds(guard, self.defaults, kinds):
                return profile
        return _resolve(self.variants, self.defaults, kinds)


@dataclass(frozen=True, slots=True)
class LayerTensor:
    """A parameter or buffer of a layer; `when`: facts of constructor arguments under which it exists.

    `when` is None where that was not found out. `kind` is `parameter` or `buffer`, `dtype` `float`, `int`
    or `bool`.
    """

    name: str
    kind: str
    dtype: str
    when: tuple[Guard, ...] | None


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """A class of torch.nn: its constructor, what it holds, and what its call does.

    `params` are the constructor's, in order; `inputs` the call's. The profiles' slots are inputs, names of
    `tensors` and `out`.
    """

    name: str
    params: tuple[str, ...]
    defaults: Mapping[str, Any]
    inputs: tuple[str, ...]
    input_defaults: Mapping[str, Any]
    tensors: tuple[LayerTensor, ...]
    variants: tuple[Variant, ...]
    known: dict[Any, Profile | None] = field(default_factory=dict, init=False, compare=False, repr=False)

    def resolve(self, kinds: Mapping[str, ArgFact]) -> Profile | None:
        """The call's profile for facts about constructor arguments, inputs and `training`."""
        return _once(self.known, kinds, self._resolve)

    def _resolve(self, kinds: Mapping[str, ArgFact]) -> Profile | None:
        return _resolve(self.variants, {**self.defaults, **self.input_defaults, "training": True}, kinds)

    def has(self, tensor: LayerTensor, kinds: Mapping[str, ArgFact]) -> bool | None:
        """Whether a layer constructed like this has the tensor; None where that is not decided."""
        if tensor.when is None:
            return None
        found = [guard_holds(when, self.defaults, kinds) for when in tensor.when]
        return True if True in found else None if None in found else False


def find(name: str) -> OpSpec | None:
    """The specification of a fully qualified callable, or None where it was not measured.

    Spellings: `torch.exp`, `torch.Tensor.exp`, `torch.nn.functional.relu`, `torch.linalg.norm`,
    `torch.special.erf`, `torch.fft.fft`, `operator.+`, `operator.+=`, `operator.@`, `operator.neg`,
    `operator.==`, `torch.Tensor.__getitem__`, `torch.Tensor.__setitem__`.
    """
    return _find(name)


def layer(name: str) -> LayerSpec | None:
    """The specification of a class such as `torch.nn.Linear`, or None."""
    return _layer(name)


def names(module: str) -> frozenset[str]:
    """The qualified names of what the tables know directly in a module, such as `torch.nn.functional`."""
    table = _table("ops")
    every = (*table["ops"], *table["names"], *_table("layers")["layers"])
    return frozenset(name for name in every if name.rpartition(".")[0] == module)


def measured_version() -> str:
    """The version of PyTorch that the tables describe."""
    return str(_table("ops")["torch"])


@functools.cache
def _table(name: str) -> dict[str, Any]:
    path = Path(__file__).parent / "tables" / f"{name}.json"
    table: dict[str, Any] = json.loads(path.read_bytes())
    return table


@functools.cache
def _find(name: str) -> OpSpec | None:
    table = _table("ops")
    entry = table["ops"].get(table["names"].get(name, name))
    if entry is None:
        return None
    return OpSpec(
        name=name,
        params=tuple(entry["params"]),
        keyword=tuple(entry.get("keyword", ())),
        defaults=entry.get("defaults", {}),
        synonyms=entry.get("synonyms", {}),
        rest=entry.get("rest"),
        variants=_variants([each for each in entry["variants"] if not each.get("rare")]),
        rare=_variants([each for each in entry["variants"] if each.get("rare")]),
    )


@functools.cache
def _layer(name: str) -> LayerSpec | None:
    entry = _table("layers")["layers"].get(name)
    if entry is None:
        return None
    return LayerSpec(
        name=name,
        params=tuple(entry["params"]),
        defaults=entry.get("defaults", {}),
        inputs=tuple(entry["inputs"]),
        input_defaults=entry.get("input_defaults", {}),
        tensors=tuple(
            LayerTensor(each["name"], each["kind"], each["dtype"], _when(each.get("when", [{}])))
            for each in entry.get("tensors", ())
        ),
        variants=_variants(entry["variants"]),
    )


def _when(guards: list[dict[str, list[str]]] | None) -> tuple[Guard, ...] | None:
    return None if guards is None else tuple(guards)


def _variants(entries: list[dict[str, Any]]) -> tuple[Variant, ...]:
    return tuple((entry.get("when", {}), _profile(entry)) for entry in entries)


def _profile(entry: dict[str, Any]) -> Profile:
    frees = entry.get("frees", False)
    return Profile(
        result=entry.get("result", "tensor"),
        outputs=tuple(Output(**output) for output in entry.get("outputs", ())),
        saves={slot: None if c is None else tuple(c) for slot, c in entry.get("saves", {}).items()},
        dense=frozenset(entry.get("dense", ())),
        apart=frozenset(entry.get("apart", ())),
        frees=True if isinstance(frees, list) else frees,
        frees_if=tuple(frees) if isinstance(frees, list) else None,
        tracked=tuple(entry.get("tracked", ())),
        refuses=tuple(entry.get("refuses", ())),
        unimplemented=tuple(entry.get("unimplemented", ())),
        writes=tuple(entry.get("writes", ())),
        unversioned_writes=tuple(entry.get("unversioned", ())),
        guarded=tuple(entry.get("guarded", ())),
        idempotent=entry.get("idempotent", False),
        zero=tuple(entry.get("zero", ())),
        second={name: tuple(reached) for name, reached in entry.get("second", {}).items()},
        node=entry.get("node", ""),
        undecided=frozenset(entry.get("undecided", ())),
    )


def _once(
    known: dict[Any, Profile | None],
    kinds: Mapping[str, ArgFact],
    resolve: Callable[[Mapping[str, ArgFact]], Profile | None],
) -> Profile | None:
    """What facts resolve to: programs call an operation with a few different ones, again and again."""
    key = tuple([(name, fact if type(fact) is str else repr(fact)) for name, fact in kinds.items()])
    if key not in known:
        if len(known) >= MOST_KNOWN:
            known.clear()
        known[key] = resolve(kinds)
    return known[key]


def _resolve(
    variants: Sequence[Variant],
    defaults: Mapping[str, Any],
    kinds: Mapping[str, ArgFact],
) -> Profile | None:
    possible: list[Profile] = []
    for guard, profile in variants:
        holds = guard_holds(guard, defaults, kinds)
        if holds is not False:
            possible.append(profile)
        if holds:
            break
    if not possible:
        return None
    joined: Profile | None = possible[0]
    for profile in possible[1:]:
        joined = join_or_none(joined, profile)
    return joined
