"""Static engine, watch and PyTorch agree on generated programs; `benchmarks/differential.py --watch` runs more."""

import sys

import pytest
import torch

from tests.differential.under_watch import disagreements, judged_by_watch

COUNT = 40


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.slow
@pytest.mark.skipif(sys.gettrace() is not None, reason="lines are followed by another tool")
def test_the_watch_agrees_on_generated_programs():
    assert {seed: found for seed in range(COUNT) if (found := judged_by_watch(seed))} == {}


def test_a_view_that_refuses_to_tell_its_node_is_not_asked():
    source = (
        "import torch\n"
        "w = torch.ones(2, 3, requires_grad=True)\n"
        "with torch.no_grad():\n"
        "    for i in range(2):\n"
        "        w[i] += 1.0\n"
        "(w * w).sum().backward()\n"
    )
    assert disagreements(source) == []


@pytest.mark.parametrize(
    "result", ["x.max()", "x.pow(x)", "2.0 ** x", "x.exp()", "x.prod(0)", "Twice1.apply(x)"]
)
def test_nodes_are_called_what_pytorch_calls_them(result):
    source = (
        "import torch\n"
        "class Twice1(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        y = x * 2\n"
        "        ctx.save_for_backward(y)\n"
        "        return y\n"
        "    @staticmethod\n"
        "    def backward(ctx, g):\n"
        "        return g * ctx.saved_tensors[0]\n"
        "x = torch.rand(3, 3, requires_grad=True)\n"
        f"y = {result}\n"
        "with torch.no_grad():\n"
        "    y.add_(1)\n"
        "y.sum().backward()\n"
    )
    assert disagreements(source) == []
