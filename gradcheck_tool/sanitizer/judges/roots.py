"""A pass that cannot begin, or whose inputs the roots do not depend on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from torch import Tensor

from gradcheck_tool.findings import TraceStep
from gradcheck_tool.sanitizer.judges.exception import Raised, caller_of, calls_of, cut_off, quoted, step
from gradcheck_tool.sanitizer.judges.freed import nodes_of
from gradcheck_tool.sanitizer.memory import tensors_in
from gradcheck_tool.sanitizer.receiver import bound_at
from gradcheck_tool.sanitizer.tokens import token_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.findings import Location
    from gradcheck_tool.sanitizer.passes import Pass
    from gradcheck_tool.sanitizer.told import Told

NO_GRAPH, NON_SCALAR, UNUSED = "GL501", "GL103", "GL801"

_INPUTS = 3
"""The position of the inputs among what the engine is called with, behind the roots."""
_OPERATION = re.compile(r"derivative for aten::(\w+)")
_INDEX = re.compile(r"(?:element|index) (\d+)")


def no_graph(raised: Raised) -> Told | None:
    """Tell where the path to the parameters was cut off."""
    roots = raised.local("run_backward", "roots") or ()
    cut = raised.records.cuts.of(tensors_in(roots))
    last = raised.records.cuts.last
    if cut is None and last is not None and last.gives_numbers:
        cut = last  # what is made of numbers is a new tensor
    where = (
        tuple(_without_cut(raised, roots))
        if cut is None
        else (*cut_off(cut), *calls_of(cut.site, raised.site))
    )
    which = f" from root {_index(raised.text)}" if len(roots) > 1 else ""
    return raised.told(
        NO_GRAPH,
        f"{quoted(raised.site, 'this backward')} has no graph to go through{which}: nothing that it is "
        "computed from leads to a tensor that requires grad",
        *where,
        caller_of(raised.site) if any(where) else None,
    )


def _without_cut(raised: Raised, roots: Sequence[Any]) -> Iterator[TraceStep | None]:
    """Where a root is computed, if nothing is known to have cut its graph off."""
    outer = _outer_pass(raised)
    if outer is not None and not outer.creates:
        yield step(
            outer.site, "this backward records no graph of what it computes (create_graph is off)", "backward"
        )
    root = _one(roots, raised.text)
    place = None if raised.frame is None else bound_at(raised.frame, root)
    yield None if place is None else TraceStep(place, "it is computed here, without a graph", "cut")


def _outer_pass(raised: Raised) -> Pass | None:
    """The pass in which another one fails."""
    begun = [
        frame.f_locals["begun"]
        for frame in raised.frames
        if frame.f_code.co_name == "run_backward" and "begun" in frame.f_locals
    ]
    return begun[0] if len(begun) > 1 else None


def underived(raised: Raised) -> Iterator[TraceStep | None]:
    """Where the operation stands that has no derivative: a node that it makes has no number."""
    named = _OPERATION.search(raised.text)
    cuts = reversed(raised.records.cuts.known.values())
    cut = next((one for one in cuts if named is not None and one.operation == named[1]), None)
    yield None if cut is None else step(cut.site, f"`{cut.operation}` is computed here", "cut")


def non_scalar(raised: Raised) -> Told | None:
    """Tell where the root with several elements was computed."""
    root = _one(raised.local("_make_grads", "outputs", "outs"), raised.text)
    shape = f" of shape {list(root.shape)}" if root is not None else ""
    made = raised.made(root)
    return raised.told(
        NON_SCALAR,
        f"{quoted(raised.site, 'this backward')} starts from a tensor{shape}, which is no scalar",
        step(made, "it is computed here", "made"),
    )


def unused(raised: Raised) -> Told | None:
    """Tell where the input was made that the roots do not depend on."""
    roots, args = raised.local("run_backward", "roots") or (), raised.local("run_backward", "args")
    inputs = args[_INPUTS] if args is not None else ()
    index = _unreached(roots, inputs)
    tensor = None if index is None else inputs[index]
    name, made = _known(raised, tensor) if isinstance(tensor, Tensor) else ("", None)
    shape = f"shape {list(tensor.shape)}" if isinstance(tensor, Tensor) else ""
    which = "an input" if index is None else f"input {index}"
    about = f" ({', '.join(filter(None, (name, shape)))})" if shape else ""
    requires = not isinstance(tensor, Tensor) or tensor.requires_grad
    why = "on which the result does not depend" if requires else "which does not require grad"
    computed = raised.made(roots[0]) if roots else None
    return raised.told(
        UNUSED,
        f"{quoted(raised.site, 'this call')} differentiates with respect to {which}{about}, {why}",
        None if made is None else TraceStep(made, "this input is made here", "made"),
        _source(raised, roots)
        if raised.is_in(computed)
        else step(computed, "the result is computed here", "made"),
        caller_of(raised.site),
    )


def _source(raised: Raised, roots: Sequence[Any]) -> TraceStep | None:
    """Where the newest node was made of those that a result comes from, beside the call that raises."""
    log = raised.log
    sites = () if log is None else (log.site(node._sequence_nr()) for node in nodes_of(roots))
    source = next((site for site in sites if site is not None and not raised.is_in(site)), None)
    return step(source, "what the result comes from is computed here", "made")


def _known(raised: Raised, tensor: Tensor) -> tuple[str, Location | None]:
    """The name of a tensor, where it is a parameter of a module, and where it was made."""
    origin = raised.records.parameters.origins.get(token_of(tensor))
    if origin is not None:
        return f"`{origin.owner}`", None if origin.site is None else origin.site.location
    made = raised.made(tensor)
    if made is not None:
        return "", made.location
    return "", None if raised.frame is None else bound_at(raised.frame, tensor)


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
    index = _index(text)
    if isinstance(given, (tuple, list)):
        return given[index] if index < len(given) else None
    return given


def _index(text: str) -> int:
    """Which of several tensors a text is about."""
    found = _INDEX.search(text)
    return int(found.group(1)) if found else 0
