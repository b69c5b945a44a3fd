"""Histories of views: who reads them, and when a write makes them wrong."""

from __future__ import annotations

import pytest

from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import Ref
from gradcheck_tool.engine import edges_of, new_tensor
from tests.cases import check_raises, check_runs, each

# Programs that raise.
RAISING = {
    "a write in one of two branches matters to a view": """
p, q, r = w
if flag:
    nn.init.constant_(w, 0.3)
p * 2.0
""",
    "a view made under no_grad borrows requires_grad and has no history": """
with torch.no_grad():
    v = s.view(1)
v.backward()
""",
    "a view made in inference mode forbids writes to its base": """
with torch.inference_mode():
    v = w.view(3)
with torch.no_grad():
    w.add_(1.0)
v.exp()
""",
    "a write under no_grad through a view made there counts": """
with torch.no_grad():
    v = w.unsqueeze(0)[0]
    v.zero_()
v.diag()
""",
    "backward asks a view made under no_grad for its history in any mode": """
h = w.clone()
with torch.no_grad():
    v = h[:2]
h.mul_(2.0)
with torch.no_grad():
    v.backward(torch.ones(2))
""",
}

# Programs that run.
RUNNING = {
    "operations under no_grad ask a view made there for none": """
h = w.clone()
with torch.no_grad():
    v = h[:2]
h.mul_(2.0)
with torch.no_grad():
    v.sum()
""",
    "a view that only borrows requires_grad receives no gradient": """
with torch.no_grad():
    v = w.view(3)
h = v
for step in range(2):
    h = h * 0.9 + w
    loss = h.exp().mean()
    loss.backward()
""",
}


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)


@pytest.mark.parametrize(
    ("answers", "is_recorded", "certain"),
    [
        ([None], False, [True]),
        ([None], True, [False]),
        ([None, False], False, [True, False]),
        ([None, True], False, [False, True]),
        ([None, None], False, [False, False]),
    ],
)
def test_an_unsure_input_is_certain_to_have_a_graph_where_it_alone_can(
    answers: list[bool | None], is_recorded: bool, certain: list[bool]
) -> None:
    s = State()
    leaf = new_tensor(s, None, requires_grad=True)
    tensors = [new_tensor(s, None, requires_grad=answer, leaf=bool(answer)) for answer in answers]
    for ref in tensors:
        s.edit(ref).grad_fn = leaf if s[ref].requires_grad is None else None
    found = edges_of(s, tensors, is_recorded=is_recorded)
    assert [isinstance(at, Ref) for at in found] == certain
