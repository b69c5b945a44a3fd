"""The accelerator itself; see the package."""

import contextlib

import torch
from gradlint_model import unknown


class Accelerator:
    def prepare(self, *args, device_placement=None):
        return args[0] if len(args) == 1 else args

    def prepare_model(self, model, device_placement=None, evaluation_mode=False):
        return model

    def prepare_optimizer(self, optimizer, device_placement=None):
        return optimizer

    def prepare_scheduler(self, scheduler):
        return scheduler

    def prepare_data_loader(self, data_loader, device_placement=None, slice_fn_for_dispatch=None):
        return data_loader

    def unwrap_model(self, model, keep_fp32_wrapper=True):
        return model

    def backward(self, loss, **kwargs):
        loss.backward(**kwargs)

    def accumulate(self, *models):
        return contextlib.nullcontext()

    def autocast(self, autocast_handler=None):
        return contextlib.nullcontext()

    def no_sync(self, model):
        return contextlib.nullcontext()

    def gather(self, tensor):
        return unknown()

    def gather_for_metrics(self, input_data, use_gather_object=False):
        return unknown()

    def reduce(self, tensor, reduction="sum", scale=1.0):
        return unknown()

    def print(self, *args, **kwargs):
        return None

    def log(self, values, step=None, log_kwargs=None):
        return None

    def wait_for_everyone(self):
        return None

    def save_state(self, output_dir=None, **options):
        return None

    def clip_grad_norm_(self, parameters, max_norm, norm_type=2):
        return torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)

    def clip_grad_value_(self, parameters, clip_value):
        return torch.nn.utils.clip_grad_value_(parameters, clip_value)
