"""The op tables hold what the installed PyTorch does: it is measured again."""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

import pytest

from gradcheck_tool.engine import optable

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "gradcheck_tool" / "engine" / "tables"
ALL = "GRADLINT_MEASURE_ALL"

REPRESENTATIVE = {
    *[
        "operator.+",
        "operator.-",
        "operator.*",
        "operator./",
        "operator.**",
        "operator.@",
        "operator.neg",
        "operator.+=",
        "operator.*=",
        "operator.==",
        "torch.Tensor.__getitem__",
        "torch.Tensor.__setitem__",
        "torch.Tensor.exp",
        "torch.exp",
        "torch.Tensor.exp_",
        "torch.Tensor.sin_",
        "torch.Tensor.mul_",
        "torch.Tensor.masked_fill_",
        "torch.Tensor.copy_",
        "torch.Tensor.fill_",
        "torch.Tensor.pow",
        "torch.where",
        "torch.Tensor.sum",
        "torch.Tensor.mean",
        "torch.Tensor.std",
        "torch.Tensor.var",
        "torch.Tensor.max",
        "torch.Tensor.norm",
        "torch.cat",
        "torch.Tensor.softmax",
        "torch.Tensor.clamp",
        "torch.Tensor.view",
        "torch.Tensor.reshape",
        "torch.Tensor.chunk",
        "torch.Tensor.to",
        "torch.Tensor.detach",
        "torch.Tensor.data",
        "torch.Tensor.contiguous",
        "torch.Tensor.round",
        "torch.Tensor.argmax",
        "torch.Tensor.item",
        "torch.Tensor.gather",
        "torch.einsum",
        "torch.addcmul",
        "torch.Tensor.lerp",
        "torch.tensor",
        "torch.zeros",
        "torch.arange",
        "torch.nn.functional.relu",
        "torch.nn.functional.dropout",
        "torch.nn.functional.linear",
        "torch.nn.functional.conv2d",
        "torch.nn.functional.batch_norm",
        "torch.nn.functional.layer_norm",
        "torch.nn.functional.embedding",
        "torch.nn.functional.mse_loss",
        "torch.nn.functional.cross_entropy",
        "torch.nn.functional.pad",
        "torch.nn.functional.adaptive_avg_pool2d",
        "torch.nn.init.normal_",
        "torch.nn.Linear",
        "torch.nn.BatchNorm1d",
        "torch.nn.ReLU",
        "torch.nn.Dropout",
        "torch.nn.LayerNorm",
        "torch.nn.Embedding",
        "torch.nn.MSELoss",
        "torch.nn.GRUCell",
    ]
}


def measured(only: set[str] | None) -> dict[str, dict]:
    """The tables of the installed PyTorch, if it is the one that the committed tables describe."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("expecttest")
    if torch.__version__.split("+")[0] != optable.measured_version():
        pytest.skip(f"the tables describe PyTorch {optable.measured_version()}")
    sys.path.insert(0, str(ROOT / "scripts"))
    threads = torch.get_num_threads()
    try:
        from measure_ops import measured as measure

        with warnings.catch_warnings():
            return {name: json.loads(text) for name, text in measure(only).items()}
    finally:
        sys.path.remove(str(ROOT / "scripts"))
        torch.set_num_threads(threads)


def entries(table: dict, key: str) -> dict[str, dict]:
    """Every name's entry, whether it shares another's or not."""
    return {**table[key], **{name: table[key][other] for name, other in table["names"].items()}}


@pytest.mark.slow
def test_the_tables_are_what_pytorch_does():
    now = measured(REPRESENTATIVE)
    for key in ("ops", "layers"):
        committed = entries(json.loads((TABLES / f"{key}.json").read_text()), key)
        found = entries(now[f"{key}.json"], key)
        assert set(found) == {name for name in REPRESENTATIVE if name in committed}
        for name, entry in found.items():
            assert committed[name] == entry, name


@pytest.mark.skipif(ALL not in os.environ, reason=f"minutes long; set {ALL} to measure everything again")
def test_all_tables_are_what_pytorch_does():
    for name, table in measured(None).items():
        assert json.loads((TABLES / name).read_text()) == table
