"""Tensors as numbers and arrays."""

from __future__ import annotations

from gradcheck_tool import InvalidTensorUse
from tests.cases import check_raises, check_runs, each
from tests.running import events

# Programs that raise.
RAISING = {
    "numpy() reads requires_grad, not the history of a view whose base was written to": """
y = w + 1.0
p, q, r = y.unbind(0)
y.zero_()
p.numpy()
""",
    "the number of elements is checked before the history": """
with torch.no_grad():
    w.view(3).backward()
""",
}

# Programs that run.
RUNNING = {
    "a number that float() makes is not saved": """
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    y = s * float(s.detach())
y.backward()
""",
}


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)


def test_str_of_a_tensor_needs_no_scalar() -> None:
    source = "import torch\na = torch.rand(3, 3)\nprint('a: ' + str(a))\n"
    assert not events(source, InvalidTensorUse)
