"""A pass reaches what an earlier one has freed."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from gradcheck_tool.sanitizer.judges.exception import Raised, calls_of, quoted, step
from gradcheck_tool.sanitizer.receiver import node_read
from gradcheck_tool.sanitizer.saved import NEED, Need

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.findings import StepKind, TraceStep
    from gradcheck_tool.sanitizer.nodes import NodeLog
    from gradcheck_tool.sanitizer.passes import Pass
    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.told import Told

SECOND, CARRIED, FIELD = "GL101", "GL102", "GL104"

_MOST_NODES = 500_000


def judge(raised: Raised) -> Told | None:
    """Tell which line built the shared part, and which pass freed it."""
    need: Need | None = getattr(raised.error, NEED, None)
    if need is not None:
        by = need.saved.log.freed_by(need.saved.number)
        freeing = raised.records.passes.get(by)
        return _told(raised, need.node, need.saved.site, None, freeing)
    roots = raised.local("run_backward", "roots")
    if roots is None:
        return _field(raised)
    node, reader = _reached(raised, roots)
    freeing = _freed_by(raised, node)
    used = None
    if reader is not None and freeing is not None and reader._sequence_nr() >= freeing.after:
        used = _made(raised, reader)
    return _told(raised, "a node" if node is None else node.name(), _made(raised, node), used, freeing)


def _field(raised: Raised) -> Told:
    """What a node saved is read without a backward."""
    frame = raised.frame
    node = None if frame is None else node_read(frame, raised.site.location)
    freeing = None if node is None else _freed_by(raised, node)
    return raised.told(
        FIELD,
        "what the node saved was freed by an earlier backward",
        step(_made(raised, node), "the node is made here", "made"),
        None if freeing is None else step(freeing.site, "this backward frees what it saved", "freed"),
    )


def _made(raised: Raised, node: Any) -> Site | None:
    return raised.log.site(node._sequence_nr()) if node is not None and raised.log is not None else None


def _told(raised: Raised, name: str, made: Site | None, used: Site | None, freeing: Pass | None) -> Told:
    """`used` is where something has used the shared part since it was freed."""
    here = raised.site
    before = freeing.site if freeing is not None else None
    again = before is not None and before.location == here.location
    is_same_way = again and before is not None and here.parts_from(before) in (0, None)
    built = quoted(made, f"`{name}`")
    return raised.told(
        CARRIED if again else SECOND,
        f"{quoted(here, 'this backward')} goes through {built} again, whose graph "
        + (
            "the same call has freed before"
            if again
            else f"{quoted(before, 'an earlier backward')} has freed"
        ),
        *_told_with_calls(made, here, f"`{name}` is made here", "saved"),
        *_told_with_calls(None if is_same_way else before, here, "this backward frees it", "freed"),
        *_told_with_calls(
            None if used == made or raised.is_in(used) else used,
            here,
            "what comes out of it is used again here",
            "made",
        ),
        *(calls_of(here, before or made) if before or made else ()),
        step(
            here,
            "this backward freed it, and needs it again: PyTorch raises"
            if is_same_way
            else "PyTorch raises here",
            "raised",
        ),
    )


def _told_with_calls(
    site: Site | None, reader: Site, message: str, kind: StepKind
) -> Iterator[TraceStep | None]:
    if site is not None:
        yield from calls_of(site, reader)
        yield step(site, message, kind)


def nodes_of(roots: Sequence[Any]) -> Iterator[Any]:
    """The nodes behind tensors in the order in which a pass comes to them."""
    return (node for node, _ in _nodes_and_readers(roots))


def _nodes_and_readers(roots: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    first = [getattr(root, "grad_fn", None) or getattr(root, "node", None) for root in roots]
    queue = [(-node._sequence_nr(), index, node) for index, node in enumerate(first) if node is not None]
    heapq.heapify(queue)
    readers: dict[Any, Any] = {node: None for _, _, node in queue}
    count = len(queue)
    while queue and count < _MOST_NODES:
        node = heapq.heappop(queue)[2]
        yield node, readers[node]
        for following, _ in node.next_functions:
            if following is not None and following not in readers:
                readers[following] = node
                count += 1
                heapq.heappush(queue, (-following._sequence_nr(), count, following))


def _reached(raised: Raised, roots: Sequence[Any]) -> tuple[Any, Any]:
    """The first node on the way that had been freed before the failed pass came to it, and who reads it."""
    failed: Pass | None = raised.local("run_backward", "begun")
    log = raised.log
    if failed is None or log is None:
        return None, None
    earlier = raised.records.passes.freeing_before(failed)
    for node, reader in _nodes_and_readers(roots):
        number = node._sequence_nr()
        is_older = earlier is None or number < earlier.after
        if is_older and log.freed_by(number) != failed.number and _is_freed(node):
            return node, reader
    return None, None


def _is_freed(node: Any) -> bool:
    names = ["saved_tensors"] if hasattr(node, "_forward_cls") else _saved_names(node)
    return any(_raises(node, name) for name in names)


def _raises(node: Any, name: str) -> bool:
    try:
        getattr(node, name)
    except RuntimeError as error:
        return "second time" in str(error) or "already been freed" in str(error)
    return False


def _saved_names(node: Any) -> list[str]:
    return [name for name in dir(node) if name.startswith("_saved_")]


def _freed_by(raised: Raised, node: Any) -> Pass | None:
    """The pass that freed a node: its own mark, or that of the first node behind it that has one."""
    log: NodeLog | None = raised.log
    if node is None or log is None:
        return None
    failed: Pass | None = raised.local("run_backward", "begun")
    for behind in nodes_of([_Root(node)]):
        number = log.freed_by(behind._sequence_nr())
        if number and (failed is None or number != failed.number):
            return raised.records.passes.get(number)
    return raised.records.passes.freeing_before(failed) if failed is not None else None


class _Root:
    """A node in place of a tensor that comes out of it."""

    def __init__(self, node: Any) -> None:
        self.grad_fn = node
