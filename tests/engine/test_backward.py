"""Backward passes over any graph: what they free, what they refuse, which leaves they reach."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck_tool.domain.graph import Node
from gradcheck_tool.domain.state import State
from gradcheck_tool.engine.backward import BackwardPass, run_backward
from gradcheck_tool.engine.errors import Raised
from gradcheck_tool.engine.tensors import new_tensor
from tests.cases import check_agreement, each
from tests.engine.twin import BINARY, SITE, UNARY, Twin

NUMBER = st.integers(0, 30)
ACTIONS = st.one_of(
    st.tuples(st.just("make"), st.booleans()),
    st.tuples(st.just("call"), st.sampled_from(sorted(UNARY)), NUMBER),
    st.tuples(st.just("call"), st.sampled_from(sorted(BINARY)), NUMBER, NUMBER),
    st.tuples(st.just("write"), st.sampled_from(["exp_", "neg_", "sin_"]), NUMBER),
    st.tuples(st.just("write"), st.sampled_from(["add_", "mul_"]), NUMBER, NUMBER),
    st.tuples(st.just("switch"), st.booleans()),
    st.tuples(st.just("backward"), NUMBER, st.booleans()),
)

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a pass in two stages: the first goes no further than the tensor between them": """
import torch
w = torch.ones(2, requires_grad=True)
hidden = w.exp()
loss = hidden.square().sum()
(grad,) = torch.autograd.grad(loss, hidden)
hidden.backward(grad)
hidden.backward(grad)  # raises
""",
    "a gradient for one input leaves the way to another": """
import torch
v, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
a, b = v.exp(), w.exp()
(grad,) = torch.autograd.grad((a + b).sum(), v)
b.sum().backward()
a.sum().backward()  # raises
""",
    "a leaf that is frozen after it was used gets no gradient, so that no step changes it": """
import torch
w = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w, v], lr=0.1)
first, second = (w * w).sum(), (w * v).sum()
w.requires_grad_(False)
second.backward()
optimizer.step()
first.backward()
(v * v).sum().backward()
""",
    "one that is detached in place after it was used gets none, either": """
import torch
w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w, v], lr=0.1)
first, second = (v * w.view(2)).sum(), w.exp().sum()
w.detach_()
second.backward()
optimizer.step()
first.backward()
""",
    "its hooks run": """
import torch
w = torch.ones(2, requires_grad=True)
w.register_hook(lambda grad: torch.ones(2).sum().backward())  # raises
loss = w.exp().sum()
w.requires_grad_(False)
loss.backward()
""",
    "one that is thawed before the pass gets its gradient": """
import torch
w = torch.ones(2, requires_grad=True)
loss = w.exp().sum()
w.requires_grad_(False)
w.requires_grad_(True)
loss.backward()
w.grad.add_(1.0)
w.add_(1.0)  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@given(st.lists(ACTIONS, min_size=3, max_size=14))
@settings(max_examples=300)
def test_the_engine_raises_what_pytorch_raises(actions: list[tuple[object, ...]]) -> None:
    """What a call or a write raises changes nothing; a backward pass that raises may have freed a part of a graph."""
    twin = Twin()
    twin.make(True)
    twin.make(False)
    twin.call("exp", 0)
    try:
        for name, *arguments in actions:
            numbers = [
                argument % len(twin.tensors) if type(argument) is int else argument for argument in arguments
            ]
            done = getattr(twin, str(name))(*numbers)
            if name == "backward" and not done:
                return
    finally:
        torch.set_grad_enabled(True)


@pytest.mark.parametrize(("is_known", "raises"), [(True, True), (False, False)])
def test_what_is_asked_for_is_data_only_where_something_else_shows_the_graph(
    is_known: bool, raises: bool
) -> None:
    s = State()
    data, weight = new_tensor(s, SITE, name="x"), new_tensor(s, SITE, requires_grad=True, leaf=True)
    s[data].unsure_graph = True
    loss = new_tensor(s, SITE, requires_grad=True if is_known else None, leaf=False, shape=())
    s[loss].grad_fn = s.new(Node("MeanBackward0", "mean", SITE))
    s[s[loss].grad_fn].inputs = (weight,)
    run = BackwardPass([loss], [False], False, False, SITE, "grad(loss, x)", "grad", inputs=[data])
    with pytest.raises(Raised) if raises else nullcontext():
        run_backward(s, run)
