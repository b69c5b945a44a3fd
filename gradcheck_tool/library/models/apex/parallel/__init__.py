"""Apex's wrapper for several processes."""

import torch


class DistributedDataParallel(torch.nn.Module):
    def __init__(self, module, **options):
        super().__init__()
        self.module = module

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def convert_syncbn_model(module, process_group=None, channel_last=False):
    return module
