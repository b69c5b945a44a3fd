"""The calls to watch: PyTorch's own operator samples, the patterns, and variations of both."""

from __future__ import annotations

import functools
import inspect
import operator
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

from . import patterns, sources
from .facts import fact
from .run import Call, tensors_in
from .signatures import NAMESPACES, OPERATORS, is_property, resolve, signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

LARGEST = 20_000
PER_FACTS = 2
PER_OP = 60
VARIED = 3
ATTENTION = "torch.nn.functional.scaled_dot_product_attention"
PRODUCTS = frozenset(["operator.@", "torch.matmul", "torch.Tensor.matmul", "torch.linalg.matmul"])
MOVES: dict[str, list[dict[str, Any]]] = {
    "torch.Tensor.to": [
        {"dtype": "cpu"}, {"device": "cpu"}, {"dtype": torch.device("cpu")}, {"device": torch.device("cpu")},
        {"dtype": "cpu", "non_blocking": True}, {"dtype": torch.rand(3)}, {"device": "cpu", "non_blocking": True},
    ],
    "torch.Tensor.cpu": [{}],
    "torch.Tensor.cuda": [{}, {"device": 0}, {"device": "cuda"}, {"device": torch.device("cpu")}, {"non_blocking": True}],
    "torch.Tensor.xpu": [{}, {"device": 0}],
    "torch.Tensor.type_as": [{"other": torch.rand(3)}],
}  # fmt: skip


def all_calls(only: set[str] | None = None) -> dict[str, list[Call]]:
    """Every call to watch, by qualified name; the patterns of a name come before its samples."""
    calls: dict[str, list[Call]] = {}
    for line in patterns.lines():
        name, args, kwargs = sources.outermost(line, patterns.variables())
        if only is None or name in only:
            call = bound(name, args, kwargs, check=False)
            assert call is not None, line
            calls.setdefault(name, []).append(replace(call, source=line))
    for name, samples in _calls_of_database(only):
        calls.setdefault(name, []).extend(_thinned(samples))
    for name, more in _moves(only):
        calls.setdefault(name, []).extend(more)
    if only is None:
        calls |= _siblings(calls)
    return {name: [*calls[name], *_variations(calls[name])] for name in sorted(calls)}


def _moves(only: set[str] | None) -> Iterator[tuple[str, list[Call]]]:
    """Calls that move a tensor to where it may be already: each as if it is, and as if it is not."""
    tensor = torch.rand(3, 4)
    for name, moves in MOVES.items():
        if only is None or name in only:
            for arguments in moves:
                call = _made(name, {"self": tensor, **arguments})
                given = arguments.get("dtype", arguments.get("other", "cpu"))
                for copy in (False, True):
                    yield name, [replace(call, invoke=functools.partial(_moved, given, copy))]


def _moved(given: Any, copy: bool, arguments: Mapping[str, Any]) -> Any:
    return arguments["self"].to(given, copy=copy)


def _siblings(calls: Mapping[str, list[Call]]) -> dict[str, list[Call]]:
    """Calls of public names that nothing calls yet, with arguments of their namesakes elsewhere."""
    found: dict[str, list[Call]] = {}
    for module in NAMESPACES:
        for leaf in dir(resolve(module)):
            name = f"{module}.{leaf}"
            if name in calls or leaf.startswith("_") or not _is_function(resolve(name)):
                continue
            namesakes = [f"{other}.{each}" for each in (leaf, leaf.rstrip("_")) for other in NAMESPACES]
            known = [call for each in namesakes for call in calls.get(each, [])]
            made = (bound(name, (), _renamed(name, call.arguments)) for call in known[: 2 * VARIED])
            group = [call for call in made if call is not None]
            if group:
                found[name] = group
    return found


def _is_function(value: Any) -> bool:
    return callable(value) and not inspect.isclass(value)


