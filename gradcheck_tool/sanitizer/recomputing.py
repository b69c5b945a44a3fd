"""What a checkpoint computes when a pass calls its part again: is it what it has computed before?

PyTorch compares shapes, types and devices of what is saved. Here the values are compared: of the first calls
of each checkpoint, where all that it saves has room, and where the same places save it. A parameter that is
too large to be copied counts as the same as long as its version is; of a checkpoint with one that is another
by then, nothing is told.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.sanitizer.memory import PLAIN, storage_key, version_of
from gradcheck_tool.sanitizer.repeating import holds_the_same
from gradcheck_tool.sanitizer.sites import here
from gradcheck_tool.sanitizer.unseen import unseen

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from gradcheck_tool.sanitizer.passes import Pass, Passes
    from gradcheck_tool.sanitizer.sites import Site

_ROOM = 1 << 25
"""So many bytes are kept at a time."""
LARGE = 1 << 20
"""Parameters of more bytes are not copied."""
_LOOKED_AT = 32
"""So many calls of each checkpoint are looked at; then each whose number is a power of two."""
_PART, _FIRST = "_gradlint_part", "_gradlint_first"
_no_dispatch: Any = torch._C._DisableTorchDispatch


@dataclass(slots=True, eq=False)
class Part:
    """One call of a checkpoint.

    Attributes:
        site: where the program calls it.
        is_known: whether all that it has saved is known.
        differs: where the first value was saved that is another when it is called again.
    """

    site: Site | None
    is_known: bool = True
    differs: Site | None = None


class First:
    """A value of the first call of a checkpoint: a copy, or a large parameter and its version.

    Where values are known by the place that saves them, `place` is that place.
    """

    __slots__ = ("_of", "_place", "content", "differs", "leaf", "part", "version")

    def __init__(self, tensor: Tensor, part: Part, of: Recomputing, place: object = None) -> None:
        self.part = part
        self._place = place
        self.differs = False
        self._of = of
        self.leaf, self.version = weakref.ref(tensor), version_of(tensor)
        self.content: Tensor | None = None
        is_parameter = tensor.is_leaf and tensor.requires_grad
        if is_parameter and tensor.nbytes > LARGE:
            return
        if tensor.nbytes > of.room:
            part.is_known = False
            return
        of.room -= tensor.nbytes
        with torch.no_grad(), _no_dispatch():
            self.content = tensor.detach().clone()

    def __del__(self) -> None:
        """Leave the room to others."""
        if self.content is not None:
            self._of.room += self.content.nbytes

    def compare(self, tensor: Tensor) -> None:
        """The part has saved this in its place when it was called again."""
        content = self.content
        if content is None:
            self.part.is_known &= self.leaf() is tensor and version_of(tensor) == self.version
        elif (content.shape, content.dtype, content.device) != (tensor.shape, tensor.dtype, tensor.device):
            self.part.is_known = False
        else:
            with torch.no_grad(), _no_dispatch():
                self.differs = not holds_the_same(tensor, content)
            if self.differs:
                self._is_at(here())

    def _is_at(self, site: Site | None) -> None:
        """This place saves another value; what is saved elsewhere is not what it is to be compared with."""
        if self._place is not None:
            self.part.is_known &= _innermost(site) == self._place
        if self.part.differs is None:
            self.part.differs = site


def _innermost(site: Site | None) -> object:
    """The place without the calls that lead there."""
    return None if site is None else site.frames[0]


@dataclass(frozen=True, slots=True)
class Otherwise:
    """A pass needs a value of a checkpoint that is not what it was; `node` names what needs it."""

    tensor: Tensor
    was: Tensor
    part: Part
    node: str
    during: Pass


@dataclass(slots=True)
class Recomputing:
    """The checkpoints of a process.

    Attributes:
        room: how many bytes more may be kept.
        running: how many parts are called again, one in another, for what a node needs.
        listeners: are told of each value that is another.
    """

    passes: Passes
    room: int = _ROOM
    running: int = 0
    listeners: list[Callable[[Otherwise], None]] = field(default_factory=list)
    _calls: dict[Site | None, int] = field(default_factory=dict)

    def begins(self, frame: Any) -> None:
        """A checkpoint is called."""
        part = self.part()
        if part is not None:
            vars(frame)[_PART] = part

    def part(self) -> Part | None:
        """The part of a checkpoint that is called now; None if this call is not looked at."""
        site = here()
        calls = self._calls[site] = self._calls.get(site, 0) + 1
        return Part(site) if calls <= _LOOKED_AT or not calls & (calls - 1) else None

    @unseen
    def first(self, frame: Any, holder: Any, tensor: Tensor) -> None:
        """Its part saves a tensor, in whose place the checkpoint keeps a holder."""
        part: Part | None = vars(frame).get(_PART)
        if part is None or not part.is_known:
            return
        if type(tensor) not in PLAIN or not storage_key(tensor) or tensor.is_quantized:
            part.is_known = False
        else:
            vars(holder)[_FIRST] = First(tensor, part, self, _innermost(here()) or "")

    @unseen
    def again(self, holder: Any, tensor: Tensor) -> None:
        """The part saves a tensor again."""
        first: First | None = vars(holder).get(_FIRST)
        if first is None:
            return
        first.compare(tensor)
        if not first.differs:
            del vars(holder)[_FIRST]

    @unseen
    def needs(self, holder: Any, tensor: Tensor) -> None:
        """A pass needs what the part has saved again."""
        first: First | None = vars(holder).pop(_FIRST, None)
        if first is not None:
            self.meets(first, tensor)

    def meets(self, first: First, tensor: Tensor) -> None:
        """A pass needs a value that is another than it was in the first call."""
        was = first.content if first.part.is_known else None
        node: Any = torch._C._current_autograd_node()
        during = self.passes.current
        if was is None or node is None or during is None:
            return
        for listener in self.listeners:
            listener(Otherwise(tensor, was, first.part, node.name(), during))
