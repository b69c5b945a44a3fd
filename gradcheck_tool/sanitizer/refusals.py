"""`--keep-going`: what PyTorch refuses is told, and the run goes on where there is a way.

- A saved tensor that was changed is used with the values that it has.
- A graph that a backward frees is kept, and a second backward finds it. It goes when nothing refers to it.
- A `backward()` without any graph does nothing.
- An input that the result of `torch.autograd.grad` does not depend on has a gradient of zeros.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sites import here
from gradcheck_tool.sanitizer.versions import freed_text, unused_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gradcheck_tool.sanitizer.sites import Site

_NO_GRAPH = "does not require grad and does not have a grad_fn"
_RETAIN, _INPUTS, _UNUSED = 1, 3, 4
"""Positions among what the engine is called with, behind the roots."""


@dataclass(slots=True)
class Refusals:
    """What PyTorch refuses.

    Attributes:
        keep_going: whether the run goes on where that is possible.
        listeners: are told of each refusal that the run goes on after.
    """

    keep_going: bool = False
    listeners: list[Callable[[RuntimeError, Site], None]] = field(default_factory=list)

    def goes_on(self, error: RuntimeError, site: Site | None) -> bool:
        """PyTorch stops here with this error: does the run go on?"""
        if not self.keep_going or site is None:
            return False
        for listener in self.listeners:
            listener(error, site)
        return True

    def run_backward(
        self, original: Callable[..., Any], roots: Sequence[Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Go through a graph as the engine does, and keep it."""
        given = list(args)
        given[_RETAIN] = True
        demands = len(given) > _UNUSED and not given[_UNUSED]
        if demands:
            given[_UNUSED] = True
        try:
            result = original(roots, *given, **kwargs)
        except RuntimeError as error:
            if kwargs.get("accumulate_grad") and _NO_GRAPH in str(error) and self.goes_on(error, here()):
                return ()
            raise
        return self._filled(result, args[_INPUTS]) if demands else result

    def _filled(self, result: Sequence[Any], inputs: Sequence[Any]) -> Sequence[Any]:
        """Gradients of which those that are missing are zeros."""
        first = next((index for index, one in enumerate(result) if one is None), None)
        if first is None:
            return result
        error = RuntimeError(unused_text().replace("at index 0", f"at index {first}"))
        if not self.goes_on(error, here()) or any(not isinstance(one, torch.Tensor) for one in inputs):
            raise error
        pairs = zip(result, inputs, strict=True)
        return tuple(torch.zeros_like(given) if one is None else one for one, given in pairs)


@contextmanager
def refusals_watched(refusals: Refusals) -> Iterator[None]:
    """Backward passes go on inside where that is possible."""
    if not refusals.keep_going:
        yield
        return
    from torch._functorch import config

    freed_text(), unused_text()  # are told by the engine, which raises them no more inside
    module: Any = torch.autograd
    original = module._engine_run_backward

    @wraps(original)
    def run_backward(roots: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        return refusals.run_backward(original, roots, *args, **kwargs)

    donated = getattr(config, "donated_buffer", None)
    with replaced(module, _engine_run_backward=run_backward):
        if donated is not None:
            config.donated_buffer = False  # compiled passes refuse to keep a graph that gives its memory away
        try:
            yield
        finally:
            if donated is not None:
                config.donated_buffer = donated
