"""Data sets and loaders: batches are data without a history."""

from __future__ import annotations

from tests.cases import Fact, check_known, each
from tests.open_programs import check_quiet

FACTS = {
    "a batch of a data set": Fact(
        """\
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.ones(4, 2), torch.ones(4)), batch_size=2)
for x, y in loader:
    out = x""",
        "not out.requires_grad and out.dim() == 2",
    ),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)


def test_what_pickle_loads_may_be_a_network() -> None:
    check_quiet(
        """
import pickle
learner = pickle.load(open("learner.pkl", "rb"))
loss = learner.get_loss(torch.ones(2, 3))
grads = torch.autograd.grad(loss, learner.parameters())
"""
    )
