"""Which inputs of a custom `autograd.Function` its backward asks for, by their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import Site
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.trackers.events import FunctionDefect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.library.torch.function_text import FunctionBody, FunctionClass


def asks_for_another(c: FunctionClass) -> Iterator[FunctionDefect]:
    """`ctx.needs_input_grad[i]` of an input that always gets None, and never of one that gets a gradient.

    Only where backward asks for others that do, by number, too. What asks in order to refuse is right.
    """
    body, names = c.backward, c.arguments()
    if body is None or "needs_input_grad" not in c.read_in(body):
        return
    asked = _asked(body)
    with_gradient = _with_gradients(body)
    if asked is None or with_gradient is None or not with_gradient & asked.keys():
        return
    missed = {index for index in with_gradient - asked.keys() if index < len(names)}
    wrong = [index for index in asked if index not in with_gradient and index < len(names)]
    pairs = sorted((abs(index - other), index, other) for index in wrong for other in missed)
    if pairs and not any(_refuses(body, reg) for _, reg in asked[pairs[0][1]]):
        _, index, other = pairs[0]
        yield FunctionDefect(
            site=Site(c.module, asked[index][-1][0]),
            function=c.name,
            kind="asks-for-another",
            detail=names[index],
            instead=f"`{names[other]}` (`{c.context(body)}.needs_input_grad[{other}]`)",
        )


def _asked(body: FunctionBody) -> dict[int, list[tuple[Any, int]]] | None:
    """Where backward asks for each number; None where it reads the flags in another way, too."""
    found: dict[int, list[tuple[Any, int]]] = {}
    for flags in body.instrs:
        if not isinstance(flags, ir.GetAttr) or flags.name != "needs_input_grad":
            continue
        for use in body.uses(flags.dst):
            number = body.maker(use.index) if isinstance(use, ir.GetItem) else None
            if not isinstance(number, ir.Const) or not isinstance(number.value, int) or number.value < 0:
                return None
            found.setdefault(number.value, []).append((use.node, use.dst))  # type: ignore[union-attr]
    return found


def _with_gradients(body: FunctionBody) -> set[int] | None:
    """The inputs for which backward may return a gradient; None where that is not written in its returns."""
    found: set[int] = set()
    for end in body.returns():
        made = body.maker(end.value) if end.value is not None else None
        if not isinstance(made, ir.BuildTuple) or any(is_star for _, is_star in made.items):
            return None
        found.update(index for index, reg in enumerate(body.values(end)) if not body.is_none(reg))
    return found


def _refuses(body: FunctionBody, reg: int) -> bool:
    """Does backward raise an exception where a flag is set?"""
    blocks = body.function.blocks
    ways = (end for end in body.uses(reg) if isinstance(end, ir.Branch))
    return any(
        isinstance(blocks[at].terminator, ir.Raise) for end in ways for at in (end.then, end.otherwise)
    )
