"""Classes of torch.nn: what their constructors make, and their calls watched like any function's."""

from __future__ import annotations

import functools
import inspect
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.func import functional_call
from torch.nn.modules.lazy import LazyModuleMixin
from torch.testing._internal.common_modules import module_db

from . import collect, patterns, sources
from .facts import Fact, fact
from .run import Call
from .signatures import is_plain, resolve
from .tables import variant_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import nn

PER_CLASS = 40
LARGE = 3
"""Layers with more parameters than this are watched in the patterns' cases only, if there are any."""


def _gated(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
           bidirectional=False, proj_size=0):  # fmt: skip
    """The parameters of `LSTM` (and of `GRU` but the last)."""


def _plain(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False,
           dropout=0.0, bidirectional=False):  # fmt: skip
    """The parameters of `RNN`."""


RECURRENT = {"torch.nn.LSTM": _gated, "torch.nn.GRU": _gated, "torch.nn.RNN": _plain}


@dataclass(frozen=True)
class Case:
    """A constructor's arguments and a call's, by parameter name."""

    name: str
    constructor: Mapping[str, Any]
    inputs: Mapping[str, Any]

    def build(self) -> nn.Module:
        """A new layer."""
        torch.manual_seed(0)
        layer: nn.Module = resolve(self.name)(**self.constructor)
        return layer

    @property
    def facts(self) -> dict[str, Fact]:
        """Facts of the constructor's arguments, defaults filled in."""
        filled = {**constructor_of(self.name)[1], **self.constructor}
        return {name: fact(value) for name, value in filled.items()}


def table_of(only: set[str] | None = None) -> dict[str, Any]:
    """The table of all classes."""
    found: dict[str, list[Case]] = {}
    for case in _pattern_cases():
        if only is None or case.name in only:
            found.setdefault(case.name, []).append(case)
    for case in _database_cases():
        is_large = len(list(case.build().parameters())) > LARGE
        if (only is None or case.name in only) and not (is_large and case.name in found):
            found.setdefault(case.name, []).append(case)
    layers = {name: _entry(name, cases[:PER_CLASS]) for name, cases in sorted(found.items())}
    torch_version = torch.__version__.split("+", maxsplit=1)[0]
    return {"torch": torch_version, "names": {}, "layers": {n: e for n, e in layers.items() if e["variants"]}}


def _pattern_cases() -> Iterator[Case]:
    for line in patterns.layer_lines():
        made, _, call = line.partition(" :: ")
        name, args, kwargs = sources.outermost(made, patterns.variables())
        inputs = sources.evaluated(f"({call},)", patterns.variables())
        yield Case(name, _bind(_init(name), args, kwargs), _bind(resolve(name).forward, inputs, {}))


def _database_cases() -> Iterator[Case]:
    """Cases from the module database that PyTorch tests itself with."""
    for info in module_db:
        name = f"torch.nn.{info.module_cls.__name__}"
        collect.seed()
        samples = info.module_inputs_func(info, "cpu", torch.float32, requires_grad=False, training=True)
        is_public = hasattr(torch.nn, info.module_cls.__name__)
        for sample in samples if is_public and not issubclass(info.module_cls, LazyModuleMixin) else ():
            made, call = sample.constructor_input, sample.forward_input
            if call is None or not collect.is_usable([*call.args, *call.kwargs.values()]):
                continue
            constructor = _bind(_init(name), made.args, made.kwargs)
            yield Case(name, constructor, _bind(info.module_cls.forward, call.args, call.kwargs))


