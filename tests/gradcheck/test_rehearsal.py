"""What would break a device is seen on a CPU first."""

import pytest
import torch

from gradcheck_tool.gradcheck import rehearsal
from gradcheck_tool.gradcheck.rehearsal import breaks_device


@pytest.fixture
def elsewhere(monkeypatch):
    """Arguments that are on no CPU: the numbers 0 to 3 once they are."""
    monkeypatch.setattr(rehearsal, "_on_cpu", lambda x: torch.arange(4).to(x.dtype))
    return [torch.empty(4, device="meta"), torch.empty(4, dtype=torch.long, device="meta")]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x[0][x[1] + 1],
        lambda x: x[0].index_select(0, x[1] + 1),
        lambda x: x[0].gather(0, x[1] + 1),
        lambda x: torch.zeros(3).scatter_add(0, x[1], x[0]),
        lambda x: torch.zeros(3).index_add(0, x[1], x[0]),
        lambda x: torch.nn.functional.embedding(x[1] + 1, x[0][:, None]),
        lambda x: torch.nn.functional.cross_entropy(x[0].expand(4, 4), x[1] + 1),
        lambda x: torch.nn.functional.one_hot(x[1], 3),
    ],
)
def test_an_index_out_of_bounds_breaks_a_device(call, elsewhere):
    assert breaks_device(call, elsewhere) is not None


def test_other_refusals_are_left_to_the_device(elsewhere):
    assert breaks_device(lambda x: x[0] @ torch.ones(5), elsewhere) is None
    assert breaks_device(lambda x: x[0][x[1]], elsewhere) is None


def test_nothing_is_tried_for_arguments_on_a_cpu():
    def call(_):
        raise IndexError

    assert breaks_device(call, [torch.zeros(3)]) is None
