"""What parameters are usually called in code that computes with tensors, and what they then are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import torch

from gradcheck_tool.harness.inputs.synthesised.specs import (
    CALLED,
    SIDE,
    Several,
    Spec,
    TensorSpec,
    function,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_SQUARE = (SIDE, SIDE)
_FLAGS = (plain(True), plain(False))
_INTEGERS = (plain(SIDE), plain(2), plain(1), plain(8))
_NUMBERS = (plain(1.0), plain(0.5), plain(2.0))
_LOW, _HIGH = (plain(-4), plain(-1.0)), (plain(4), plain(1.0))
_INDICES = (TensorSpec((SIDE,), "index"), TensorSpec(_SQUARE, "index"), plain(0))
_LENGTHS = (TensorSpec((SIDE,), "index"), Several((plain(2), plain(2))), plain(SIDE))
_LABELS = (
    TensorSpec((SIDE,), "index"),
    TensorSpec(_SQUARE, grad=False),
    TensorSpec(_SQUARE, "one-zero", grad=False),
)
_SHAPES = (Several((plain(SIDE), plain(SIDE))), Several((plain(SIDE),)), Several((plain(2), plain(2))))
_WEIGHTS = (TensorSpec(_SQUARE), TensorSpec((SIDE,)), TensorSpec((SIDE,), "positive"), plain(None))

_TINY = ("torch.tensor(1e-12, device=device, dtype=dtype)", torch.tensor(1e-12, dtype=torch.double))

_TABLE: tuple[tuple[str, Sequence[Spec]], ...] = (
    (r"(.*_)?(eps(ilon)?|[ar]?tol(erance)?|jitter)", (plain(1e-5), plain(1e-3))),
    # What keeps a denominator away from zero is to be small, and may have to be a tensor.
    (r"(.*_)?(reg|damping|broadening)(_?(eps|factor|coef))?", (function(*_TINY), plain(1e-12))),
    # An approximation is to be one: a few steps may be far from the limit that backward belongs to.
    (r"(max|n|num)_?(iters?|iterations?)|niters?|maxiter|iterations", (plain(50), plain(SIDE), plain(1))),
    (r"(dim|axis|batch_dim)|.*_(dim|axis)|(dim|axis)_.*", (plain(-1), plain(1), plain(0))),
    (r"dims|axes", (Several((plain(0),)), Several((plain(0), plain(1))))),
    (r"kernel(_size)?|ksize|filter_size|window(_size)?", (plain(3), Several((plain(3), plain(3))), plain(2))),
    (r"strides?|dilations?", (plain(1), Several((plain(1), plain(1))), plain(2))),
    (r"(num_)?groups", (plain(1), plain(2))),
    (r"(output_)?pad(ding)?s?", (plain(0), plain(1), Several((plain(1), plain(1))))),
    (r"(is_)?train(ing|able)?|enabled|affine", _FLAGS),
    (r"inplace|debug|verbose|deterministic|bidirectional|reverse|transposed?", _FLAGS[::-1]),
    (
        r"(is|use|has|return|with|do|needs?|keep|ensure|requires|allow|no)_.*|keepdims?|signed|symmetric",
        _FLAGS,
    ),
    (r".*mask", (TensorSpec(_SQUARE, "mask"), TensorSpec(_SQUARE, "one-zero", grad=False), plain(None))),
    (r"(.*_)?perm(utation)?s?", (TensorSpec((SIDE,), "permutation"), *_INDICES)),
    (r"i?idx|ind(ex|ices|exes)?|.*_(idx|ind|index|indices)|batch|rows?|cols?", _INDICES),
    (r"lengths?|.*_lengths?|seq_lens?|sizes|offsets?|(ind)?ptr", _LENGTHS),
    (r"labels?|targets?|gt|ground_truth|y_true", _LABELS),
    (r"(num_?|n_?|quant_?)?bits?|bit_?width", (plain(8), plain(4), plain(8.0))),
    (r"n|k|m|num|num_.*|n_.*|.*_(num|count|size|len|iters?|steps?)|count|iters?|steps?|size", _INTEGERS),
    (r"height|width|order|levels?|depth|top_?k|in_.*|out_.*|embed_dim|channels", _INTEGERS),
    (r"alpha|beta|gamma|lambd|lambda_?|lamb|lam|tau|theta|sigma|slope|scale_?factor|factor", _NUMBERS),
    (r"temp(erature)?|momentum|coef.*|thresh(old)?|thres|lr|ratio|rate|strength|smoothing|margin", _NUMBERS),
    (r"clip|value|const|v_th|t0|t1|dt|weight_decay", _NUMBERS),
    (r"(q|quant)_?n|(q|quant)_?min|min_val(ue)?|lower(_bound)?|lo|low", _LOW),
    (r"(q|quant)_?p|(q|quant)_?max|max_val(ue)?|upper(_bound)?|hi|high", _HIGH),
    (r"p|prob|keep_prob|drop(out)?(_p|_prob|_rate)?", (plain(0.5), plain(0.0))),
    (r"reduction|reduce", (plain("mean"), plain("sum"), plain("none"))),
    (r"pad(ding)?_mode", (plain("zeros"), plain("constant"), plain("reflect"), plain("zero"))),
    (r"mode|how|kind|method|variant|type", (plain("mean"), plain("sum"), plain(0))),
    (r"dtype|.*_dtype", (function("dtype", torch.float32), plain(None))),
    (r"device", (function("device", torch.device("cpu")), plain(None))),
    (r"(.*_)?(process_)?group|comm|generator|handle", (plain(None), plain(0))),
    (r"name|tag|opts?|options|kwargs|seed", (plain(None), plain(0))),
    (r"shape|(in|out)(put)?_(size|shape)|size_out|target_shape", _SHAPES),
    (
        r".*(fn|func|function|callable|closure|activation|act|module|model|net|layer|run_function)|f|g",
        CALLED,
    ),
    (r"bias|.*_bias|b", (TensorSpec((SIDE,)), plain(None))),
    (r"running_.*|mean|var|std|rstd|weights?|w|gain", _WEIGHTS),
    (r"prob(s|abilities)?|q_?probs?|keep|p_.*", (TensorSpec(_SQUARE, "unit"),)),
)
_COMPILED = tuple((re.compile(pattern), specs) for pattern, specs in _TABLE)


def usual(name: str) -> tuple[Spec, ...]:
    """What a parameter of this name usually is, most usual first; empty where the name says nothing."""
    plain_name = name.lower().strip("_")
    for pattern, specs in _COMPILED:
        if pattern.fullmatch(plain_name):
            return tuple(specs)
    return ()