def _renamed(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """`self` and `input` are one parameter under two names."""
    declared = signature(name)
    names = declared.names if declared is not None else ()
    swap = {"self": "input", "input": "self"}
    return {swap.get(n, n) if n not in names else n: value for n, value in arguments.items()}


def _calls_of_database(only: set[str] | None) -> Iterator[tuple[str, list[Call]]]:
    """Calls from the operator database that PyTorch tests itself with."""
    for info in op_db:
        names = [name for name in _names_of(info) if only is None or name in only]
        dtypes = [d for d in (torch.float32, torch.float64, torch.int64) if info.supports_dtype(d, "cpu")]
        if names and dtypes:
            seed()
            samples = list(info.sample_inputs("cpu", dtypes[0]))
            for name in names:
                made = (bound(name, (sample.input, *sample.args), sample.kwargs) for sample in samples)
                yield name, [call for call in made if call is not None]


def seed() -> None:
    """Make what the databases draw next the same in every run, whatever was drawn before."""
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the databases use the old generator


def _names_of(info: Any) -> list[str]:
    """Every public spelling of an operator of the database."""
    names = [f"torch.{owner.name.removeprefix('torch.')}" for owner in (info, *info.aliases)]
    for owner in (info, *info.aliases):
        methods = (owner.method_variant, owner.inplace_variant)
        names += [f"torch.Tensor.{method.__name__}" for method in methods if hasattr(method, "__name__")]
    return [name for name in dict.fromkeys(names) if _is_public(name)]


def _is_public(name: str) -> bool:
    private = any(part.startswith("_") and not part.startswith("__") for part in name.split("."))
    try:
        return callable(resolve(name)) and not private
    except AttributeError:
        return False


def bound(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, check: bool = True) -> Call | None:
    """The call with its arguments named; None where the signature is not known or does not fit, or (with
    `check`) the arguments are not plain.
    """
    declared = signature(name)
    if declared is None:
        return None
    try:
        arguments = declared.bind(args, kwargs)
    except TypeError:
        return None
    return _made(name, arguments) if not check or is_usable(arguments.values()) else None


def _made(name: str, arguments: Mapping[str, Any]) -> Call:
    """The call, with facts of all parameters; those left out have their defaults."""
    declared = signature(name)
    assert declared is not None
    filled = {**{n: v for n, v in declared.defaults.items() if n in declared.names}, **arguments}
    facts = {
        parameter: fact(filled[parameter], parameter) for parameter in declared.names if parameter in filled
    }
    is_rare = (name in PRODUCTS and _is_batched_on_the_right(arguments)) or _has_one_head(name, arguments)
    return Call(name, functools.partial(declared.invoke, _target(name)), arguments, facts, is_rare=is_rare)


def _is_batched_on_the_right(arguments: Mapping[str, Any]) -> bool:
    """A vector or matrix times a batch of matrices: what it saves of the batch is a copy."""
    ranks = [value.dim() for value in arguments.values() if isinstance(value, torch.Tensor)]
    return len(ranks) == 2 and ranks[0] <= 2 < ranks[1]


def _has_one_head(name: str, arguments: Mapping[str, Any]) -> bool:
    """Attention without a dimension for heads, which no fused kernel takes."""
    return name == ATTENTION and arguments["query"].dim() == 3


def _set_item(tensor: Any, index: Any, value: Any) -> Any:
    tensor[index] = value
    return tensor


def _target(name: str) -> Any:
    if name == "torch.Tensor.__setitem__":
        return _set_item
    if is_property(name):
        return operator.attrgetter(name.rpartition(".")[2])
    return OPERATORS[name.removeprefix("operator.")] if name.startswith("operator.") else resolve(name)


def is_usable(values: Iterable[Any]) -> bool:
    """Whether all tensors are plain, real, not empty and not large."""
    tensors = list(tensors_in(list(values)))
    return all(t.layout is torch.strided and 0 < t.numel() <= LARGEST and not t.is_complex() for t in tensors)


def _thinned(calls: list[Call]) -> list[Call]:
    """At most a few calls with the same facts."""
    kept: list[Call] = []
    count: dict[str, int] = {}
    for call in calls:
        key = repr(sorted((n, f.kind, f.constant if f.is_switch else "") for n, f in call.facts.items()))
        count[key] = count.get(key, 0) + 1
        if count[key] <= PER_FACTS:
            kept.append(call)
    return kept[:PER_OP]


def _variations(calls: list[Call]) -> list[Call]:
    """The first calls with another value for a switch that they leave out, so that every one is tried."""
    found: list[Call] = []
    for call in calls[:VARIED]:
        declared = signature(call.name)
        assert declared is not None
        for parameter in declared.names:
            if parameter not in call.arguments and parameter in declared.defaults:
                found += [
                    _made(call.name, {**call.arguments, parameter: value})
                    for value in _others(parameter, declared.defaults[parameter])
                ]
    return found


def _others(parameter: str, default: Any) -> list[Any]:
    """Values that a parameter with this default is tried with."""
    if parameter == "dtype":
        return [torch.float64, torch.int64, torch.bool]
    if parameter == "reduction":
        return ["none", "sum", "mean"]
    return [not default] if isinstance(default, bool) else []
