"""The op tables: what they say, and how facts about a call select an entry."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gradcheck_tool.engine import optable
from gradcheck_tool.engine.optable import OpSpec
from gradcheck_tool.engine.profile import Output, Profile

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "gradcheck_tool" / "engine" / "tables"


def profile(name: str, *args, **kwargs) -> Profile:
    """The profile of a call; arguments are facts."""
    spec = optable.find(name)
    assert spec is not None, name
    bound = spec.bind(args, kwargs)
    assert bound is not None, (name, args, kwargs)
    found = spec.resolve(bound)
    assert found is not None, (name, args, kwargs)
    return found


def saved(found: Profile, *tracked: str) -> set[str]:
    """The slots that are protected when these parameters require grad."""
    assert not [name for name in found.undecided if name.startswith("saves.")]
    return {slot for slot, needs in found.saves.items() if needs is None or set(needs) & set(tracked)}


def frees(found: Profile, *tracked: str) -> bool:
    assert found.frees is not None
    return found.frees and (found.frees_if is None or bool(set(found.frees_if) & set(tracked)))


F = "torch.nn.functional."
T = "torch.Tensor."
X = "tensor.float.nd"

SAVES = [
    # what is saved of `x` and of the result, in the pairs that are easily confused
    ((T + "std", X), {"self", "out"}),
    ((T + "var", X), {"self"}),
    ((T + "amax", X, ("const", 1)), {"self", "out"}),
    ((T + "max", X, ("const", 1)), {"out1"}),
    ((T + "max", X), {"self", "out"}),
    ((T + "gather", X, ("const", 1), "tensor.int.nd"), {"self", "index"}),
    ((T + "index_select", X, ("const", 0), "tensor.int.nd"), {"index"}),
    ((F + "mse_loss", X, X), {"input", "target"}),
    ((F + "binary_cross_entropy_with_logits", X, X), {"input", "target"}),
    ((F + "l1_loss", X, X), set()),
    ((F + "cross_entropy", X, "tensor.int.nd"), {"target"}),
    ((F + "pad", X, "list.number.int", ("const", "reflect")), {"input"}),
    ((F + "pad", X, "list.number.int"), set()),
    ((T + "norm", X), {"self", "out"}),
    ((T + "sum", X), set()),
    ((T + "exp", X), {"out"}),
    ((T + "sigmoid", X), {"out"}),
    ((T + "tanh", X), {"out"}),
    ((T + "sqrt", X), {"out"}),
    ((T + "rsqrt", X), {"out"}),
    ((T + "reciprocal", X), {"out"}),
    ((F + "relu", X), {"out"}),
    ((T + "softmax", X, ("const", -1)), {"out"}),
    ((T + "log_softmax", X, ("const", -1)), {"out"}),
    ((T + "prod", X), {"self", "out"}),
    ((T + "logsumexp", X, ("const", 1)), {"self", "out"}),
    ((T + "pow", X, ("const", 2)), {"self"}),
    ((T + "pow", X, ("const", 1)), {"self"}),
    ((T + "log", X), {"self"}),
    ((T + "sin", X), {"self"}),
    ((T + "abs", X), {"self"}),
    ((T + "clamp", X, ("const", 0), ("const", 1)), {"self"}),
    ((F + "leaky_relu", X), {"input"}),
    ((F + "elu", X), {"input"}),
    ((F + "gelu", X), {"self"}),
    ((F + "silu", X), {"input"}),
    ((F + "layer_norm", X, "list.number.int", X, X), {"input", "weight", "bias"}),
    ((F + "avg_pool2d", X, ("const", 2)), {"self"}),
    ((F + "adaptive_avg_pool2d", X, ("const", 1)), set()),
    ((F + "adaptive_avg_pool2d", X, ("const", (1, 1))), set()),
    ((F + "adaptive_avg_pool2d", X, ("const", 7)), {"input"}),
    ((F + "embedding", "tensor.int.nd", X), {"input"}),
    ((F + "dropout", X), set()),
    ((T + "masked_fill", X, "tensor.bool.nd", ("const", 0.0)), {"mask"}),
    (("torch.where", "tensor.bool.nd", X, ("const", 0.0)), {"condition"}),
    ((T + "lerp", X, X, ("const", 0.5)), set()),
    ((T + "lerp", X, X, X), {"self", "end", "weight"}),
    (("operator.*", X, "number"), set()),
    (("operator./", ("const", 1), X), set()),
    (("operator.**", ("const", 2), X), {"other", "out"}),
    (("operator.**", X, X), {"self", "other", "out"}),
    ((T + "__getitem__", X, "tensor.bool.nd"), {"index"}),
    ((T + "__getitem__", X, "basic.part"), set()),
]


@pytest.mark.parametrize(
    ("call", "expected"),
    SAVES,
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value)[:80],
)
def test_what_is_saved(call, expected):
    name, *args = call
    bound = optable.find(name).bind(args, {})
    tensors = {parameter for parameter, known in bound.items() if str(known).startswith("tensor")}
    found = saved(profile(name, *args), *_parameters(name, args))
    assert {slot for slot in found if slot in tensors or slot.startswith("out")} == expected


def _parameters(name: str, args: list) -> list[str]:
    """The parameters that get a floating-point tensor here; all of them require grad."""
    bound = optable.find(name).bind(args, {})
    return [parameter for parameter, known in bound.items() if known == X]


TWICE = {
    False: [
        ("operator.+", X, X), ("operator.-", X, "number"), ("operator.neg", X), (T + "sum", X), (T + "mean", X),
        (T + "cumsum", X, ("const", 0)), (T + "view", X, "list.number"), (T + "reshape", X, "list.number"),
        (T + "transpose", X, ("const", 0), ("const", 1)), (T + "permute", X, "list.number"),
        (T + "expand", X, "list.number"), (T + "repeat", X, "list.number"), (T + "__getitem__", X, "basic.part"),
        (T + "contiguous", X), (T + "flip", X, ("const", 0)), (T + "roll", X, ("const", 1), ("const", 0)),
        (T + "tril", X), ("torch.cat", "list.tensor"), ("torch.stack", "list.tensor"), (T + "chunk", X, ("const", 2)),
        (T + "unbind", X), (F + "pad", X, "list.number"), (F + "interpolate", X, "none", ("const", 2)),
        (T + "double", X), (T + "round", X), (T + "sign", X), (T + "floor", X),
        (F + "adaptive_avg_pool2d", X, ("const", 1)), (F + "dropout", X, ("const", 0.0)),
        (F + "dropout", X, ("const", 0.5), ("const", False)), (T + "lerp", X, X, "number"),
        (T + "__setitem__", X, "basic.all", X), (T + "copy_", X, X), ("operator.+=", X, X),
    ],
    True: [
        ("operator.*", X, "number"), ("operator./", X, "number"), (T + "__getitem__", X, "advanced"),
        (T + "__getitem__", X, "tensor.bool.nd"), (T + "__getitem__", X, "tensor.int.nd"),
        ("torch.where", "tensor.bool.nd", X, X), (T + "masked_fill", X, "tensor.bool.nd", "number"),
        (T + "max", X, ("const", 1)), (T + "topk", X, ("const", 2)), (T + "sort", X), (F + "dropout", X),
        (F + "embedding", "tensor.int.nd", X), (T + "abs", X), (F + "l1_loss", X, X),
        (T + "__setitem__", X, "basic.part", X),
    ],
}  # fmt: skip


@pytest.mark.parametrize("raises", [False, True])
def test_whether_a_second_backward_raises(raises):
    for name, *args in TWICE[raises]:
        assert frees(profile(name, *args), *_parameters(name, args)) is raises, (name, args)


def test_what_a_linear_layer_saves_depends_on_what_trains():
    linear = profile(F + "linear", X, X, X)
    assert saved(linear, "weight") == {"input"}
    assert saved(linear, "input") == {"weight"}
    assert saved(linear, "bias") == set()
    assert not frees(linear, "bias")


def test_a_product_saves_the_other_factor():
    for name in ("operator.*", "operator.@", "torch.matmul", "torch.Tensor.mul"):
        found = profile(name, X, X)
        assert saved(found, "self") == {"other"}
        assert saved(found, "other") == {"self"}
    assert profile("torch.einsum", "str", "list.tensor").saves == {"operands": ("operands.others",)}


def test_what_the_gradient_of_a_gradient_passes_through():
    assert profile(T + "exp", X).second == {"self": ("out",)}
    assert profile(T + "square", X).second == {"self": ("self",)}
    assert profile(T + "sum", X).second == {"self": ()}
    assert profile("operator.*", X, X).second == {"self": ("other",), "other": ("self",)}


def test_views_copies_and_the_argument_itself():
    def view(name: str, *args) -> str | None:
        return profile(name, *args).outputs[0].view

    assert [view(T + name, X) for name in ("t", "detach", "unbind", "data", "clone")] == [
        "view", "view", "multi", "unversioned", None,
    ]  # fmt: skip
    assert view(T + "__getitem__", X, "basic.part") == "view"
    assert view(T + "__getitem__", X, "advanced") is None
    assert [view(T + name, X, ("const", 2)) for name in ("chunk", "split", "tensor_split")] == [
        "multi", "multi", "view",
    ]  # fmt: skip
    assert view(F + "dropout", X, ("const", 0.5), ("const", False)) == "same"
    assert profile(T + "reshape", X, "list.number").outputs[0] == Output(
        dtype="same", differentiable=True, view="maybe", view_of="self", dense="view"
    )
    assert view(T + "cpu", X) == view(T + "cuda", X) == view(T + "to", X, ("const", "cuda")) == "maybe"


def test_writes_with_and_without_a_version():
    assert profile(T + "add_", X, X).writes == ("self",)
    assert profile(F + "relu", X, inplace=("const", True)).writes == ("input",)
    assert profile(F + "embedding", "tensor.int.nd", X, max_norm=("const", 1.0)).writes == ("weight",)
    norm = profile(F + "batch_norm", X, X, X, X, X, ("const", True))
    assert norm.unversioned_writes == ("running_mean", "running_var")
    assert norm.writes == ()
    assert saved(norm, "input") >= {"running_mean", "running_var", "weight"}
    assert profile("torch.nn.init.normal_", X).writes == ("tensor",)
    assert profile(T + "apply_", X, "other").unversioned_writes == ("self",)


def test_results_that_are_laid_out_contiguously_if_the_arguments_are():
    def strided(name: str, *args) -> bool:
        return profile(name, *args).outputs[0].strided

    assert not any(strided(T + name, X, ("const", 0)) for name in ("unsqueeze", "squeeze", "softmax"))
    assert all(strided(T + name, X, ("const", 1)) for name in ("chunk", "split", "unbind", "cholesky"))
    assert strided(T + "t_", X)
    assert strided(T + "__getitem__", X, "basic.part")


def test_calls_that_change_nothing_when_they_are_made_again():
    again = [profile(T + name, X).idempotent for name in ("relu_", "abs_", "round_", "tril_", "exp_", "neg_")]
    assert again == [True, True, True, True, False, False]
    assert profile(T + "masked_fill_", X, "tensor.bool", "number").idempotent
    assert not profile(T + "add_", X, X).idempotent
    assert not profile(T + "normal_", X).idempotent


def test_targets_whose_elements_share_memory_are_refused_or_not():
    assert profile(T + "mul_", X, X).guarded == profile("operator.+=", X, X).guarded == ("self",)
    assert profile(T + "fill_", X, "number").guarded == profile(T + "zero_", X).guarded == ()
    assert profile("torch.nn.init.normal_", X).guarded == ("tensor",)
    assert profile("torch.maximum", X, X).guarded == ("out",)


def test_in_place_calls_save_the_result_or_a_copy_of_their_own():
    assert saved(profile(T + "exp_", X), "self") == {"out"}
    assert saved(profile(T + "sin_", X), "self") == set()
    assert saved(profile(T + "mul_", X, X), "self") == {"other"}


def test_results_that_are_not_differentiable():
    for name in ("argmax", "isnan", "nonzero", "long", "bool", "zeros_like"):
        full = f"torch.{name}" if name == "zeros_like" else T + name
        assert not profile(full, X).outputs[0].differentiable
    assert profile(T + "item", X).result == profile(T + "tolist", X).result == "value"
    assert [output.differentiable for output in profile(T + "topk", X, ("const", 1)).outputs] == [True, False]
    assert profile(T + "round", X).zero_gradient
    assert not profile(T + "clamp", X, ("const", 0)).zero_gradient
    assert profile("operator.//", X, "number").unimplemented


def test_kinds_of_dtype():
    def dtype(name: str, *args, **kwargs) -> str | None:
        return profile(name, *args, **kwargs).outputs[0].dtype

    assert dtype(T + "exp", "tensor.int.nd") == "float"
    assert dtype("operator.*", X, "number") == "promoted"
    assert dtype("torch.arange", ("const", 3)) == "int"
    assert dtype("torch.arange", ("const", 3.0)) == "float"
    assert dtype("torch.tensor", ("const", (1, 2))) == "int"
    assert dtype("torch.tensor", ("const", (1.0, 2.0))) == "float"
    assert dtype("torch.zeros", ("const", 3), dtype="dtype.int") == "int"
    assert dtype("torch.zeros", ("const", 3)) == "float"
    assert dtype(T + "sum", "tensor.bool.nd") == "int"


def test_shapes():
    def shape(name: str, *args, **kwargs) -> str | None:
        return profile(name, *args, **kwargs).outputs[0].shape

    assert shape(T + "sum", X) == shape(F + "mse_loss", X, X) == shape("torch.linalg.norm", X) == "scalar"
    assert shape(T + "sum", X, ("const", 1)) is None
    assert shape(F + "mse_loss", X, X, reduction=("const", "none")) == "broadcast"
    assert shape(T + "t", X) is None
    assert shape(T + "exp", X) == "self"


def test_facts_that_do_not_decide_leave_the_difference_undecided():
    unknown = profile(F + "dropout", X, ("const", 0.5), "unknown")
    assert unknown.frees is None
    assert "frees" in unknown.undecided
    assert unknown.outputs[0].differentiable
    assert unknown.outputs[0].view == "maybe"
    index = profile(T + "__getitem__", X, "unknown")
    assert index.frees is None
    assert "saves.index" in index.undecided


def test_what_was_not_measured_is_not_guessed():
    assert optable.find("torch.Tensor.no_such_method") is None
    assert optable.layer("torch.nn.NoSuchLayer") is None
    assert (
        optable.find(F + "pad").resolve({"input": X, "pad": "list.number", "mode": ("const", "other")})
        is None
    )


def test_binding_follows_the_overloads():
    transpose = optable.find(T + "permute")
    assert transpose.bind(["x", 1, 0], {}) == {"self": "x", "dims": [1, 0]}
    assert transpose.bind(["x", (1, 0)], {}) == {"self": "x", "dims": (1, 0)}
    assert optable.find("torch.max").bind(["x"], {"other": "y"}) == {"self": "x", "dim": "y"}
    assert optable.find("torch.exp").bind([], {"input": "x"}) == {"self": "x"}
    assert optable.find("torch.sum").bind(["x"], {"axis": 1}) == {"self": "x", "dim": 1}
    assert optable.find("torch.exp").bind(["x", "y"], {}) is None
    assert optable.find("torch.exp").bind(["x"], {"nothing": 1}) is None


def test_a_rare_variant_applies_only_where_it_is_established():
    product = optable.find("operator.@")
    assert product.resolve({"self": X, "other": X}).saves == {"other": ("self",), "self": ("other",)}
    batched = product.resolve({"self": "tensor.float.nd.2d", "other": "tensor.float.nd.3d"})
    assert batched.saves == {"self": ("other",)}


def test_layers():
    linear = optable.layer("torch.nn.Linear")
    assert linear.params[:3] == ("in_features", "out_features", "bias")
    bias = next(tensor for tensor in linear.tensors if tensor.name == "bias")
    assert linear.has(bias, {"bias": ("const", False)}) is False
    assert linear.has(bias, {}) is True
    assert linear.has(bias, {"bias": "unknown"}) is None
    assert saved(linear.resolve({}), "weight") == {"input"}
    assert linear.resolve({"bias": ("const", False)}).tracked == ("input", "weight")
    norm = optable.layer("torch.nn.BatchNorm2d")
    kinds = {tensor.name: tensor.kind for tensor in norm.tensors}
    assert kinds == {
        "weight": "parameter", "bias": "parameter", "running_mean": "buffer", "running_var": "buffer",
        "num_batches_tracked": "buffer",
    }  # fmt: skip
    assert norm.resolve({}).unversioned_writes == ("running_mean", "running_var")
    assert norm.resolve({"training": ("const", False)}).unversioned_writes == ()
    assert norm.resolve({"training": "unknown"}).undecided >= {"unversioned_writes.running_mean"}
    dropout = optable.layer("torch.nn.Dropout")
    assert dropout.resolve({"training": ("const", False)}).outputs[0].view == "same"
    assert optable.layer("torch.nn.ReLU").resolve({"inplace": ("const", True)}).writes == ("input",)


def test_names_of_a_module():
    assert {F + "relu", F + "linear"} <= optable.names("torch.nn.functional")
    assert "torch.nn.Linear" in optable.names("torch.nn")
    assert not optable.names("os")


def test_every_entry_can_be_read():
    ops = json.loads((TABLES / "ops.json").read_text())
    for name in (*ops["ops"], *ops["names"]):
        spec = optable.find(name)
        assert isinstance(spec, OpSpec)
        for guard, found in (*spec.variants, *spec.rare):
            assert set(guard) <= {*spec.params, *spec.keyword}
            assert all(output.dtype or "dtype" in str(found.undecided) for output in found.outputs), name
    for name in json.loads((TABLES / "layers.json").read_text())["layers"]:
        spec = optable.layer(name)
        slots = {*spec.inputs, *(tensor.name for tensor in spec.tensors)}
        assert all(set(found.tracked) <= slots for _, found in spec.variants), name


def test_reading_the_tables_does_not_import_torch():
    code = (
        "import sys; from gradcheck_tool.engine import optable; optable.find('torch.exp');"
        "optable.layer('torch.nn.Linear'); sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
