"""What PyTorch's operations save, free, share and write: the reader of the measured tables.

The tables under `tables/` are made by `scripts/measure_ops.py` from the installed PyTorch. This module
only reads them. Whatever they do not know is None; nothing is guessed.

Facts about arguments (`ArgFact`) are strings that go from general to special, or a known constant:

- `tensor`, `tensor.float`, `tensor.int`, `tensor.bool`, `tensor.complex`; each dtype also with
  `.0d` (no dimensions) or `.nd` (one or more), such as `tensor.int.0d`, and `.nd` with `.1d`, `.2d`, `.3d` or
  `.4d` (four or more), such as `tensor.float.nd.2d`;
- `number`, `number.int`, `number.float`, `bool`, `str`, `none`, `slice`, `dtype.float`, `dtype.int`,
  `dtype.bool`, `dtype.complex`, `device`, `other`;
- `list`, `list.tensor`, `list.bool`, `list.number` (also with `.int` or `.float`), `list.other`;
- for the parameter `index` of a subscript: `basic.all` (only `:` and `...`), `basic.part` (other numbers,
  slices, None, and tuples of them), a tensor's kind, or `advanced` (lists, and tuples with lists or
  tensors in them);
- `('const', value)`: the value itself (None, bool, number, string, or tuple of numbers);
- `absent`: not given (the default is filled in by `resolve` where it is known), `unknown`: anything.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

ArgFact = str | tuple[str, Any]
Condition = tuple[str, ...] | None
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Output:
    """One tensor that an operation returns.

    `dtype`: `float`, `int`, `bool`, `complex`, `same` (what the tensor arguments promote to), `promoted`
    (numbers counted too), or None where that is not decidable. `differentiable`: it requires grad if a
    tracked argument does and grad mode is on. `view`: None (a new tensor), `same` (the very argument),
    `view`, `unversioned` (shares memory, but writes to one are not counted for the other), `multi` (one of
    several views of one call: editing it in place raises) or `maybe` (memory of
    the argument or a copy; `dense` then says what it is when the argument is contiguous, if that is
    decided); `view_of` the parameter. `shape`: `scalar` (no dimensions whatever the arguments, if not all
    are 0-dim), the name of the parameter that has the same shape, `broadcast` (of all tensors), or None.
    `strided`: it need not be contiguous where all arguments are. `name`: the field of a named tuple. `many`:
    stands for a sequence of such tensors.
    """

    dtype: str | None = None
    differentiable: bool | None = False
    view: str | None = None
    view_of: str | None = None
    dense: str | None = None
    shape: str | None = None
    strided: bool = False
    name: str = ""
    many: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """What a call does, for arguments of known kinds.

    Slots are parameter names (for an in-place call: as they were *before* the write), `out`, `out1`, ...
    (results, after the write). A condition is None (whenever a tracked argument requires grad) or the
    parameters of which at least one must; for a slot that is a list of tensors, `SLOT.others` (a tensor is
    saved if another one of the list requires grad) or `SLOT.own` (if it does itself).

    `result` is `tensor`, `tuple`, `list`, `value` (no tensor: item, tolist, shape ...), `none` or
    `nested`. `saves` maps slots to conditions; writing to such a tensor's storage before backward makes
    backward raise; slots in `dense` are protected only if the arguments are contiguous in memory, and those
    in `apart` are held through a view, so that `argument.data = ...` leaves backward as it was.
    `frees`: a second backward without retain_graph raises here; with `frees_if`, only if one of these
    requires grad. `tracked`: parameters whose requires_grad makes the differentiable outputs require grad.
    `refuses`: the call raises if one of these requires grad. `unimplemented`: backward to these raises.
    `writes`: written in place, the version goes up; `unversioned_writes`: written and it does not; `guarded`:
    refused as a target of writes (also as `out`) if their elements share memory; `idempotent`: the same call
    once more leaves what it has written as it is.
    `zero`: parameters whose gradient is zero by definition. `second`: what the graph of the gradient of a
    parameter (create_graph=True) reaches, apart from the incoming gradient; `out` is this call's own node;
    a parameter that is missing is not decided. `node`: name of the outermost node, or ''. `undecided`
    names what varies between calls that these facts cannot tell apart: `frees`, `saves.SLOT`,
    `out.view`, `out.dtype`, `tracked.PARAMETER`, `writes.PARAMETER`, ...
    """

    result: str | None = "tensor"
    outputs: tuple[Output, ...] = ()
    saves: Mapping[str, Condition] = field(default_factory=dict)
    dense: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    frees: bool | None = False
    frees_if: Condition = None
    tracked: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    unimplemented: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    unversioned_writes: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    idempotent: bool = False
    zero: tuple[str, ...] = ()
    second: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    node: str = ""
    undecided: frozenset[str] = frozenset()

    @property
    def zero_gradient(self) -> bool:
        """The derivative is defined as zero for everything that is tracked (round, sign, ...)."""
        return bool(self.tracked) and set(self.tracked) <= set(self.zero)


Guard = Mapping[str, Sequence[str]]
Variant = tuple[Guard, Profile]


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

    def bind(self, positional: Sequence[T], keywords: Mapping[str, T]) -> dict[str, T | list[T]] | None:
        """Arguments by parameter name, or None where they do not fit. A method's receiver comes first."""
        bound: dict[str, T | list[T]] = {}
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
        for guard, profile in self.rare:
            if _guard(guard, self.defaults, kinds):
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

    def resolve(self, kinds: Mapping[str, ArgFact]) -> Profile | None:
        """The call's profile for facts about constructor arguments, inputs and `training`."""
        return _resolve(self.variants, {**self.defaults, **self.input_defaults, "training": True}, kinds)

    def has(self, tensor: LayerTensor, kinds: Mapping[str, ArgFact]) -> bool | None:
        """Whether a layer constructed like this has the tensor; None where that is not decided."""
        if tensor.when is None:
            return None
        found = [_guard(when, self.defaults, kinds) for when in tensor.when]
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


