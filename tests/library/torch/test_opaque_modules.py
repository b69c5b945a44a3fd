"""Modules and criteria of which only the role is known: what they return has a graph through the parameters."""

from __future__ import annotations

import pytest

from gradcheck_tool.domain.values import NONE, Const, Symbol
from gradcheck_tool.interp.api import Call
from gradcheck_tool.library.torch.opaque_modules import computes
from tests.open_programs import HEAD, told

TRAIN = HEAD + "def train(model, criterion, optimizer, x, y):\n"


def codes(body: str) -> list[str]:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return [finding.code for finding in told(TRAIN + lines)]


STEP = "\noptimizer.zero_grad()\nloss.backward()\noptimizer.step()"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"loss = criterion(model(x), y){STEP}", []),
        (f"loss = criterion(model(x).logits, y){STEP}", []),
        (f"loss = criterion(model(x), y){STEP}\nloss.backward()", ["GL101"]),
        (f"loss = model(x).loss{STEP}\nloss.backward()", ["GL101"]),
        (f"with torch.no_grad():\n    out = model(x)\nloss = criterion(out, y){STEP}", ["GL501"]),
    ],
)
def test_what_a_module_returns_has_a_graph(body: str, expected: list[str]) -> None:
    assert sorted(set(codes(body))) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("torch.cat(x)[torch.randperm(9)]", []),
        ("model.embed(x)", ["GL102"]),
    ],
)
def test_only_what_certainly_has_a_graph_carries_it_into_a_module(data: str, expected: list[str]) -> None:
    loop = (
        "    loss = model(data).sum()\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()"
    )
    assert codes(f"data = {data}\nfor epoch in range(9):\n{loop}") == expected


def test_parts_of_an_output_are_differentiated_on_their_own() -> None:
    both = "out = model(x)\nout.generator_loss.backward()\nout.discriminator_loss.backward()\n"
    assert "GL101" not in codes(both + "optimizer.step()\noptimizer.zero_grad()")


@pytest.mark.parametrize(
    ("name", "is_given", "expected"),
    [
        ("encode", True, True),
        ("get_action_logits", True, False),
        ("log_prob", True, True),
        ("predict_noise", True, True),
        ("save_features", True, False),
        ("encode", False, False),
        ("update_actor", True, False),
        ("summary", True, False),
    ],
)
def test_methods_compute_by_their_names_and_arguments(name: str, is_given: bool, expected: bool) -> None:
    given = Symbol(1) if is_given else Const(3)
    assert computes(name, Call(NONE, [given], {}, None, name)) is expected
