"""The hooks that see what the graph saves, and PyTorch's check when it is needed.

What is saved hangs on the graph exactly as without hooks: an input of an operation as it is, a result without
its history (with it, the graph would hold itself).
"""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.sanitizer.formulas import SENSITIVE, without
from gradcheck_tool.sanitizer.memory import PLAIN, node_of
from gradcheck_tool.sanitizer.nodes import APPLY, NodeLog, next_number
from gradcheck_tool.sanitizer.saved import NEED, Need, Recomputed, Saved
from gradcheck_tool.sanitizer.sites import here, is_ours, site_of
from gradcheck_tool.sanitizer.unseen import Unseen, unseen
from gradcheck_tool.sanitizer.versions import detached_text, freed_text, modified_text

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from torch import Tensor

    from gradcheck_tool.sanitizer.below import Below
    from gradcheck_tool.sanitizer.records import Records

_KEEPING = "_make_saved_tensor"
"""The function of PyTorch with which checkpoints keep what they are given."""
_current_node: Any = torch._C._current_autograd_node
_no_dispatch: Any = torch._C._DisableTorchDispatch


class SavedTensors:
    """The hooks of one thread."""

    def __init__(self, log: NodeLog, records: Records, mode: Below) -> None:
        """Set where it is recorded what the hooks see, and the dispatch mode beside them."""
        self._log = log
        self._storages = records.storages
        self._passes = records.passes
        self._refusals = records.refusals
        self._repeating = records.repeating
        self._replays = records.replays
        self._overwritten = records.overwritten
        self._needed = None if records.lines is None else records.lines.needed
        self._mode = mode

    def pack(self, tensor: Tensor) -> Any:
        """Called by PyTorch with each tensor that a node saves."""
        with Unseen():
            saved = self._saved(tensor, sys._getframe(1))
            if self._replays.under_way:
                self._replays.saves(saved, tensor)
            return saved

    def _saved(self, tensor: Tensor, frame: FrameType) -> Saved:
        log = self._log
        number = next_number() - 1
        if number != log.last:
            log.made(number, site_of(frame))
        version = tensor._version
        node = node_of(tensor)
        record = self._storages.needed(tensor)
        shared = self._storages.arrays.state(tensor)
        if node is None:
            saved = Saved(tensor, version, number, log, record)
            saved.shared = shared
            return saved
        made = node._sequence_nr()
        keeps_input = _KEEPING in frame.f_code.co_names
        is_result = (made == number and not keeps_input) or (
            hasattr(node, "_forward_cls") and _applies(frame.f_code)
        )
        if not is_result:
            saved = Saved(tensor, version, number, log, record)
            saved.had_history = True
            saved.shared = shared
            saved.keeper = site_of(frame) if keeps_input else None
            return saved
        saved = Saved(_without_history(tensor), version, number, log, record)
        saved.producer = (node.name(), tensor.output_nr)
        saved.shared = shared
        if tensor._is_view():
            saved.view = weakref.ref(tensor)
        return saved

    @unseen
    def unpack(self, saved: Any) -> Tensor:
        """Called by PyTorch when a pass needs what was saved; compares versions as it would.

        Raises:
            RuntimeError: what PyTorch raises without hooks.
        """
        tensor: Tensor = saved.tensor
        if self._refusals.keep_going:
            self._kept(saved)
        if tensor._version != saved.version:
            self._refuse(saved, self._modified(saved))
        elif saved.had_history and tensor.grad_fn is None:
            self._refuse(saved, RuntimeError(detached_text()))
        else:
            record = saved.record
            self._repeating.needs(tensor)
            if (
                record is not None
                and _current_node() is not None  # else something only reads what is saved
                and (record.total != saved.since or record.is_left_by(tensor) or _is_changed(saved))
            ):
                self._overwritten(self._need(saved))
            if self._replays.found:
                self._replays.needs(saved, tensor)
            if self._needed is not None:
                self._needed(saved.log.site(saved.number))
        current = self._passes.current
        if current is not None and current.frees and saved.keeper is None:
            saved.log.freed(saved.number, current.number)
        producer = saved.producer
        if tensor.dtype is torch.bool or (producer is not None and producer[0] in SENSITIVE):
            self._steps_aside()
        return tensor

    @unseen
    def recomputed(self, tensor: Tensor) -> Recomputed:
        """A checkpoint saves what it has computed again."""
        number = next_number() - 1
        if number != self._log.last:
            self._log.made(number, here())
        record = self._storages.needed(tensor)
        return Recomputed(tensor, tensor._version, number, self._log, record)

    @unseen
    def needs_recomputed(self, saved: Recomputed, tensor: Tensor) -> None:
        """A node needs what a checkpoint has saved for it."""
        self._repeating.needs(tensor)
        if saved.record is not None and saved.record.total != saved.since and _current_node() is not None:
            self._overwritten(self._need(saved))
        self._steps_aside()

    def _steps_aside(self) -> None:
        """Some nodes compute something else where a dispatch mode is there.

        They save their results, but for one, which saves a mask.
        """
        node = _current_node()
        if node is not None and node.name() in SENSITIVE and without(self._mode):
            self._repeating.misses(node.name())

    def _kept(self, saved: Saved) -> None:
        """Without us, what an earlier pass had to free would be gone."""
        by, current = saved.log.freed_by(saved.number), self._passes.current
        if by and current is not None and by != current.number:
            self._refuse(saved, RuntimeError(freed_text()))

    def _refuse(self, saved: Saved, error: RuntimeError) -> None:
        """Raise what PyTorch raises, unless the run goes on."""
        vars(error)[NEED] = self._need(saved)
        current = self._passes.current
        if not self._refusals.goes_on(error, here() or (current.site if current is not None else None)):
            raise error

    def _modified(self, saved: Saved) -> RuntimeError:
        tensor, producer = saved.tensor, saved.producer
        if producer is None and saved.had_history:
            if tensor.grad_fn is None:
                return RuntimeError(detached_text())
            producer = (tensor.grad_fn.name(), 0)
        elif producer is not None and saved.view is not None and saved.view() is None:
            producer = (_current_node().name(), producer[1])
        return RuntimeError(modified_text(tensor, saved.version, producer))

    def _need(self, saved: Saved) -> Need:
        node = _current_node()
        name = "checkpoint" if saved.keeper is not None else node.name() if node is not None else ""
        return Need(saved, name, self._passes.current)


def _is_changed(saved: Saved) -> bool:
    """Has NumPy written to what was saved?"""
    shared = saved.shared
    if shared is None and saved.record is not None:
        shared = saved.shared = saved.record.shared
    return shared is not None and shared.is_changed(saved.tensor)


def _applies(code: CodeType) -> bool:
    """Does code call what applies a Function? That of the recorder of inputs does in PyTorch's place."""
    return code is APPLY or is_ours(code.co_filename)


def _without_history(tensor: Tensor) -> Tensor:
    if type(tensor) not in PLAIN:
        return tensor.detach()
    with _no_dispatch():
        return tensor.detach()
