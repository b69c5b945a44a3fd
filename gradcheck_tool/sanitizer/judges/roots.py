"""A pass that cannot begin, or whose inputs the roots do not depend on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from torch import Tensor

from gradcheck_tool.sanitizer.judges.exception import Raised, caller_of, quoted, step
from gradcheck_tool.sanitizer.judges.freed import nodes_of
from gradcheck_tool.sanitizer.memory import tensors_in
from gradcheck_tool.sanitizer.tokens import token_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.told import Told

NO_GRAPH, NON_SCALAR, UNUSED = "GL501", "GL103", "GL801"

_INPUTS = 3
"""The position of the inputs among what the engine is called with, behind the roots."""
_INDEX = re.compile(r"(?:element|index) (\d+)")


def no_graph(raised: Raised) -> Told | None:
    """Tell where the path to the parameters was cut off."""
    cut = raised.records.cuts.of(tensors_in(raised.local("run_backward", "roots") or ()))
    last = raised.records.cuts.last
    if cut is None and last is not None and last.gives_numbers:
        cut = last  # what is made of numbers is a new tensor
    where = () if cut is None else (step(cut.site, cut.message), caller_of(cut.site))
    return raised.told(
        NO_GRAPH,
        f"{quoted(raised.site, 'this backward')} has no graph to go through: nothing that it is computed "
        "from leads to a tensor that requires grad",
        *where,
        caller_of(raised.site) if any(where) else None,
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
    roots, args = raised.local("run_backward", "roots"), raised.local("run_backward", "args")
    inputs = args[_INPUTS] if args is not None else ()
    index = _unreached(roots or (), inputs)
    tensor = None if index is None else inputs[index]
    name, made = _known(raised, tensor) if isinstance(tensor, Tensor) else ("", raised.made(tensor))
    shape = f"shape {list(tensor.shape)}" if isinstance(tensor, Tensor) else ""
    which = "an input" if index is None else f"input {index}"
    about = f" ({', '.join(filter(None, (name, shape)))})" if shape else ""
    return raised.told(
        UNUSED,
        f"{quoted(raised.site, 'this call')} differentiates with respect to {which}{about}, "
        "on which the result does not depend",
        step(made, "this input is made here, and not used for the result"),
    )


def _known(raised: Raised, tensor: Tensor) -> tuple[str, Site | None]:
    """The name of a tensor, where it is a parameter of a module, and where it was made."""
    origin = raised.records.parameters.origins.get(token_of(tensor))
    return ("", raised.made(tensor)) if origin is None else (f"`{origin.owner}`", origin.site)


def _unreached(roots: Sequence[Any], inputs: Sequence[Any]) -> int | None:
    """Which input do the roots not depend on?"""
    nodes = set(nodes_of(roots))
    leaves = {id(node.variable) for node in nodes if hasattr(node, "variable")}
    for index, given in enumerate(inputs):
        node = getattr(given, "grad_fn", None) or getattr(given, "node", None)
        if node not in nodes and id(given) not in leaves:
            return index
    return None


def _one(given: Any, text: str) -> Any:
    """The tensor among what was given that a text is about."""
    found = _INDEX.search(text)
    index = int(found.group(1)) if found else 0
    if isinstance(given, (tuple, list)):
        return given[index] if index < len(given) else None
    return given
