"""Where the parameters of modules come from, and what programs set on modules."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch.nn.modules.module import (
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from gradcheck_tool.sanitizer.sites import here
from gradcheck_tool.sanitizer.tokens import token_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor, nn

    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.steps import Steps


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
        flags: the places where modules were made whose `requires_grad` was set to False and whose parameters
            are trainable, with their class.
    """

    steps: Steps
    origins: dict[int, Origin] = field(default_factory=dict)
    flags: dict[Site, str] = field(default_factory=dict)
    _modules: list[tuple[weakref.ref[nn.Module], Site]] = field(default_factory=list)

    def registered(self, module: nn.Module, name: str, parameter: Tensor | None) -> None:
        """A module gets a parameter."""
        if parameter is not None:
            owner = f"{type(module).__name__}.{name}"
            self.origins[token_of(parameter)] = Origin(weakref.ref(module), owner, here(), self.steps.total)

    def joined(self, _: nn.Module, __: str, module: nn.Module | None) -> None:
        """A module becomes a part of another."""
        site = here()
        if module is not None and site is not None:
            self._modules.append((weakref.ref(module), site))

    def look(self) -> None:
        """In which mode are the modules, and what has been set on them?"""
        for origin in self.origins.values():
            module = origin.module()
            if module is not None:
                origin.training = module.training
        for reference, site in self._modules:
            module = reference()
            if module is not None and vars(module).get("requires_grad") is False:
                self._flagged(module, site)

    def _flagged(self, module: nn.Module, site: Site) -> None:
        if any(parameter.requires_grad for parameter in module.parameters()):
            self.flags[site] = type(module).__name__


@contextmanager
def parameters_watched(parameters: Parameters) -> Iterator[None]:
    """Each parameter that a module gets is told to `parameters`."""
    handles = [
        register_module_parameter_registration_hook(parameters.registered),
        register_module_module_registration_hook(parameters.joined),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