def _bind(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name, without the receiver."""
    bound = inspect.signature(function).bind(None, *args, **kwargs).arguments
    extra = bound.pop("kwargs", {})
    return {**dict(list(bound.items())[1:]), **extra}


@functools.cache
def constructor_of(name: str) -> tuple[list[str], dict[str, Any]]:
    """Parameters of the constructor in order, and the defaults that can be written down."""
    return _parameters(_init(name))


def _init(name: str) -> Any:
    """The constructor; a stand-in with the documented parameters for the recurrent ones, which take any."""
    return RECURRENT.get(name) or resolve(name).__init__


def _parameters(function: Any) -> tuple[list[str], dict[str, Any]]:
    declared = list(inspect.signature(function).parameters.values())[1:]
    names = [p.name for p in declared if p.name not in {"device", "dtype", "args", "kwargs"}]
    return names, {p.name: p.default for p in declared if p.name in names and is_plain(p.default)}


def _entry(name: str, cases: list[Case]) -> dict[str, Any]:
    params, defaults = constructor_of(name)
    inputs, input_defaults = _parameters(resolve(name).forward)
    calls = [call for case in cases for training in (True, False) for call in _calls(case, training=training)]
    head: dict[str, Any] = {
        "params": params,
        "defaults": defaults,
        "inputs": inputs,
        "input_defaults": input_defaults,
        "tensors": _tensors(cases),
    }
    rows = [
        _without_second(row, held={tensor["name"] for tensor in head["tensors"]})
        for row in variant_rows(name, calls)
    ]
    return {**{k: v for k, v in head.items() if v or k in {"params", "inputs"}}, "variants": rows}


def _without_second(row: dict[str, Any], held: set[str]) -> dict[str, Any]:
    """A row without what the gradients of a large layer's parameters depend on."""
    if "second" not in row or len(held) <= LARGE:
        return row
    return {**row, "second": {name: names for name, names in row["second"].items() if name not in held}}


def _calls(case: Case, *, training: bool) -> list[Call]:
    """The layer's call with its parameters and buffers as arguments."""
    layer = case.build().train(training)
    held = {**dict(layer.named_parameters()), **dict(layer.named_buffers())}
    if not collect.is_usable(held.values()):
        return []
    _inputs, input_defaults = _parameters(resolve(case.name).forward)
    given = {name: fact(value) for name, value in {**input_defaults, **case.inputs}.items()}
    facts = {**case.facts, **given, "training": fact(training)}

    def invoke(arguments: Mapping[str, Any]) -> Any:
        tensors = {name: arguments[name] for name in held}
        return functional_call(layer, tensors, kwargs={n: v for n, v in arguments.items() if n not in held})

    return [Call(case.name, invoke, {**case.inputs, **{n: t.detach() for n, t in held.items()}}, facts)]


def _tensors(cases: list[Case]) -> list[dict[str, Any]]:
    """Parameters and buffers of any case, each with the facts under which it exists."""
    found: dict[str, dict[str, Any]] = {}
    having: dict[str, list[bool]] = {}
    for index, case in enumerate(cases):
        layer = case.build()
        for kind, named in (("parameter", layer.named_parameters()), ("buffer", layer.named_buffers())):
            for name, tensor in named:
                dtype = (
                    "float" if tensor.is_floating_point() else "bool" if tensor.dtype is torch.bool else "int"
                )
                found.setdefault(name, {"name": name, "kind": kind, "dtype": dtype})
                having.setdefault(name, [False] * len(cases))[index] = True
    return [{**entry, **_condition(cases, having[name])} for name, entry in found.items()]


def _condition(cases: list[Case], has: list[bool]) -> dict[str, Any]:
    """`when`: the values of one or two constructor arguments for which a tensor exists; None if others matter."""
    if all(has):
        return {}
    names = list(cases[0].facts)
    for chosen in [*((name,) for name in names), *((a, b) for a in names for b in names if a < b)]:
        labels = [tuple(_label(case.facts.get(name)) for name in chosen) for case in cases]
        positive = sorted({label for label, present in zip(labels, has, strict=True) if present})
        negative = {label for label, present in zip(labels, has, strict=True) if not present}
        if not negative & set(positive):
            return {
                "when": [{n: [atom] for n, atom in zip(chosen, label, strict=True)} for label in positive]
            }
    return {"when": None}


def _label(known: Fact | None) -> str:
    if known is None:
        return "absent"
    return "=" + json.dumps(known.constant) if known.has_constant else known.kind
