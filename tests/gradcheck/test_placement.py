"""The engine makes its own tensors where the inputs are: what it mixes, a device refuses."""

import pytest
import torch

from gradcheck_tool.gradcheck import check_function
from tests.gradcheck import right_cases, right_types, right_values, wrong_cases, wrong_contracts, wrong_values
from tests.gradcheck.placement import Placement

_RIGHT = [*right_values.RIGHT, *right_types.RIGHT, *right_cases.RIGHT]
_WRONG = [(k, a) for k, a, _ in (*wrong_values.WRONG, *wrong_contracts.WRONG, *wrong_cases.WRONG)]
# Each of these needs another part of the evidence; the rest takes minutes and is run on a device.
_TELLING = {
    *("MaxUnpoolRepeated", "OneOf4096Numpy", "LastColumnNumpy", "SineOfTheLargeTwice", "GatherAssign"),
    *("HalfSumOverflows", "AddPaddedEmbedding", "LeakySlope", "QuaternionRealPart", "LastColumn"),
}
_CASES = [(k, a) for k, a in (*_RIGHT, *_WRONG) if k.__name__ in _TELLING]


@pytest.mark.parametrize(("func", "args"), _CASES, ids=[k.__name__ for k, _ in _CASES])
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
def test_tensors_of_the_engine_are_where_the_inputs_are(func, args):
    given, placement = args(), Placement()
    with placement:
        check_function(func, given)
    assert placement.mixed == set()


def test_mixing_is_seen():
    given, placement = torch.ones(3), Placement()
    with placement:
        made = torch.zeros(3)
        assert getattr(made, "made_on_cpu", False)
        assert not getattr(given + torch.zeros(()), "made_on_cpu", False)
        assert getattr(made + torch.ones(3), "made_on_cpu", False)
        torch.where(given > 0, given, made)
    assert placement.mixed == set()  # not by the engine
