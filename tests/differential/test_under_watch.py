"""Static engine, watch and PyTorch agree on generated programs; `benchmarks/differential.py --watch` runs more."""

import sys

import pytest
import torch

from tests.differential.under_watch import disagreements, judged_by_watch

COUNT = 60


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


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
