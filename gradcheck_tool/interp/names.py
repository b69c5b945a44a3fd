"""Names of libraries: built-ins, and the one name of each object that has several."""

from __future__ import annotations

import builtins
from functools import lru_cache

from gradcheck_tool.domain.values import LibraryObject

BUILTINS = frozenset(dir(builtins))


@lru_cache(maxsize=8192)
def canonical(name: str) -> str:
    """The one name by which the model knows a library object that has several."""
    for alias, target in _ALIASES:
        if name == alias or name.startswith(alias + "."):
            name = target + name[len(alias) :]
    return name


# The modules that the layers of torch.nn are written in.
_LAYERS = (
    *("activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance", "dropout"),
    *("flatten", "fold", "instancenorm", "linear", "loss", "normalization", "padding", "pixelshuffle"),
    *("pooling", "rnn", "sparse", "transformer", "upsampling"),
)
_ALIASES = (
    ("torch.nn.modules.module", "torch.nn"),
    ("torch.nn.parameter.Parameter", "torch.nn.Parameter"),
    ("torch.nn.parameter.UninitializedParameter", "torch.nn.UninitializedParameter"),
    ("torch.autograd.variable.Variable", "torch.autograd.Variable"),
    ("torch.autograd.function.Function", "torch.autograd.Function"),
    ("torch.autograd.function.once_differentiable", "torch.autograd.function.once_differentiable"),
    ("torch.autograd.grad_mode", "torch"),
    ("torch.autograd.no_grad", "torch.no_grad"),
    ("torch.autograd.enable_grad", "torch.enable_grad"),
    ("torch.autograd.set_grad_enabled", "torch.set_grad_enabled"),
    ("torch.autograd.inference_mode", "torch.inference_mode"),
    # Decorates the `step` of optimizers. Known unsoundness: those that are `differentiable` keep a graph.
    ("torch.optim.optimizer._use_grad_for_differentiable", "torch.no_grad"),
    ("torch.optim.adam", "torch.optim"),
    ("torch.optim.sgd", "torch.optim"),
    ("torch.optim.adamw", "torch.optim"),
    ("torch.utils.data.dataloader", "torch.utils.data"),
    ("torch.utils.data.dataset", "torch.utils.data"),
    *((f"torch.nn.modules.{module}", "torch.nn") for module in _LAYERS),
    ("torch.nn.modules", "torch.nn"),
)


def imported_object(module: str, level: int, attribute: str | None, top: bool) -> LibraryObject:
    """What an import of a module that is not of the repository binds."""
    if attribute is not None:
        return LibraryObject(canonical("." * level + (f"{module}.{attribute}" if module else attribute)))
    return LibraryObject(module.split(".", maxsplit=1)[0] if top else canonical(module))
