"""Whether modules are in training mode while optimizers train them."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sites import here
from gradcheck_tool.sanitizer.tokens import token_of
from gradcheck_tool.sanitizer.unseen import unseen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.steps import OptimizerRecord


@dataclass(slots=True, eq=False)
class Switched:
    """A module that was put into evaluation mode, and has been in it since.

    Attributes:
        kind: its class.
        parameters: the tokens of its parameters.
        steps: how many steps have trained these since.
        before: how many steps had trained them before, in training mode.
    """

    module: weakref.ref[nn.Module]
    kind: str
    site: Site
    parameters: set[int]
    before: int
    steps: int = 0
    step_site: Site | None = None


@dataclass(slots=True)
class Modes:
    """The modules that are in evaluation mode.

    Attributes:
        switched: by identity; those that went back are gone.
    """

    switched: dict[int, Switched] = field(default_factory=dict)
    _steps: dict[int, int] = field(default_factory=dict)

    @unseen
    def set(self, module: nn.Module, mode: bool) -> None:
        """A program sets the mode of a module."""
        if mode:
            tokens = {token_of(one) for one in module.parameters()}
            self.switched = {key: one for key, one in self.switched.items() if not one.parameters & tokens}
            return
        known = self.switched.get(id(module))
        site = here()
        depends = any(isinstance(one, (_BatchNorm, _DropoutNd)) for one in module.modules())
        if site is None or not depends or (known is not None and known.module() is module):
            return
        tokens = {token_of(one) for one in module.parameters()}
        before = max((self._steps.get(token, 0) for token in tokens), default=0)
        self.switched[id(module)] = Switched(weakref.ref(module), type(module).__name__, site, tokens, before)

    def stepped(self, record: OptimizerRecord) -> None:
        """An optimizer has made a step."""
        for token in record.parameters:
            self._steps[token] = self._steps.get(token, 0) + 1
        for one in self.switched.values():
            if not one.parameters.isdisjoint(record.parameters):
                one.steps += 1
                one.step_site = record.step_site


@contextmanager
def modes_watched(modes: Modes) -> Iterator[None]:
    """Each call of `train` and `eval` is told to `modes`."""
    original = nn.Module.train
    inside = False

    def train(module: nn.Module, mode: bool = True) -> nn.Module:
        nonlocal inside
        if inside:
            return original(module, mode)
        inside = True
        try:
            result: nn.Module = original(module, mode)
        finally:
            inside = False
        modes.set(module, mode)
        return result

    with replaced(nn.Module, train=train):
        yield
