"""Which registers an instruction or a terminator reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.nodes import Reg

_Access = Callable[[Any], Iterable[Reg | None]]


def _no_registers(_: object) -> tuple[()]:
    return ()


def _items(instr: ir.BuildTuple | ir.BuildList | ir.BuildSet) -> list[Reg]:
    return [item for item, _ in instr.items]


def _arguments(args: list[ir.Argument]) -> list[Reg]:
    return [arg.value for arg in args]


_READS: dict[type, _Access] = {
    ir.StoreName: lambda i: (i.src,),
    ir.GetAttr: lambda i: (i.obj,),
    ir.SetAttr: lambda i: (i.obj, i.src),
    ir.DelAttr: lambda i: (i.obj,),
    ir.GetItem: lambda i: (i.obj, i.index),
    ir.SetItem: lambda i: (i.obj, i.index, i.src),
    ir.DelItem: lambda i: (i.obj, i.index),
    ir.BuildSlice: lambda i: (i.lower, i.upper, i.step),
    ir.Call: lambda i: (i.func, *_arguments(i.args)),
    ir.BinOp: lambda i: (i.left, i.right),
    ir.InplaceOp: lambda i: (i.left, i.right),
    ir.UnaryOp: lambda i: (i.value,),
    ir.Compare: lambda i: (i.left, i.right),
    ir.BuildTuple: _items,
    ir.BuildList: _items,
    ir.BuildSet: _items,
    ir.BuildDict: lambda i: [reg for pair in i.items for reg in pair],
    ir.Append: lambda i: (i.container, i.value),
    ir.InsertItem: lambda i: (i.container, i.key, i.value),
    ir.Format: lambda i: [*(part for part in i.parts if not isinstance(part, str)), *i.specs.values()],
    ir.Copy: lambda i: (i.src,),
    ir.Unpack: lambda i: (i.src,),
    ir.GetIter: lambda i: (i.src,),
    ir.MakeFunction: lambda i: i.defaults.values(),
    ir.MakeClass: lambda i: _arguments(i.bases),
    ir.EnterWith: lambda i: (i.manager,),
    ir.ExitWith: lambda i: (i.manager, i.exc),
    ir.MatchException: lambda i: (i.exc, i.kind),
    ir.Yield: lambda i: (i.value,),
    ir.YieldFrom: lambda i: (i.value,),
    ir.Await: lambda i: (i.value,),
    ir.MatchTest: lambda i: (i.subject, i.cls, *i.key_regs),
    ir.Branch: lambda t: (t.condition,),
    ir.ForIter: lambda t: (t.iterator,),
    ir.Return: lambda t: (t.value,),
    ir.Raise: lambda t: (t.exc,),
    ir.Reraise: lambda t: (t.exc,),
}

_WRITES_NOTHING = (
    ir.StoreName,
    ir.DelName,
    ir.SetAttr,
    ir.DelAttr,
    ir.SetItem,
    ir.DelItem,
    ir.Append,
    ir.InsertItem,
    ir.ImportStar,
)

_WRITES: dict[type, _Access] = {
    ir.Unpack: lambda i: i.dsts,
    ir.MatchTest: lambda i: (i.dst, *i.captures),
    ir.ForIter: lambda t: (t.dst,),
    **dict.fromkeys(_WRITES_NOTHING, _no_registers),
    **dict.fromkeys((ir.Jump, ir.Branch, ir.Return, ir.Raise, ir.Reraise), _no_registers),
}


def _dst(instr: Any) -> tuple[Reg]:
    return (instr.dst,)


def reads(instr: ir.Instr | ir.Terminator) -> Iterable[Reg | None]:
    """The registers it reads; None stands for an operand that is not written."""
    return _READS.get(type(instr), _no_registers)(instr)


def writes(instr: ir.Instr | ir.Terminator) -> Iterable[Reg | None]:
    """The registers it assigns."""
    return _WRITES.get(type(instr), _dst)(instr)