def _resolve(
    variants: Sequence[Variant],
    defaults: Mapping[str, Any],
    kinds: Mapping[str, ArgFact],
) -> Profile | None:
    possible: list[Profile] = []
    for guard, profile in variants:
        holds = _guard(guard, defaults, kinds)
        if holds is not False:
            possible.append(profile)
        if holds:
            break
    if not possible:
        return None
    joined: Profile | None = possible[0]
    for profile in possible[1:]:
        joined = _join_or_none(joined, profile)
    return joined


def _guard(guard: Guard, defaults: Mapping[str, Any], kinds: Mapping[str, ArgFact]) -> bool | None:
    """Whether the facts satisfy a guard: True, False, or None for perhaps."""
    result: bool | None = True
    for name, atoms in guard.items():
        fact = kinds.get(name, "absent")
        if fact == "absent" and name in defaults:
            fact = ("const", defaults[name])
        found = [_matches(atom, fact) for atom in atoms]
        if True in found:
            continue
        if None not in found:
            return False
        result = None
    return result


def _matches(atom: str, fact: ArgFact) -> bool | None:
    if fact == "unknown":
        return None
    if not isinstance(fact, str):
        if atom.startswith("="):
            return _equal(json.loads(atom[1:]), fact[1])
        return any(_covers(atom, kind) for kind in _kinds_of(fact[1]))
    if atom.startswith("="):
        return None if any(_covers(fact, kind) for kind in _kinds_of(json.loads(atom[1:]))) else False
    return True if _covers(atom, fact) else None if _covers(fact, atom) else False


def _covers(general: str, special: str) -> bool:
    return special == general or special.startswith(general + ".")


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == (list(other) if isinstance(other, tuple) else other))


def _kinds_of(constant: Any) -> tuple[str, ...]:
    """The kinds that a constant has; a bool may stand for a number."""
    if constant is None:
        return ("none",)
    if isinstance(constant, bool):
        return ("bool", "number.int")
    if isinstance(constant, (int, float, complex)):
        return (_number(constant),)
    if isinstance(constant, str):
        return ("str",)
    if isinstance(constant, (list, tuple)):
        return (_list(constant),)
    return ("other",)


def _number(value: complex) -> str:
    return (
        "number.int" if isinstance(value, int) else "number.float" if isinstance(value, float) else "number"
    )


def _list(values: Sequence[Any]) -> str:
    if not values or not all(isinstance(item, (int, float)) for item in values):
        return "list.other"
    if all(isinstance(item, bool) for item in values):
        return "list.bool"
    kinds = {_number(item) for item in values}
    return f"list.{kinds.pop()}" if len(kinds) == 1 else "list.number"


def _join_or_none(one: Profile | None, other: Profile) -> Profile | None:
    return None if one is None else _join(one, other)


def _join(one: Profile, other: Profile) -> Profile | None:
    """What both say; where they differ, the field is undecided. None if the outputs do not correspond."""
    if len(one.outputs) != len(other.outputs) or one.result != other.result:
        return None
    if one == other:
        return one
    undecided = set(one.undecided | other.undecided)
    saves = {slot: c for slot, c in one.saves.items() if other.saves.get(slot, ()) == c}
    undecided |= {f"saves.{slot}" for slot in {*one.saves, *other.saves} - set(saves)}
    frees = one.frees == other.frees and one.frees_if == other.frees_if
    undecided |= set() if frees else {"frees"}
    common = {key: _common(getattr(one, key), getattr(other, key), key, undecided) for key in _MEMBERS}
    return Profile(
        result=one.result,
        outputs=tuple(
            _join_output(a, b, i, undecided)
            for i, (a, b) in enumerate(zip(one.outputs, other.outputs, strict=True))
        ),
        saves=saves,
        dense=one.dense | other.dense,
        apart=one.apart | other.apart,
        frees=one.frees if frees else None,
        frees_if=one.frees_if if frees else None,
        second={name: reached for name, reached in one.second.items() if other.second.get(name) == reached},
        idempotent=one.idempotent and other.idempotent,
        node=one.node if one.node == other.node else "",
        undecided=frozenset(undecided),
        **common,
    )


_MEMBERS = ("tracked", "refuses", "unimplemented", "writes", "unversioned_writes", "guarded", "zero")


def _common(one: tuple[str, ...], other: tuple[str, ...], key: str, undecided: set[str]) -> tuple[str, ...]:
    undecided |= {f"{key}.{name}" for name in set(one) ^ set(other)}
    return tuple(name for name in one if name in other)


def _join_output(one: Output, other: Output, position: int, undecided: set[str]) -> Output:
    key = f"out{position or ''}"
    for name in ("dtype", "differentiable", "view", "view_of"):
        if getattr(one, name) != getattr(other, name):
            undecided.add(f"{key}.{name}")
    sources = {one.view_of, other.view_of} - {None}
    return Output(
        dtype=one.dtype if one.dtype == other.dtype else None,
        differentiable=one.differentiable if one.differentiable == other.differentiable else None,
        view=one.view if one.view == other.view else "maybe",
        view_of=next(iter(sources)) if len(sources) == 1 else None,
        dense=one.dense if one.dense == other.dense else None,
        shape=one.shape if one.shape == other.shape else None,
        strided=one.strided or other.strided,
        name=one.name if one.name == other.name else "",
        many=one.many or other.many,
    )
