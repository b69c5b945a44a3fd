"""A pass that cannot begin, or whose inputs the roots do not depend on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gradcheck_tool.sanitizer.judges.exception import Raised, quoted, step

if TYPE_CHECKING:
    from gradcheck_tool.sanitizer.told import Told

NO_GRAPH, NON_SCALAR, UNUSED = "GL501", "GL103", "GL801"

_INDEX = re.compile(r"(?:element|index) (\d+)")


def no_graph(raised: Raised) -> Told | None:
    """Tell where the path to the parameters was cut last."""
    cut = raised.records.cuts.last
    where = None if cut is None else step(cut.site, cut.message)
    return raised.told(
        NO_GRAPH,
        f"{quoted(raised.site, 'this backward')} has no graph to go through: nothing that it is computed "
        "from leads to a tensor that requires grad",
        where,
    )


def non_scalar(raised: Raised) -> Told | None:
    """Tell where the root with several elements was computed."""
    root = _one(raised.local("_make_grads", "outputs", "outs"), raised.text)
    shape = f" of shape {list(root.shape)}" if root is not None else ""
    made = raised.made(root)
    return raised.told(
        NON_SCALAR,
        f"{quoted(raised.site, 'this backward')} starts from a tensor{shape}, which is no scalar",
        step(made, "it is computed here"),
    )


def unused(raised: Raised) -> Told | None:
    """Tell where the input was made that the roots do not depend on."""
    given = raised.local("grad", "inputs", "t_inputs")
    tensor = _one(given, raised.text)
    shape = f" (shape {list(tensor.shape)})" if tensor is not None else ""
    index = _INDEX.search(raised.text)
    which = f"input {index.group(1)}" if index else "an input"
    return raised.told(
        UNUSED,
        f"{quoted(raised.site, 'this call')} differentiates with respect to {which}{shape}, on which the "
        "result does not depend",
        step(raised.made(tensor), "this input is made here, and not used for the result"),
    )


def _one(given: Any, text: str) -> Any:
    """The tensor among what was given that a text is about."""
    found = _INDEX.search(text)
    index = int(found.group(1)) if found else 0
    if isinstance(given, (tuple, list)):
        return given[index] if index < len(given) else None
    return given
