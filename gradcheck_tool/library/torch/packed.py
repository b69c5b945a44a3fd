"""Packed sequences: what recurrent layers take and give in place of a padded tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import NONE, LibraryObject, Ref, Tup, Value, unknown
from gradcheck_tool.interp.registry import Result, function
from gradcheck_tool.library.torch.functions import call_named
from gradcheck_tool.library.torch.tensor_values import as_tensor

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter

PACKED = LibraryObject("torch.nn.utils.rnn.PackedSequence")


def pack(s: State, data: Value) -> Ref:
    """A packed sequence of the rows in `data`."""
    return s.new(Instance(PACKED, {"data": data}, open=True))


def rows_of(s: State, value: Value) -> Value | None:
    """The rows of a packed sequence; None for anything else."""
    record = s.get(value, Instance)
    return record.attrs["data"] if record is not None and record.cls == PACKED else None


def _rearranged(m: Interpreter, s: State, value: Value, call: Call) -> Value:
    """The same numbers in memory of their own and in another shape; it saves nothing of the user's."""
    source = as_tensor(m, s, value, call.site)
    if source is None:
        return unknown()
    copy = call_named(m, s, "torch.Tensor.clone", [source], {}, call.site, call.text)
    if s.get(copy, Tensor) is not None:
        s.edit(copy).shape = None  # type: ignore[arg-type]
    return copy


@function("torch.nn.utils.rnn.pack_padded_sequence")
def pack_padded_sequence(m: Interpreter, s: State, call: Call) -> Result:
    return pack(s, _rearranged(m, s, call.get(0, "input") or NONE, call))


@function("torch.nn.utils.rnn.pad_packed_sequence")
def pad_packed_sequence(m: Interpreter, s: State, call: Call) -> Result:
    """The padded tensor and the lengths."""
    rows = rows_of(s, call.get(0, "sequence") or NONE)
    return Tup((_rearranged(m, s, rows, call) if rows is not None else unknown(), unknown("data")))
