"""Fabric itself; see the package."""

import contextlib

import torch
from gradlint_model import unknown


class Fabric:
    def setup(self, module, *optimizers, scheduler=None, move_to_device=True):
        return (module, *optimizers) if optimizers else module

    def setup_module(self, module, move_to_device=True):
        return module

    def setup_optimizers(self, *optimizers):
        return optimizers[0] if len(optimizers) == 1 else optimizers

    def setup_dataloaders(self, *dataloaders, use_distributed_sampler=True, move_to_device=True):
        return dataloaders[0] if len(dataloaders) == 1 else dataloaders

    def backward(self, tensor, *args, model=None, **kwargs):
        tensor.backward(*args, **kwargs)

    def clip_gradients(self, module, optimizer, clip_val=None, max_norm=None, norm_type=2.0):
        if clip_val is not None:
            return torch.nn.utils.clip_grad_value_(module.parameters(), clip_val)
        return torch.nn.utils.clip_grad_norm_(module.parameters(), max_norm, norm_type)

    def all_gather(self, data, group=None, sync_grads=False):
        return unknown()

    def all_reduce(self, data, group=None, reduce_op="mean"):
        return unknown()

    def barrier(self, name=None):
        return None

    def launch(self, function=None, *args, **kwargs):
        return None if function is None else function(self, *args, **kwargs)

    def log(self, name, value, step=None):
        return None

    def log_dict(self, metrics, step=None):
        return None

    def print(self, *args, **kwargs):
        return None

    def save(self, path, state, filter=None):
        return None

    def autocast(self):
        return contextlib.nullcontext()

    def no_backward_sync(self, module, enabled=True):
        return contextlib.nullcontext()

    def init_module(self, empty_init=None):
        return contextlib.nullcontext()

    def init_tensor(self):
        return contextlib.nullcontext()
