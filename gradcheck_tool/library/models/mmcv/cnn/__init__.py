"""MMCV's layers, built from dictionaries (`dict(type="ReLU")`): a convolution with its norm and activation.

## Example

```python
import torch
from mmcv.cnn import ConvModule

block = ConvModule(2, 2, 3, padding=1)
image = torch.ones(1, 2, 4, 4)
out = block(image)
out += image
out.sum().backward()  # <- GL201
```

```python
import torch
from mmcv.cnn import ConvModule

block = ConvModule(2, 2, 3, padding=1)
image = torch.ones(1, 2, 4, 4)
out = block(image)
out = out + image
out.sum().backward()
```
"""

import torch
from gradlint_model import complete, unknown
from torch import nn

_NORMS = {
    "BN": (nn.BatchNorm2d, "bn"),
    "BN1d": (nn.BatchNorm1d, "bn"),
    "BN2d": (nn.BatchNorm2d, "bn"),
    "BN3d": (nn.BatchNorm3d, "bn"),
    "SyncBN": (nn.SyncBatchNorm, "bn"),
    "GN": (nn.GroupNorm, "gn"),
    "LN": (nn.LayerNorm, "ln"),
    "IN": (nn.InstanceNorm2d, "in"),
}
_CONVOLUTIONS = {"Conv1d": nn.Conv1d, "Conv2d": nn.Conv2d, "Conv3d": nn.Conv3d, "Conv": nn.Conv2d}
_ACTIVATIONS = {
    "ReLU": nn.ReLU,
    "LeakyReLU": nn.LeakyReLU,
    "PReLU": nn.PReLU,
    "RReLU": nn.RReLU,
    "ReLU6": nn.ReLU6,
    "ELU": nn.ELU,
    "Sigmoid": nn.Sigmoid,
    "Tanh": nn.Tanh,
    "GELU": nn.GELU,
    "SiLU": nn.SiLU,
}
_RELU = {"type": "ReLU"}
_NOT_IN_PLACE = ("Tanh", "PReLU", "Sigmoid", "HSigmoid", "Swish", "GELU")


def build_activation_layer(cfg):
    options = dict(cfg)
    kind = options.pop("type")
    return _ACTIVATIONS[kind](**options) if kind in _ACTIVATIONS else unknown()


def build_conv_layer(cfg, *args, **kwargs):
    if cfg is None:
        return nn.Conv2d(*args, **kwargs)
    options = dict(cfg)
    kind = options.pop("type")
    return _CONVOLUTIONS[kind](*args, **kwargs, **options) if kind in _CONVOLUTIONS else unknown()


def build_norm_layer(cfg, num_features, postfix=""):
    options = dict(cfg)
    kind = options.pop("type")
    if kind not in _NORMS:
        return unknown(), unknown()
    layer, short = _NORMS[kind]
    learns = options.pop("requires_grad", True)
    if kind == "GN":
        norm = nn.GroupNorm(num_channels=num_features, **options)
    else:
        norm = layer(num_features, **options)
    for parameter in norm.parameters():
        parameter.requires_grad = learns
    return short + str(postfix), norm


@complete
class ConvModule(nn.Module):
    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias="auto",
        conv_cfg=None,
        norm_cfg=None,
        act_cfg=_RELU,
        inplace=True,
        with_spectral_norm=False,
        padding_mode="zeros",
        order=("conv", "norm", "act"),
        fast_conv_bn_eval=False,
    ):
        super().__init__()
        self.with_norm = norm_cfg is not None
        self.with_activation = act_cfg is not None
        self.order = order
        self.with_bias = not self.with_norm if bias == "auto" else bias
        self.conv = build_conv_layer(
            conv_cfg,
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=self.with_bias,
        )
        if self.with_norm:
            self.norm_name, norm = build_norm_layer(norm_cfg, out_channels)
            self.add_module(self.norm_name, norm)
        if self.with_activation:
            options = dict(act_cfg)
            if options["type"] not in _NOT_IN_PLACE:
                options.setdefault("inplace", inplace)
            self.activate = build_activation_layer(options)

    @property
    def norm(self):
        return getattr(self, self.norm_name) if self.with_norm else None

    def init_weights(self):
        return None

    def forward(self, x, activate=True, norm=True):
        for layer in self.order:
            if layer == "conv":
                x = self.conv(x)
            elif layer == "norm" and norm and self.with_norm:
                x = self.norm(x)
            elif layer == "act" and activate and self.with_activation:
                x = self.activate(x)
        return x
