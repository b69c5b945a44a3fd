"""Layers of `torch.nn` that are one functional call on what they hold.

Each entry gives the parameters and buffers that the constructor makes and how `forward` calls the
function; what the function saves comes from the measured tables. In a binding, `.name` is an attribute of
the layer (a constructor argument, a parameter or a buffer), anything else an argument of the call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradcheck_tool.autograd import engine
from gradcheck_tool.autograd.engine import Effect
from gradcheck_tool.autograd.heap import Instance, State, Tensor
from gradcheck_tool.autograd.values import FALSE, NONE, TRUE, Const, Ref, Sym, Tup, Value, unknown
from gradcheck_tool.interp import conditions, natives

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.interp.machine import Machine
    from gradcheck_tool.interp.natives import Args, Result


@dataclass(frozen=True, slots=True)
class Layer:
    """`constructor`: parameter names with defaults; `tensors`: name, whether a parameter, and the constructor
    argument that switches it on (None: always there). `call` and `function` make up `forward`.
    """

    constructor: str
    tensors: tuple[tuple[str, bool, str | None], ...] = ()
    function: str = ""
    call: str = "input"
    keywords: str = ""


_WEIGHT_BIAS = (("weight", True, None), ("bias", True, "bias"))
_NORM = (
    ("weight", True, "affine"),
    ("bias", True, "affine"),
    ("running_mean", False, "track_running_stats"),
    ("running_var", False, "track_running_stats"),
)
_CONV = "in_channels out_channels kernel_size stride=1 padding=0 dilation=1 groups=1 bias=True"
_CONV_T = (
    "in_channels out_channels kernel_size stride=1 padding=0 output_padding=0 groups=1 bias=True dilation=1"
)
_BATCH = "num_features eps=1e-05 momentum=0.1 affine=True track_running_stats=True"
_INSTANCE = "num_features eps=1e-05 momentum=0.1 affine=False track_running_stats=False"
_POOL = "kernel_size stride=None padding=0 dilation=1 return_indices=False ceil_mode=False"
_LOSS = "weight=None size_average=None reduce=None reduction='mean'"
_PLAIN_LOSS = "size_average=None reduce=None reduction='mean'"

LAYERS: dict[str, Layer] = {
    "Linear": Layer("in_features out_features bias=True", _WEIGHT_BIAS, "linear", "input .weight .bias"),
    "Bilinear": Layer(
        "in1_features in2_features out_features bias=True",
        _WEIGHT_BIAS,
        "bilinear",
        "input1 input2 .weight .bias",
    ),
    "Embedding": Layer(
        "num_embeddings embedding_dim padding_idx=None max_norm=None norm_type=2.0 sparse=False",
        (("weight", True, None),),
        "embedding",
        "input .weight",
    ),
    "LayerNorm": Layer(
        "normalized_shape eps=1e-05 elementwise_affine=True bias=True",
        (("weight", True, "elementwise_affine"), ("bias", True, "elementwise_affine")),
        "layer_norm",
        "input .normalized_shape .weight .bias",
    ),
    "RMSNorm": Layer(
        "normalized_shape eps=None elementwise_affine=True",
        (("weight", True, "elementwise_affine"),),
        "rms_norm",
        "input .normalized_shape .weight",
    ),
    "GroupNorm": Layer(
        "num_groups num_channels eps=1e-05 affine=True",
        (("weight", True, "affine"), ("bias", True, "affine")),
        "group_norm",
        "input .num_groups .weight .bias",
    ),
    "PReLU": Layer("num_parameters=1 init=0.25", (("weight", True, None),), "prelu", "input .weight"),
    **{f"Conv{n}d": Layer(_CONV, _WEIGHT_BIAS, f"conv{n}d", "input .weight .bias") for n in (1, 2, 3)},
    **{
        f"ConvTranspose{n}d": Layer(_CONV_T, _WEIGHT_BIAS, f"conv_transpose{n}d", "input .weight .bias")
        for n in (1, 2, 3)
    },
    **{
        f"BatchNorm{n}d": Layer(
            _BATCH, _NORM, "batch_norm", "input .running_mean .running_var .weight .bias .training"
        )
        for n in (1, 2, 3)
    },
    "SyncBatchNorm": Layer(
        _BATCH, _NORM, "batch_norm", "input .running_mean .running_var .weight .bias .training"
    ),
    **{
        f"InstanceNorm{n}d": Layer(
            _INSTANCE, _NORM, "instance_norm", "input .running_mean .running_var .weight .bias"
        )
        for n in (1, 2, 3)
    },
    **{
        name: Layer("inplace=False", (), name.lower(), "input", "inplace=.inplace")
        for name in ("ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid")
    },
    "ELU": Layer("alpha=1.0 inplace=False", (), "elu", "input .alpha", "inplace=.inplace"),
    "CELU": Layer("alpha=1.0 inplace=False", (), "celu", "input .alpha", "inplace=.inplace"),
    "LeakyReLU": Layer(
        "negative_slope=0.01 inplace=False", (), "leaky_relu", "input .negative_slope", "inplace=.inplace"
    ),
    "Hardtanh": Layer(
        "min_val=-1.0 max_val=1.0 inplace=False",
        (),
        "hardtanh",
        "input .min_val .max_val",
        "inplace=.inplace",
    ),
    "Threshold": Layer(
        "threshold value inplace=False", (), "threshold", "input .threshold .value", "inplace=.inplace"
    ),
    **{
        name: Layer("", (), name.lower(), "input")
        for name in ("Sigmoid", "Tanh", "LogSigmoid", "Softsign", "Tanhshrink")
    },
    "GELU": Layer("approximate='none'", (), "gelu", "input"),
    "Softplus": Layer("beta=1.0 threshold=20.0", (), "softplus", "input"),
    "Softshrink": Layer("lambd=0.5", (), "softshrink", "input"),
    "Hardshrink": Layer("lambd=0.5", (), "hardshrink", "input"),
    "Softmax": Layer("dim=None", (), "softmax", "input .dim"),
    "LogSoftmax": Layer("dim=None", (), "log_softmax", "input .dim"),
    "Softmin": Layer("dim=None", (), "softmin", "input .dim"),
    "GLU": Layer("dim=-1", (), "glu", "input .dim"),
    **{
        name: Layer("p=0.5 inplace=False", (), fn, "input .p .training", "inplace=.inplace")
        for name, fn in (
            ("Dropout", "dropout"),
            ("Dropout1d", "dropout1d"),
            ("Dropout2d", "dropout2d"),
            ("Dropout3d", "dropout3d"),
            ("AlphaDropout", "alpha_dropout"),
        )
    },
    **{
        f"MaxPool{n}d": Layer(_POOL, (), f"max_pool{n}d", "input .kernel_size .stride .padding")
        for n in (1, 2, 3)
    },
    **{
        f"AvgPool{n}d": Layer(
            "kernel_size stride=None padding=0 ceil_mode=False count_include_pad=True",
            (),
            f"avg_pool{n}d",
            "input .kernel_size .stride .padding",
        )
        for n in (1, 2, 3)
    },
    **{
        f"Adaptive{kind}Pool{n}d": Layer(
            "output_size", (), f"adaptive_{kind.lower()}_pool{n}d", "input .output_size"
        )
        for n in (1, 2, 3)
        for kind in ("Avg", "Max")
    },
    "Upsample": Layer(
        "size=None scale_factor=None mode='nearest' align_corners=None",
        (),
        "interpolate",
        "input .size .scale_factor .mode .align_corners",
    ),
    "UpsamplingNearest2d": Layer(
        "size=None scale_factor=None", (), "interpolate", "input .size .scale_factor"
    ),
    "PixelShuffle": Layer("upscale_factor", (), "pixel_shuffle", "input .upscale_factor"),
    **{
        name: Layer("padding", (), "pad", "input .padding", f"mode='{mode}'")
        for name, mode in (
            ("ReflectionPad1d", "reflect"),
            ("ReflectionPad2d", "reflect"),
            ("ReplicationPad1d", "replicate"),
            ("ReplicationPad2d", "replicate"),
            ("ZeroPad2d", "constant"),
            ("ConstantPad1d", "constant"),
            ("ConstantPad2d", "constant"),
        )
    },
    "CosineSimilarity": Layer("dim=1 eps=1e-08", (), "cosine_similarity", "x1 x2 .dim"),
    "MSELoss": Layer(_PLAIN_LOSS, (), "mse_loss", "input target", "reduction=.reduction"),
    "L1Loss": Layer(_PLAIN_LOSS, (), "l1_loss", "input target", "reduction=.reduction"),
    "SmoothL1Loss": Layer(
        _PLAIN_LOSS + " beta=1.0", (), "smooth_l1_loss", "input target", "reduction=.reduction"
    ),
    "HuberLoss": Layer(
        "reduction='mean' delta=1.0", (), "huber_loss", "input target", "reduction=.reduction"
    ),
    "BCELoss": Layer(_LOSS, (), "binary_cross_entropy", "input target", "reduction=.reduction"),
    "BCEWithLogitsLoss": Layer(
        _LOSS + " pos_weight=None",
        (),
        "binary_cross_entropy_with_logits",
        "input target",
        "reduction=.reduction",
    ),
    "CrossEntropyLoss": Layer(
        "weight=None size_average=None ignore_index=-100 reduce=None reduction='mean' label_smoothing=0.0",
        (),
        "cross_entropy",
        "input target",
        "reduction=.reduction",
    ),
    "NLLLoss": Layer(
        "weight=None size_average=None ignore_index=-100 reduce=None reduction='mean'",
        (),
        "nll_loss",
        "input target",
        "reduction=.reduction",
    ),
    "KLDivLoss": Layer(
        _PLAIN_LOSS + " log_target=False", (), "kl_div", "input target", "reduction=.reduction"
    ),
    "CTCLoss": Layer(
        "blank=0 reduction='mean' zero_infinity=False",
        (),
        "ctc_loss",
        "log_probs targets input_lengths target_lengths",
        "reduction=.reduction",
    ),
    **{
        name: Layer(_PLAIN_LOSS, (), fn, "input target", "reduction=.reduction")
        for name, fn in (
            ("SoftMarginLoss", "soft_margin_loss"),
            ("HingeEmbeddingLoss", "hinge_embedding_loss"),
            ("MultiLabelMarginLoss", "multilabel_margin_loss"),
        )
    },
    "TripletMarginLoss": Layer(
        "margin=1.0 p=2.0 eps=1e-06 swap=False size_average=None reduce=None reduction='mean'",
        (),
        "triplet_margin_loss",
        "anchor positive negative",
        "reduction=.reduction",
    ),
    "MarginRankingLoss": Layer(
        "margin=0.0 size_average=None reduce=None reduction='mean'",
        (),
        "margin_ranking_loss",
        "input1 input2 target",
        "reduction=.reduction",
    ),
    "CosineEmbeddingLoss": Layer(
        "margin=0.0 size_average=None reduce=None reduction='mean'",
        (),
        "cosine_embedding_loss",
        "input1 input2 target",
        "reduction=.reduction",
    ),
    "Identity": Layer("", (), "", "input"),
    "Flatten": Layer("start_dim=1 end_dim=-1", (), "torch.Tensor.flatten", "input .start_dim .end_dim"),
    "Unflatten": Layer("dim unflattened_size", (), "torch.Tensor.unflatten", "input .dim .unflattened_size"),
}

# Layers of which only the parameters and the number of results are modelled: all their parameters are
# saved in some way, and a second backward raises.
RECURRENT = {"LSTM": 2, "GRU": 2, "RNN": 2, "LSTMCell": 1, "GRUCell": 1, "RNNCell": 1}
OPAQUE = {
    "MultiheadAttention": 2,
    "TransformerEncoderLayer": 1,
    "TransformerDecoderLayer": 1,
    "TransformerEncoder": 1,
    "TransformerDecoder": 1,
    "Transformer": 1,
    "EmbeddingBag": 1,
    "AdaptiveLogSoftmaxWithLoss": 1,
    "LazyLinear": 1,
}


def spec(name: str) -> Layer | None:
    """The entry for a class such as `torch.nn.Linear`."""
    return LAYERS.get(name.removeprefix("torch.nn.")) if name.startswith("torch.nn.") else None


def is_layer(name: str) -> bool:
    """Does the model know the constructor of this class?"""
    short = name.removeprefix("torch.nn.")
    return name.startswith("torch.nn.") and (short in LAYERS or short in RECURRENT or short in OPAQUE)


def _literal(text: str) -> Value:
    import ast

    return Const(ast.literal_eval(text))


def construct(m: Machine, s: State, ref: Ref, name: str, call: Args) -> None:
    """What the constructor of a layer does to a new object."""
    short = name.removeprefix("torch.nn.")
    layer = LAYERS.get(short)
    if layer is None:
        _construct_opaque(m, s, ref, short, call)
        return
    mine = s.edit(ref)
    for index, part in enumerate(layer.constructor.split()):
        param, _, default = part.partition("=")
        given = call.get(index, param)
        mine.attrs[param] = given if given is not None else _literal(default) if default else unknown("data")
    for tensor, is_param, switch in layer.tensors:
        on = True if switch is None else conditions.known(s, mine.attrs.get(switch, TRUE))
        if on is False:
            s.edit(ref).attrs[tensor] = NONE
            continue
        s.edit(ref).attrs[tensor] = _tensor(s, call, tensor, is_param, on, _shape(short, tensor, s[ref]))
    buffers = tuple(Const(t) for t, is_param, _ in layer.tensors if not is_param)
    if buffers:
        s.edit(ref).attrs["#buffers"] = Tup(buffers)


def _tensor(s: State, call: Args, name: str, is_param: bool, on: bool | None, shape: Any) -> Ref:
    new = engine.new_tensor(s, call.site, rg=is_param if on else None, dtype="float", shape=shape, name=name)
    record: Tensor = s[new]
    record.is_param, record.inference, record.leaf = is_param, False, True
    return new


def _shape(layer: str, tensor: str, record: Instance) -> tuple[int | None, ...] | None:
    size = {k: natives.const(v) for k, v in record.attrs.items()}
    if layer == "Linear":
        return (
            (size.get("out_features"), size.get("in_features"))
            if tensor == "weight"
            else (size.get("out_features"),)
        )
    if layer == "Embedding":
        return (size.get("num_embeddings"), size.get("embedding_dim"))
    if layer.startswith("Conv") and tensor == "weight":
        return (None,) * (2 + int(layer[-2]))
    return (None,) if tensor in ("weight", "bias") and layer != "LayerNorm" else None


def _construct_opaque(m: Machine, s: State, ref: Ref, name: str, call: Args) -> None:
    weights = ("weight_ih", "weight_hh", "bias_ih", "bias_hh") if name in RECURRENT else ("weight", "bias")
    for index, param in enumerate(("input_size", "hidden_size", "num_layers")):
        given = call.get(index, param)
        s.edit(ref).attrs[param] = given if given is not None else unknown("int")
    suffix = "_l0" if name in ("LSTM", "GRU", "RNN") else ""
    for weight in weights:
        s.edit(ref).attrs[weight + suffix] = _tensor(s, call, weight, True, True, None)


def run(m: Machine, s: State, ref: Ref, name: str, call: Args) -> Result:
    """The call of a layer."""
    short = name.removeprefix("torch.nn.")
    layer = LAYERS.get(short)
    record: Instance = s[ref]
    if layer is None:
        return _run_opaque(m, s, ref, short, call)
    inputs = [part for part in layer.call.split() if not part.startswith(".")]
    given = {name: call.get(i, name) or NONE for i, name in enumerate(inputs)}
    if not layer.function:
        return given["input"]
    from gradcheck_tool.interp.torchlib.functions import call_named

    args = [record.attrs.get(p[1:], NONE) if p.startswith(".") else given[p] for p in layer.call.split()]
    keywords: dict[str, Value] = {}
    for part in layer.keywords.split():
        key, _, value = part.partition("=")
        keywords[key] = record.attrs.get(value[1:], NONE) if value.startswith(".") else _literal(value)
    if keywords.get("inplace") == FALSE:
        del keywords["inplace"]
    function = (
        layer.function if layer.function.startswith("torch.") else f"torch.nn.functional.{layer.function}"
    )
    if short == "Embedding" and record.attrs.get("max_norm", NONE) != NONE:
        engine.bump(s, record.attrs["weight"], call.site, str(call.text), "buffer")  # type: ignore[arg-type]
    source = as_input(m, s, args[0], call.site)
    out = call_named(m, s, function, [source, *args[1:]], keywords, call.site, call.text)
    if short == "Linear" and isinstance(source, Ref) and s.get(out, Tensor) is not None:
        before = s[source].shape
        size = natives.const(record.attrs.get("out_features"))
        s.edit(out).shape = (*before[:-1], size if isinstance(size, int) else None) if before else None  # type: ignore[arg-type]
    return out


def as_input(m: Machine, s: State, value: Value, site: Any) -> Value:
    """What a layer is called on is a tensor, whatever else is known of it."""
    from gradcheck_tool.interp.torchlib.tensors import as_tensor

    if isinstance(value, Sym):
        ref = as_tensor(m, s, value, site)
        return ref if ref is not None else value
    return value


def _run_opaque(m: Machine, s: State, ref: Ref, name: str, call: Args) -> Result:
    """Every input and parameter flows into every result; what is saved is not asked of these."""
    from gradcheck_tool.interp.torchlib.functions import tensor_arguments
    from gradcheck_tool.interp.torchlib.modules import named_parameters

    args = [as_input(m, s, v, call.site) for v in call.args]
    tensors: list[Ref] = []
    for value in tensor_arguments(m, s, dict(enumerate(args)), call.site).values():  # type: ignore[arg-type]
        tensors += [value] if isinstance(value, Ref) else list(value)
    params: Sequence[Ref] = [r for _, r in named_parameters(s, ref)[0]]
    saves = (
        {"parameters": None, "first": None} if name in RECURRENT and name != "RNN" else {"parameters": None}
    )
    effect = Effect(
        node=f"{name}Backward0",
        frees=True,
        second=None,
        saves=saves,
        dtypes=("float",) * 3,
        differentiable=(True,) * 3,
    )
    groups: dict[str, Ref | Sequence[Ref]] = {"parameters": params, "first": tensors[:1], "rest": tensors[1:]}
    count = {"LSTM": 3, "GRU": 2, "RNN": 2, "LSTMCell": 2, "MultiheadAttention": 2}.get(name, 1)
    outputs = engine.apply(s, effect, groups, call.site, call.text, [None] * count)
    if name == "LSTM":
        return Tup((outputs[0], Tup((outputs[1], outputs[2]))))
    return Tup(tuple(outputs)) if count > 1 else outputs[0]
