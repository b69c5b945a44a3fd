"""Going on after an error that ends the program, as if the statement had been mended.

What PyTorch raises and nothing catches ends the run: what is wrong after it shows up when it is mended. A
file in which errors are found is therefore executed again with the places where they are raised. There the
statements have an ordinary result: passes run, and writes give what was to be written to. What else there is,
is unknown: it depends on how the mistake will be mended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import LeafWrite, ViewWrite
from gradcheck_tool.domain.values import Method, Ref, Value, unknown
from gradcheck_tool.ir import nodes as ir

if TYPE_CHECKING:
    from gradcheck_tool.domain.events import Event, Site
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter


def is_mended(m: Interpreter, site: Site) -> bool:
    """Is what is raised at a place taken for mended?"""
    return id(site.node) in m.program.mended


def mend(m: Interpreter, s: State, instr: ir.Instr) -> None:
    """Go on after an instruction that has raised, where that is to be taken for mended."""
    event = m.raised.get(s.exc.id) if isinstance(s.exc, Ref) else None
    if event is None or not is_mended(m, event.site):
        return
    s.exc = None
    dst = getattr(instr, "dst", None)
    if dst is not None:
        m.set(s, dst, _result(m, s, instr, event))


def _result(m: Interpreter, s: State, instr: ir.Instr, event: Event) -> Value:
    """What the instruction gives: of a write, what was to be written to."""
    if isinstance(instr, ir.InplaceOp):
        return m.get(s, instr.left)
    func = m.get(s, instr.func) if isinstance(instr, ir.Call) else None
    is_write = isinstance(event, (LeafWrite, ViewWrite))
    return func.receiver if is_write and isinstance(func, Method) else unknown()
