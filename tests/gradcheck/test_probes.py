"""Random directions and cotangents: what one of them cannot miss."""

import pytest
import torch

from gradcheck_tool.gradcheck.probes import Draws
from tests.gradcheck.zoo import D

ENTRIES = torch.ones(2, dtype=D)


@pytest.mark.parametrize("draw", ["direction", "cotangent"])
def test_two_entries_that_are_wrong_by_the_same_amount_never_cancel(draw):
    for seed in range(50):
        (probe,) = getattr(Draws(seed), draw)([ENTRIES])
        assert float(probe.abs().min()) > 0.1
        assert abs(float(probe[0] - probe[1])) > 0
        assert abs(float(probe[0] + probe[1])) > 0


def test_a_cotangent_has_both_signs_unless_one_is_asked_for():
    many = torch.ones(100, dtype=D)
    (mixed,) = Draws(0).cotangent([many])
    assert set(mixed.sign().tolist()) == {-1.0, 1.0}
    for sign in (1, -1):
        (probe,) = Draws(0).cotangent([many], sign=sign)
        assert set(probe.sign().tolist()) == {float(sign)}
