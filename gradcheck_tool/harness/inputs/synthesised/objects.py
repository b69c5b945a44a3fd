"""Objects of the checked code's own classes: made by calling the class, as its constructor asks."""

from __future__ import annotations

import enum
import inspect
import sys
import typing
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from types import CodeType
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.gradcheck.rng import preserved
from gradcheck_tool.harness.inputs.synthesised.budget import Budget
from gradcheck_tool.harness.inputs.synthesised.parameters import Parameter, maker_of, parameters_of
from gradcheck_tool.harness.inputs.synthesised.search import Search
from gradcheck_tool.harness.inputs.synthesised.specs import Made, Several, Spec, TensorSpec, build
from gradcheck_tool.harness.inputs.synthesised.trial import Outcome, limited
from gradcheck_tool.harness.inputs.synthesised.written_classes import written_classes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.harness.inputs.synthesised.search import State

_TRIES, _SECONDS = 60, 1.0
_SHORT = 64
"""Bytes of a method that does nothing but raise."""
_OF_OTHERS = {*sys.stdlib_module_names, "torch", "numpy"}
_MOST = 3
_open: set[type] = set()
"""Classes whose arguments are being looked for: an object that needs one of its own kind is not made."""


def with_objects(parameters: list[Parameter]) -> list[Parameter]:
    """The parameters, told which objects they may be by annotations, names and what is read of them."""
    for parameter in parameters:
        specs = [spec for cls in _annotated(parameter) for spec in _of_class(cls)]
        specs = specs or [spec for cls in _namesakes(parameter) for spec in _of_class(cls)]
        if not specs and parameter.usage.attributes and not parameter.objects:
            specs = _with_attributes(frozenset(parameter.usage.attributes), parameter.module)
        listed = _listed(parameter) if not specs and not parameter.objects else []
        parameter.objects = (*specs, *listed) or parameter.objects
    return parameters


def _listed(parameter: Parameter) -> list[Several]:
    """Lists of objects that have what is read of the things in a parameter."""
    items = parameter.usage.items
    made = _with_attributes(frozenset(items), parameter.module) if items else []
    return [Several((spec,), as_list=True) for spec in made]


def _annotated(parameter: Parameter) -> Iterator[type]:
    """The classes of somebody's own that an annotation names."""
    pending = [parameter.annotation]
    while pending:
        said = pending.pop()
        pending += typing.get_args(said)
        if isinstance(said, str):
            pending += [cls for cls in _package(parameter.module) if cls.__name__ == said.rpartition(".")[2]]
        elif isinstance(said, type) and _is_own(said):
            yield said


def _namesakes(parameter: Parameter) -> list[type]:
    """The classes of the package that are called as a parameter is: `quant_state` and `QuantState`."""
    plain = parameter.name.replace("_", "")
    return [cls for cls in _package(parameter.module) if cls.__name__.lower() == plain]


def _is_hashable(cls: type) -> bool:
    """Whether a class can be remembered: one whose metaclass compares classes may not."""
    return type(cls).__hash__ is not None


def _is_own(cls: type) -> bool:
    return cls.__module__.partition(".")[0] not in _OF_OTHERS and not issubclass(cls, enum.Enum)


def _of_class(owner: type) -> list[Made]:
    """Objects of a class, or of those that stand below an abstract one; empty where none could be made."""
    classes = [cls for cls in (owner, *_below(owner)) if _is_hashable(cls)][: 2 * _MOST]
    found = (_made(cls) for cls in classes if not _is_abstract(cls))
    return [spec for spec in found if spec is not None][:_MOST]


def _is_abstract(cls: type) -> bool:
    """Whether a class leaves methods to those below it, be it by saying so or by raising."""
    codes = (getattr(inspect.getattr_static(cls, name, None), "__code__", None) for name in dir(cls))
    return inspect.isabstract(cls) or any(
        "NotImplementedError" in code.co_names and len(code.co_code) <= _SHORT
        for code in codes
        if isinstance(code, CodeType)
    )


def _with_attributes(names: frozenset[str], module: str) -> list[Made]:
    """Objects of the classes of a package that have these attributes, those of the same module first."""
    fitting = [cls for cls in _package(module) if names <= _attributes(cls)]
    fitting.sort(key=lambda cls: (cls.__module__ != module, len(_attributes(cls))))
    fitting = fitting or list(islice(written_classes(names, module), _MOST))
    return [spec for cls in fitting[:_MOST] for spec in _of_class(cls)[:1]]


def _package(module: str) -> list[type]:
    """The classes of all imported modules of a package."""
    top = module.partition(".")[0]
    names = sorted(name for name in sys.modules if name.partition(".")[0] == top)
    return list(dict.fromkeys(cls for name in names for cls in _classes(name)))


def _below(owner: type) -> Iterator[type]:
    with suppress(TypeError):  # `type` itself
        heirs: list[type] = owner.__subclasses__()
        for heir in heirs:
            yield heir
            yield from _below(heir)


@lru_cache(maxsize=256)
def _made(owner: type) -> Made | None:
    if owner in _open:
        return None
    _open.add(owner)
    try:
        needed = [p for p in parameters_of(*maker_of(owner)) if p.required and not p.variable]
        parameters = with_objects(needed)
    except (ValueError, TypeError, StopIteration):
        return None
    else:

        def attempt(state: State) -> Outcome:
            return _tried(Made(owner, tuple(zip((p.name for p in parameters), state, strict=True))))

        found = Search(parameters, attempt).run(_TRIES, Budget(_SECONDS))
        if found.state is None:
            return None
        items = zip((p.name for p in parameters), map(_constant, found.state), strict=True)
        return Made(owner, tuple(items))
    finally:
        _open.discard(owner)


def _tried(spec: Made) -> Outcome:
    generator = torch.Generator().manual_seed(0)
    try:
        with preserved(), limited():
            build(spec, generator, torch.get_default_dtype(), "cpu")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a constructor raises what it likes
        return Outcome(f"{type(error).__name__}: {error}"[:300], 0)
    return Outcome("", 5)


def _constant(spec: Spec) -> Spec:
    """What an object holds is no argument: no gradient is asked for it."""
    return replace(spec, grad=False) if isinstance(spec, TensorSpec) else spec


def _classes(module: str) -> list[type]:
    values = list(vars(sys.modules[module]).values()) if sys.modules[module] is not None else []
    return [
        value
        for value in values
        if isinstance(value, type)
        and value.__module__ == module
        and not issubclass(value, torch.autograd.Function)
        and _is_hashable(value)
    ]


@lru_cache(maxsize=4096)
def _attributes(cls: type) -> frozenset[str]:
    """The attributes that a class has or that its `__init__` mentions: those that it sets, and more."""
    mentioned: set[str] = set()
    for base in cls.__mro__:
        mentioned.update(vars(base), inspect.get_annotations(base))
        code: Any = getattr(vars(base).get("__init__"), "__code__", None)
        mentioned.update(getattr(code, "co_names", ()))
    return frozenset(mentioned)
