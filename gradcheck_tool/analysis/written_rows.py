"""Arguments of which a function writes rows: `z[i] = self.layer(z[i])`.

A list of feature maps is written to in the same way. A tensor is asked for its shape, too, or indexed by
several numbers.
"""

from __future__ import annotations

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_text import FunctionBody

# What only tensors have, as far as what has rows is concerned.
OF_TENSORS = frozenset({"shape", "size", "dim", "ndim", "device", "dtype", "new_zeros", "new_tensor"})


def written_rows(function: ir.Function) -> frozenset[str]:
    """The parameters that are tensors, and are read from and written to by an index that is no text."""
    body: FunctionBody = function.worked_out(FunctionBody)
    items = [i for i in body.instrs if isinstance(i, ir.GetItem | ir.SetItem)]
    read = {body.source(i.obj) for i in items if isinstance(i, ir.GetItem)}
    written = {
        body.source(i.obj) for i in items if isinstance(i, ir.SetItem) and not _is_text(body.maker(i.index))
    }
    tensors = {
        body.source(i.obj) for i in body.instrs if isinstance(i, ir.GetAttr) and i.name in OF_TENSORS
    } | {body.source(i.obj) for i in items if isinstance(body.maker(i.index), ir.BuildTuple)}
    return frozenset(name for name in read & written & tensors if isinstance(name, str))


def _is_text(made: ir.Instr | None) -> bool:
    return isinstance(made, ir.Const) and isinstance(made.value, str)
