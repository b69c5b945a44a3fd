"""Warnings that PyTorch gives once, and that tell of a mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records

# The text of the warning, the rule, and what follows the source text of the place.
_TABLE = (
    (
        "The .grad attribute of a Tensor that is not a leaf",
        "GL302",
        "reads the gradient of a computed tensor, which has none",
    ),
    (
        "before `optimizer.step()`",
        "GL406",
        "steps the scheduler before the optimizer: the first rate is skipped",
    ),
    (
        "that is different to the input size",
        "GL517",
        "compares every output with every target: their sizes differ, and are broadcast",
    ),
    ("create_graph=True will create a reference cycle", "GL804", "keeps the graph and its leaves alive"),
    ("None of the inputs have requires_grad=True", "GL808", "checkpoints what gets no gradient"),
)

_OF_TRAINING = {"GL808"}
"""What PyTorch warns of also where gradients are switched off, and nobody wants any."""


def judge(records: Records) -> Iterator[Told]:
    """Tell where PyTorch warned."""
    for one in records.warned.known:
        for part, code, why in _TABLE:
            if part in one.text and not (one.is_off and code in _OF_TRAINING):
                made = step(one.made, "this tensor is computed here", "made")
                steps = placed(made, step(one.site, "PyTorch warns here"))
                message = f"{quoted(one.site, 'this')} {why}"
                yield Told(code, one.site.location, message, steps, one.text)
