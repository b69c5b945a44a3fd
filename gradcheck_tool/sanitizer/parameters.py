"""Where the parameters of modules come from, and what programs set on modules."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sites import here
from gradcheck_tool.sanitizer.tokens import token_of
from gradcheck_tool.sanitizer.unseen import unseen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.steps import Steps

_FLAG = "requires_grad"


@dataclass(slots=True, eq=False)
class Origin:
    """Where a parameter was given to a module.

    Attributes:
        owner: the class of the module, and the name of the parameter in it.
        training: whether the module was in training mode when it was last looked at.
        after: how many steps had been made then.
    """

    module: weakref.ref[nn.Module]
    owner: str
    site: Site | None
    after: int
    training: bool = True


@dataclass(slots=True)
class Parameters:
    """The parameters of modules.

    Attributes:
        origins: by token.
        flags: the places where `requires_grad` of modules was set to False whose parameters are trainable,
            with their class.
    """

    steps: Steps
    origins: dict[int, Origin] = field(default_factory=dict)
    flags: dict[Site, str] = field(default_factory=dict)
    _set: list[tuple[weakref.ref[nn.Module], Site]] = field(default_factory=list)

    @unseen
    def registered(self, module: nn.Module, name: str, parameter: Tensor | None) -> None:
        """A module gets a parameter."""
        if parameter is not None:
            owner = f"{type(module).__name__}.{name}"
            self.origins[token_of(parameter)] = Origin(weakref.ref(module), owner, here(), self.steps.total)

    def flag_set(self, module: nn.Module) -> None:
        """A program sets `requires_grad` of a module to False, as if it were a tensor."""
        site = here()
        if site is not None:
            self._set.append((weakref.ref(module), site))

    @unseen
    def look(self) -> None:
        """In which mode are the modules, and what has been set on them?"""
        for origin in self.origins.values():
            module = origin.module()
            if module is not None:
                origin.training = module.training
        for reference, site in self._set:
            module = reference()
            if module is not None and any(parameter.requires_grad for parameter in module.parameters()):
                self.flags[site] = type(module).__name__


class _Flag:
    """The attribute `requires_grad` that programs give modules; it is kept where it would be without this."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    def __get__(self, module: nn.Module | None, kind: type) -> Any:
        try:
            return vars(module)[_FLAG]
        except (KeyError, TypeError):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {_FLAG!r}") from None

    def __set__(self, module: nn.Module, value: Any) -> None:
        vars(module)[_FLAG] = value
        if value is False:
            self._parameters.flag_set(module)

    def __delete__(self, module: nn.Module) -> None:
        try:
            del vars(module)[_FLAG]
        except KeyError:
            raise AttributeError(_FLAG) from None


@contextmanager
def parameters_watched(parameters: Parameters) -> Iterator[None]:
    """Each parameter that a module gets is told to `parameters`."""
    handle = register_module_parameter_registration_hook(parameters.registered)
    kind: Any = nn.Module
    outer = vars(kind).get(_FLAG)
    kind.requires_grad = _Flag(parameters)
    listed = kind.__dir__

    def names(module: nn.Module) -> list[str]:
        return [name for name in listed(module) if name != _FLAG or _FLAG in vars(module)]

    try:
        with replaced(kind, __dir__=names):
            yield
    finally:
        if outer is None:
            del kind.requires_grad
        else:
            kind.requires_grad = outer
        handle.remove()
