"""Predicted texts: their alternatives, and their gaps."""

from __future__ import annotations

import pytest

from gradcheck_tool.predictions import alternatives, is_said


def test_a_prediction_has_one_text_or_several() -> None:
    assert alternatives("one text") == ("one text",)
    assert alternatives("one text | another") == ("one text", "another")
    assert alternatives(None) == ()


@pytest.mark.parametrize(
    ("predicted", "is_told"),
    [
        ("of size '[4]' to", True),
        ("of size ... to a tensor of size ...", True),
        ("to a tensor ... of size '[4]'", False),
        ("something else | to a tensor", True),
        ("something else", False),
        (None, False),
    ],
)
def test_gaps_stand_for_what_the_run_knows(predicted: str | None, is_told: bool) -> None:
    message = "attempting to assign a gradient of size '[4]' to a tensor of size '[3]'"
    assert is_said(predicted, message) is is_told
