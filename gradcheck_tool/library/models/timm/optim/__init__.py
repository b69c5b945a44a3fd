"""timm's optimizers: made for a model, or for parameters, by name."""

import torch


def create_optimizer_v2(model_or_params, opt="sgd", lr=0.1, **kwargs):
    is_model = isinstance(model_or_params, torch.nn.Module)
    return torch.optim.SGD(model_or_params.parameters() if is_model else model_or_params, lr)


def create_optimizer(args, model, filter_bias_and_bn=True):
    return torch.optim.SGD(model.parameters(), 0.1)
