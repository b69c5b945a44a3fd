"""Gradients that a hook changes in place, and what else of the graph has the same memory.

A hook belongs to one node of the graph. What comes after that node is to compute with the changed gradient;
what does not come after it, but reads the same memory, is not.

What the engine adds up for a node that gets several gradients, it adds in the name of the node that gives the
last one. The first of them came from elsewhere if this is the node of the hook, whose own results are new.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from gradcheck_tool.sanitizer.graphs import nodes_from
from gradcheck_tool.sanitizer.logs import log_here
from gradcheck_tool.sanitizer.memory import storage_key, storage_of, tensors_in
from gradcheck_tool.sanitizer.tokens import shape_of, token_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from gradcheck_tool.sanitizer.sites import Site

_SUMS = ("add", "add_")
"""What sums up the gradients that a node gets: the engine, in the name of another node."""
_current_node: Any = torch._C._current_autograd_node
_weak: Any = StorageWeakRef


@dataclass(slots=True, eq=False)
class Victims:
    """What else computes with a changed gradient.

    Attributes:
        leaves: the shapes of leaves whose gradient changes with it, by token.
        nodes: the names of nodes that compute with it, and where they were made.
    """

    leaves: dict[int, tuple[int, ...]] = field(default_factory=dict)
    nodes: dict[str, Site | None] = field(default_factory=dict)


@dataclass(slots=True)
class _Changed:
    """The memory of a changed gradient, the node of the hook, and what may read it: nodes and leaves."""

    memory: Any
    number: int
    numbers: set[int]
    leaves: set[int]
    victims: Victims


@dataclass(slots=True)
class Sharing:
    """The gradients that hooks have changed in the pass that is under way."""

    changed: dict[int, _Changed] = field(default_factory=dict)

    def changes(self, gradient: Tensor, victims: Victims) -> None:
        """A hook of the current node has changed a gradient."""
        storage, node = storage_of(gradient), _current_node()
        if storage is None or node is None:
            return
        numbers: set[int] = set()
        leaves: set[int] = set()
        for one in nodes_from(node):
            variable = getattr(one, "variable", None)
            if variable is None:
                numbers.add(one._sequence_nr())
            else:
                leaves.add(token_of(variable))
        self.changed[storage._cdata] = _Changed(_weak(storage), node._sequence_nr(), numbers, leaves, victims)

    def reads(self, name: str, args: Sequence[Any]) -> None:
        """An operation of a pass reads something."""
        node = _current_node()
        if node is None:
            return
        keys = [storage_key(tensor) for tensor in tensors_in(args)]
        for key in set(keys):
            changed = self.changed.get(key)
            if changed is None or changed.memory.expired():
                continue
            if name not in _SUMS or getattr(node, "variable", None) is not None:
                _reads(node, changed)
            elif node._sequence_nr() == changed.number and keys[0] == key and key not in keys[1:]:
                _is_added_to(node, changed)

    def pass_ends(self, *_: object) -> None:
        """A pass is over."""
        self.changed.clear()


def _reads(node: Any, changed: _Changed) -> None:
    """A node computes with a changed gradient."""
    variable = getattr(node, "variable", None)
    if variable is not None:
        if token_of(variable) not in changed.leaves:
            changed.victims.leaves[token_of(variable)] = shape_of(variable)
    elif node._sequence_nr() not in changed.numbers:
        _computes(node, changed)


def _is_added_to(node: Any, changed: _Changed) -> None:
    """What the node of the hook gives another node is added to a changed gradient that this has got."""
    following = [one for one, _ in node.next_functions if one is not None]
    if len(following) == 1 and not hasattr(node, "_forward_cls"):
        _computes(following[0], changed)


def _computes(node: Any, changed: _Changed) -> None:
    log = log_here()
    changed.victims.nodes[node.name()] = log.site(node._sequence_nr()) if log is not None else None
