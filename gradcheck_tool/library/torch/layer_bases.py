"""Base classes of torch.nn's layers, from which programs derive: their constructors and their layers."""

from __future__ import annotations

import dataclasses
import re

from gradcheck_tool.engine import optable


@dataclasses.dataclass(frozen=True, slots=True)
class _Base:
    """A base class.

    `layer` is a layer whose constructor leaves the same on an object, `params` are what the constructor of
    the base takes, in order, where that differs. `layers` is what all layers of the base are called.
    """

    layer: str
    layers: str
    params: tuple[str, ...] = ()


_CONVOLUTION = (
    *("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation"),
    *("transposed", "output_padding", "groups", "bias", "padding_mode"),
)
_RECURRENT = (
    *(
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ),
)
_BASES = {
    "_Loss": _Base("L1Loss", r"(?!AdaptiveLogSoftmax)\w+Loss(2d)?"),
    "_WeightedLoss": _Base(
        "NLLLoss",
        r"(BCE|(Linear)?CrossEntropy|MultiLabelSoftMargin|MultiMargin|NLL)Loss(2d)?",
        ("weight", "size_average", "reduce", "reduction"),
    ),
    "_ConvNd": _Base("Conv2d", r"Conv(Transpose)?\dd", _CONVOLUTION),
    "_ConvTransposeNd": _Base("Conv2d", r"ConvTranspose\dd", _CONVOLUTION),
    "_NormBase": _Base("BatchNorm2d", r"SyncBatchNorm|(Batch|Instance)Norm\dd"),
    "_BatchNorm": _Base("BatchNorm2d", r"SyncBatchNorm|BatchNorm\dd"),
    "_InstanceNorm": _Base("InstanceNorm2d", r"InstanceNorm\dd"),
    "_DropoutNd": _Base("Dropout", r"((Feature)?Alpha)?Dropout(\dd)?"),
    "_MaxPoolNd": _Base("MaxPool2d", r"MaxPool\dd"),
    "RNNBase": _Base("GRU", "RNN|LSTM|GRU", ("mode", *_RECURRENT)),
    "RNNCellBase": _Base(
        "RNNCell", "(RNN|LSTM|GRU)Cell", ("input_size", "hidden_size", "bias", "num_chunks")
    ),
    "_AdaptiveAvgPoolNd": _Base("AdaptiveAvgPool2d", r"AdaptiveAvgPool\dd"),
}


def base_spec(name: str) -> optable.LayerSpec | None:
    """What the constructor of a base class such as `torch.nn._Loss` makes: the same as one of its layers."""
    base = _BASES.get(name.removeprefix("torch.nn."))
    spec = None if base is None else optable.layer(f"torch.nn.{base.layer}")
    if base is None or spec is None:
        return None
    return dataclasses.replace(spec, params=base.params) if base.params else spec


def derives(layer: str, name: str) -> bool:
    """Does a layer of torch.nn derive from a base class?"""
    base = _BASES.get(name.removeprefix("torch.nn."))
    short = layer.removeprefix("torch.nn.").removeprefix("Lazy")
    return base is not None and re.fullmatch(base.layers, short) is not None
