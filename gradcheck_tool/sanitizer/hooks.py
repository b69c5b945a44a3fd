"""Hooks on tensors and modules, which change a gradient by what they return."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

from gradcheck_tool.sanitizer.below import Below
from gradcheck_tool.sanitizer.memory import PLAIN, storage_key, tensors_in
from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sharing import Sharing, Victims
from gradcheck_tool.sanitizer.sites import binds_argument, here
from gradcheck_tool.sanitizer.unseen import Unseen, unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from torch import Tensor

    from gradcheck_tool.sanitizer.masks import Masks
    from gradcheck_tool.sanitizer.sites import Site

LOOKED_AT = 3
"""So many calls of each hook are looked at."""
_COMPARED_UP_TO = 1 << 26
"""Of gradients of more bytes it is not looked at whether a hook changes them."""
_WRAPPED = "_gradlint_hook"
_no_dispatch: Any = torch._C._DisableTorchDispatch


@dataclass(slots=True, eq=False)
class Hook:
    """One hook.

    Attributes:
        name: its function.
        site: where it was registered.
        times: how many of its calls were looked at.
        lost: in how many of them it put a new gradient in the place of its argument, and nothing outlived it.
        place: where it computed that one.
        write: where it changed its argument in place.
        victims: what else computed with it, for each call that did.
        of: what it may change: a gradient, or what the forward of a module takes or gives.
    """

    name: str
    site: Site
    times: int = 0
    lost: int = 0
    place: Site | None = None
    write: Site | None = None
    victims: list[Victims] = field(default_factory=list)
    of: str = "gradient"

    @property
    def changed(self) -> list[Victims]:
        """The calls in which it changed its argument in place, and something else computed with that."""
        return [one for one in self.victims if one.leaves or one.nodes]


@dataclass(slots=True)
class Hooks:
    """The hooks of a process, by place and function.

    Attributes:
        masks: what they set to zero.
        sharing: what else has the memory that they change.
        on_backwards: where hooks on the backward of modules were registered.
        after: where hooks were registered that get a leaf once its gradient is added, and their names.
    """

    masks: Masks
    sharing: Sharing = field(default_factory=Sharing)
    known: dict[tuple[Site, str], Hook] = field(default_factory=dict)
    on_backwards: dict[Site, None] = field(default_factory=dict)
    after: dict[tuple[Site, str], None] = field(default_factory=dict)
    _on_modules: WeakKeyDictionary[Any, Hook] = field(default_factory=WeakKeyDictionary)

    @unseen
    def of_tensor(self, tensor: Tensor, hook: Callable[..., Any]) -> Callable[..., Any]:
        """A hook of a tensor, whose first calls are looked at."""
        known = self._known(hook)
        if known is None:
            return hook
        rebinds = binds_argument(hook, 0)
        leaf = weakref.ref(tensor) if tensor.is_leaf else _no_leaf

        @wraps(hook)
        def looked_at(gradient: Tensor, *args: Any) -> Any:
            parameter = leaf()
            if known.times >= LOOKED_AT or not isinstance(gradient, torch.Tensor):
                if parameter is not None:
                    self.masks.hooked_again(parameter)
                return hook(gradient, *args)
            known.times += 1
            before = _copy(gradient)
            seen = Seen(gradient)
            with seen:
                result = hook(gradient, *args)
            if result is None and rebinds and seen.is_lost([gradient]):
                known.lost += 1
                known.place = seen.site
            if before is not None:
                self._changes(known, seen, gradient, before)
                self._masks(parameter, before, gradient if result is None else result, seen.site)
            return result

        vars(looked_at)[_WRAPPED] = True
        return looked_at

    @unseen
    def _changes(self, known: Hook, seen: Seen, gradient: Tensor, before: Tensor) -> None:
        """Has a hook changed its argument?"""
        if seen.write is not None and _differ(gradient, before):
            known.write = seen.write
            known.victims.append(Victims())
            self.sharing.changes(gradient, known.victims[-1])

    @unseen
    def _masks(self, parameter: Tensor | None, before: Tensor, result: Any, site: Site | None) -> None:
        """Has the hook of a parameter set a part of the gradient to zero?"""
        if parameter is not None and type(result) in PLAIN and storage_key(result):
            self.masks.hooked(parameter, before, result, site)

    def on_module(self, hook: Callable[..., Any]) -> None:
        """A hook is registered on the backward of a module, which keeps it as it is: it may be pickled."""
        known, site = self._known(hook), here()
        if site is not None:
            self.on_backwards[site] = None
        if known is not None:
            self._on_modules[hook] = known

    def after_adding(self, hook: Callable[..., Any]) -> None:
        """A hook is registered on a leaf, to be called once its gradient is added."""
        site = here()
        if site is not None:
            self.after[site, getattr(hook, "__name__", "hook")] = None

    def of_module(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        """A hook that a pass is to call on the backward of a module: its first calls are looked at."""
        try:
            known = self._on_modules.get(hook)
        except TypeError:  # it can be called, but not hashed
            return hook
        if known is None:
            return hook
        rebinds = binds_argument(hook, 1)

        @wraps(hook)
        def looked_at(module: nn.Module, gradients: Any, *args: Any) -> Any:
            if known.times >= LOOKED_AT:
                return hook(module, gradients, *args)
            known.times += 1
            given = list(tensors_in((gradients, *args)))
            copies = [_copy(gradient) for gradient in given]
            seen = Seen(*given)
            with seen:
                result = hook(module, gradients, *args)
            if result is None and rebinds and seen.is_lost(tensors_in(gradients)):
                known.lost += 1
                known.place = seen.site
            for gradient, before in zip(given, copies, strict=True):
                if before is not None:
                    self._changes(known, seen, gradient, before)
            return result

        return looked_at

    def of_forward(self, hook: Callable[..., Any], of: str) -> Hook | None:
        """The record of a hook that is registered on the forward of a module."""
        known = self._known(hook)
        if known is not None:
            known.of = of
        return known

    def _known(self, hook: Callable[..., Any]) -> Hook | None:
        """The record of a hook that is a function of Python, and not wrapped yet."""
        site = here()
        if (
            site is None
            or hasattr(hook, _WRAPPED)
            or not hasattr(getattr(hook, "__func__", hook), "__code__")
        ):
            return None
        name = getattr(hook, "__name__", "hook")
        return self.known.setdefault((site, name), Hook(name, site))


class Seen(Below):  # type: ignore[no-untyped-call]
    """Remembers the last operation, without holding its result, and the last write to a gradient.

    Attributes:
        is_tracked: whether the last operation goes into the graph, for all that is known.
    """

    def __init__(self, *gradients: Tensor) -> None:
        super().__init__()
        self.is_tracked = False
        self.site: Site | None = None
        self.write: Site | None = None
        self._keys = {key for key in map(storage_key, gradients) if key}
        self._shape: torch.Size | None = None
        self._result: weakref.ref[Tensor] | None = None

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self.site = here()
        is_tensor = isinstance(result, torch.Tensor)
        self._result = weakref.ref(result) if is_tensor else None
        self._shape = result.shape if is_tensor else None
        with Unseen():
            given = list(tensors_in(args))
            self.is_tracked = (
                torch.is_grad_enabled()
                and func is not torch.ops.aten.detach.default
                and any(one.requires_grad for one in given)
            )
            if (
                self._keys
                and func._schema.is_mutable
                and not self._keys.isdisjoint(map(storage_key, given[:1]))
            ):
                self.write = self.site
        return result

    @unseen
    def is_lost(self, gradients: Iterable[Tensor]) -> bool:
        """Did it compute something like these gradients that nothing has any more?"""
        is_gone = self._result is not None and self._result() is None
        return is_gone and any(one.shape == self._shape for one in gradients)


@unseen
def _copy(gradient: Tensor) -> Tensor | None:
    """A copy of a gradient, where that is possible."""
    if type(gradient) not in PLAIN or not storage_key(gradient) or gradient.nbytes > _COMPARED_UP_TO:
        return None
    with torch.no_grad(), _no_dispatch():
        return gradient.clone()


def _no_leaf() -> None:
    """What there is of a parameter where a hook belongs to none."""


def _differ(gradient: Tensor, before: Tensor) -> bool:
    with torch.no_grad(), _no_dispatch():
        return not torch.equal(gradient, before)


@contextmanager
def hooks_watched(hooks: Hooks) -> Iterator[None]:
    """Each hook that is registered on a tensor, or on the backward of a module, is told to `hooks`."""
    of_tensor: Any = torch.Tensor.register_hook
    on_module: Any = nn.Module.register_full_backward_hook
    of_module: Any = nn.Module._get_backward_hooks
    after: Any = torch.Tensor.register_post_accumulate_grad_hook

    @wraps(of_tensor)
    def register_hook(tensor: Tensor, hook: Callable[..., Any]) -> Any:
        return of_tensor(tensor, hooks.of_tensor(tensor, hook))

    @wraps(after)
    def register_after(tensor: Tensor, hook: Callable[..., Any]) -> Any:
        hooks.after_adding(hook)
        return after(tensor, hook)

    @wraps(on_module)
    def register_full_backward_hook(
        module: nn.Module, hook: Callable[..., Any], *args: Any, **options: Any
    ) -> Any:
        handle = on_module(module, hook, *args, **options)
        hooks.on_module(hook)
        return handle

    @wraps(of_module)
    def get_backward_hooks(module: nn.Module) -> Any:
        full, others = of_module(module)
        if torch.compiler.is_compiling():
            return full, others
        return [hooks.of_module(hook) for hook in full], others

    with (
        replaced(
            torch.Tensor, register_hook=register_hook, register_post_accumulate_grad_hook=register_after
        ),
        replaced(
            nn.Module,
            register_full_backward_hook=register_full_backward_hook,
            _get_backward_hooks=get_backward_hooks,
        ),
    ):
        yield
