"""Names of libraries in functions that were not executed to their end: which they are needs no execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import NameUse, Site
from gradcheck_tool.domain.values import LibraryObject
from gradcheck_tool.interp.imports import kept_promise
from gradcheck_tool.interp.names import canonical
from gradcheck_tool.ir import nodes as ir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter


def tell_names(m: Interpreter, s: State, module: ir.ModuleIR, qualnames: frozenset[str]) -> None:
    """Tell the calls in some functions of what the module's body has bound to names of libraries."""
    bound = s[s.frames[0]].locals
    for function in _named(module.body, qualnames):
        known: dict[ir.Reg, LibraryObject] = {}
        for instr in (instr for block in function.blocks.values() for instr in block.instrs):
            if isinstance(instr, ir.LoadName) and instr.scope is ir.Scope.GLOBAL and instr.name in bound:
                value = kept_promise(m, s, bound[instr.name])
                if isinstance(value, LibraryObject):
                    known[instr.dst] = value
            elif isinstance(instr, ir.GetAttr) and instr.obj in known:
                known[instr.dst] = LibraryObject(canonical(f"{known[instr.obj].name}.{instr.name}"))
            elif isinstance(instr, ir.Call) and instr.func in known:
                _tell(m, Site(module, instr.node), known[instr.func].name, instr)


def _named(around: ir.Function, qualnames: frozenset[str]) -> Iterator[ir.Function]:
    """The functions of these names in a module or class."""
    for function in around.inner:
        if function.qualname in qualnames:
            yield function
        elif function.kind is ir.FunctionKind.CLASS:
            yield from _named(function, qualnames)


def _tell(m: Interpreter, site: Site, name: str, call: ir.Call) -> None:
    key = (id(call), name)
    sure = all(argument.kind is not ir.ArgKind.DOUBLE_STAR for argument in call.args)
    if sure and key not in m.noted:
        m.noted.add(key)
        keywords = tuple(argument.name for argument in call.args if argument.name is not None)
        m.emit(NameUse(site=site, name=name, called=True, keywords=keywords))
