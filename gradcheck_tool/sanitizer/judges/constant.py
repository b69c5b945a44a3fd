"""A term of a loss that is a constant: it has no gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.cuts import Cut
from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import cut_off, placed, quoted, step
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records

CONSTANT, NUMBERS, PENALTY = "GL515", "GL503", "GL803"

_CONVERTED = "Converting a tensor with requires_grad=True to a scalar"


def judge(records: Records) -> Iterator[Told]:
    """Tell where the constant is added, and where its graph was cut off."""
    for term in records.cuts.terms.values():
        cut = term.cut or _conversion(records)
        is_loss = term.site in records.graphs.sums and term.times >= OFTEN_ENOUGH
        if not is_loss or cut is None or not term.varies:
            continue
        steps = (*cut_off(cut), step(term.site, "what comes of it is added to the loss here", "made"))
        yield Told(
            _code_of(cut),
            cut.site.location,
            f"{quoted(term.site, 'the loss')} has a constant term, which has no gradient: "
            f"{quoted(cut.site, f'`{cut.operation}`')} has cut its graph off",
            placed(*steps),
            evidence={"times": term.times},
        )


def _conversion(records: Records) -> Cut | None:
    """The place where PyTorch warns that tensors with a graph become numbers."""
    for one in records.warned.known:
        if _CONVERTED in one.text:
            return Cut("_local_scalar_dense", one.site, tracked=True)
    return None


def _code_of(cut: Cut) -> str:
    if cut.operation == "backward":
        return PENALTY
    return NUMBERS if cut.gives_numbers else CONSTANT
