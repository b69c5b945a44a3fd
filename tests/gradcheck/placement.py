"""Where the engine mixes tensors of the CPU with those of the inputs, seen without a device.

All tensors count as on a device, except those that were made without saying where, and what is computed from
nothing but these. PyTorch refuses an operation on both kinds, unless one of them has no axes.
"""

import sys
from pathlib import Path

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

import gradcheck_tool.gradcheck

_ENGINE = str(Path(gradcheck_tool.gradcheck.__file__).parent)
_MADE = {
    *(torch.arange, torch.empty, torch.eye, torch.from_numpy, torch.full, torch.linspace),
    *(torch.ones, torch.rand, torch.randint, torch.randn, torch.randperm, torch.tensor, torch.zeros),
}
_FETCHED = {Tensor.cpu}
_MOVED = Tensor.to
_CROSSING = {Tensor.to, Tensor.copy_, torch.equal}


class Placement(TorchFunctionMode):
    """Writes down each line of the engine that mixes places, in `mixed`."""

    def __init__(self):
        super().__init__()
        self.mixed = set()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        del types
        kwargs = kwargs or {}
        tensors = list(_tensors((args, kwargs)))
        here = [_on_cpu(t) for t in tensors]
        result = func(*args, **kwargs)
        if func in _MADE:
            _mark(result, cpu=kwargs.get("device") is None)
        elif func in _FETCHED:
            _mark(result, cpu=True)
        elif func == _MOVED:
            moved = any(isinstance(a, torch.device) for a in (*args, *kwargs.values()))
            _mark(result, cpu=here[0] and not moved)
        elif tensors:
            wide = [where for where, t in zip(here, tensors, strict=True) if t.dim()]
            if any(wide) and not all(wide) and func not in _CROSSING and not _is_indexing(func, here):
                self._note()
            _mark(result, cpu=bool(wide) and all(wide))
        return result

    def _note(self):
        frame = sys._getframe(2)
        while frame is not None and "/torch/" in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is not None and frame.f_code.co_filename.startswith(_ENGINE):
            self.mixed.add(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")


def _is_indexing(func, here):
    """An index may be on the CPU whatever it is an index of."""
    return func in (Tensor.__getitem__, Tensor.__setitem__) and not here[0]


def _tensors(tree):
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, dict):
        yield from _tensors(tuple(tree.values()))
    elif isinstance(tree, (tuple, list)):
        for part in tree:
            yield from _tensors(part)


def _on_cpu(tensor):
    return getattr(tensor, "made_on_cpu", False)


def _mark(result, *, cpu):
    for tensor in _tensors(result):
        if cpu or _on_cpu(tensor):
            tensor.made_on_cpu = cpu
