"""What shows that an object is an optimizer, and whose parameters it has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.ordinary_use import is_module_class
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import NONE, LibraryObject
from gradcheck_tool.library.torch.module_tree import WRAPPERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gradcheck_tool.analysis.usage import Usage
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value

_METHODS = frozenset({"zero_grad", "step"})
# Usual names are a last resort: they count together with a use that fits.
_OPTIMIZER = re.compile(r"(?:^|_)opt(?:im(?:izer)?)?s?(?:_|$|[A-Z\d])|[a-z]Opt(?:im(?:izer)?)?$")
_AVERAGED = re.compile(r"(?:^|_)(?:ema|target|teacher|old|avg|average|averaged|shadow|frozen|ref)(?:_|$)")
_WORDS = re.compile(r"[A-Z]\w*|[a-z]+|\d+")
_OF_OPTIMIZERS = frozenset({"optim", "optimizer", "opt"})


def is_optimizer(name: str, usage: Usage, *, trains: Callable[[], bool]) -> bool:
    """Is something that is called `name` and used so an optimizer? `trains`: after a `backward`.

    Finding that out is dear, and most names need no answer.
    """
    if usage.methods >= _METHODS:
        return True
    named = _OPTIMIZER.search(name) is not None and trains()
    if named and ("zero_grad" in usage.methods or usage.stepped):
        return True
    return "step" in usage.methods and (named or "param_groups" in usage.attributes)


def is_averaged(name: str) -> bool:
    """Is it called what networks are called that follow another and are not trained themselves?"""
    return _AVERAGED.search(name) is not None


def optimizers_among(names: Iterable[str]) -> list[str]:
    """Those of the names that are usual for optimizers."""
    return [name for name in names if "optim" in name or name.startswith("opt")]


def named_alike(optimizer: str, modules: list[str], optimizers: list[str]) -> list[str]:
    """The modules whose names have the most in common with that of an optimizer; of one of each, the one.

    A word (`optimizer_G` and `netG`), or else an initial (`d_optim` and `discriminator`). What has more in
    common with another optimizer is that one's: `critic_2`, beside `critic_optimizer` and
    `critic_optimizer_2`.
    """
    if len(modules) == len(optimizers) == 1:
        return modules
    parts = _words(optimizer) - _OF_OPTIMIZERS
    shared = {name: len(parts & _words(name)) for name in modules}
    most = max(shared.values(), default=0)
    others = [_words(other) - _OF_OPTIMIZERS for other in optimizers]
    found = [
        name
        for name in modules
        if shared[name] == most and all(len(other & _words(name)) <= most for other in others)
    ]
    if not most:
        initials = {part for part in parts if len(part) == 1}
        found = [name for name in modules if name[:1].lower() in initials]
    return found


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORDS.findall(name)}


def is_trainable_leaf(s: State, value: Value) -> bool:
    """Is it a tensor that an optimizer may be given?"""
    tensor = s.get(value, Tensor)
    return tensor is not None and tensor.leaf is True and tensor.requires_grad is True


def is_module_object(s: State, value: Value) -> bool:
    """Is it a module: of a class of the repository, known by its role alone, or around one of these?"""
    record = s.get(value, Instance)
    if record is None:
        return False
    if isinstance(record.cls, LibraryObject) and record.cls.name in WRAPPERS:
        return is_module_object(s, record.attrs.get("module", NONE))
    return "#group" in record.attrs or is_module_class(s, record.cls)


def modules_inside(s: State, value: Value) -> list[tuple[str, Value]]:
    """The modules that an object of the repository has for attributes."""
    record = s.get(value, Instance)
    if record is None or isinstance(record.cls, LibraryObject):
        return []
    return [(name, inner) for name, inner in record.attrs.items() if is_module_object(s, inner)]
