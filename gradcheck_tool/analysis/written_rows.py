"""Arguments of which a function writes rows: `z[i] = self.layer(z[i])`."""

from __future__ import annotations

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_text import FunctionBody


def written_rows(function: ir.Function) -> frozenset[str]:
    """The parameters that a function reads from and writes to by an index that is no text."""
    body: FunctionBody = function.worked_out(FunctionBody)
    read = {body.source(i.obj) for i in body.instrs if isinstance(i, ir.GetItem)}
    written = {
        body.source(i.obj)
        for i in body.instrs
        if isinstance(i, ir.SetItem) and not _is_text(body.maker(i.index))
    }
    return frozenset(name for name in read & written if isinstance(name, str))


def _is_text(made: ir.Instr | None) -> bool:
    return isinstance(made, ir.Const) and isinstance(made.value, str)
