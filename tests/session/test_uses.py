"""What a file mentions and keeps, read once for all questions."""

from __future__ import annotations

import pytest

from gradcheck_tool.session.uses import Arguments, ReadUses, Use

TEXT = b"""
import torch
class Trainer:
    def fit(self, model):
        self.critic = torch.compile(Critic())
        with torch.no_grad():
            model.encode(data=Loader)
"""


def test_places_and_names_are_found() -> None:
    uses = ReadUses().of(TEXT)
    assert uses is not None
    given = Arguments(0, frozenset({"data"}))
    assert uses.named["encode"] == [Use("model", "Trainer", "fit", without=True, is_called=True, given=given)]
    assert uses.named["Loader"] == [Use(None, "Trainer", "fit", without=True)]
    assert uses.defined == {"Trainer"}
    assert uses.kept_as({"compile"}) == {"critic"}
    assert uses.kept_as({"Loader"}) == {"data"}


def test_a_text_is_read_once() -> None:
    read = ReadUses()
    assert read.of(TEXT) is read.of(bytes(TEXT))
    assert read.of(b"def f(:") is None


@pytest.mark.parametrize(
    ("call", "fits"),
    [
        ("f(1)", False),
        ("f(1, 2)", True),
        ("f(1, b=2)", True),
        ("f(1, 2, 3, 4)", False),
        ("f(1, 2, key=3)", True),
        ("f(1, 2, other=3)", False),
        ("f(*args)", True),
    ],
)
def test_what_a_function_takes(call: str, fits: bool) -> None:
    uses = ReadUses().of(f"def f(a, b, c=1, *, key=2): ...\n{call}\n".encode())
    assert uses is not None
    (use,) = uses.named["f"]
    assert (use.given is None or uses.functions["", "f"].take(use.given)) is fits
