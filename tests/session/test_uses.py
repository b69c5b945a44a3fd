"""What a file mentions and keeps, read once for all questions."""

from __future__ import annotations

from gradcheck_tool.session.uses import ReadUses, Use

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
    assert Use("model", "Trainer", "fit", without=True, is_called=True) in uses.named["encode"]
    assert uses.named["Loader"] == [Use(None, "Trainer", "fit", without=True)]
    assert uses.defined == {"Trainer"}
    assert uses.kept_as({"compile"}) == {"critic"}
    assert uses.kept_as({"Loader"}) == {"data"}


def test_a_text_is_read_once() -> None:
    read = ReadUses()
    assert read.of(TEXT) is read.of(bytes(TEXT))
    assert read.of(b"def f(:") is None
