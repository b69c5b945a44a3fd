"""A readable text of a function's blocks, for tests and for looking at what was lowered."""

from __future__ import annotations

from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING, Any

from gradcheck_tool.ir import nodes as ir

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK_FIELDS = {"target", "then", "otherwise", "body", "exhausted"}


def dump(function: ir.Function) -> str:
    """The blocks of `function` in order, one instruction a line."""
    return "\n".join(_lines(function)) + "\n"


def dump_module(module: ir.ModuleIR) -> str:
    """All functions of a module, outermost first."""
    return "\n".join(dump(function) for function in (module.body, *module.functions))


def _lines(function: ir.Function) -> Iterator[str]:
    names = ", ".join(parameter.name for parameter in function.params)
    yield f"{function.kind.value} {function.qualname}({names})"
    for id_ in function.order:
        block = function.blocks[id_]
        yield f"  b{id_}:{_remarks(function, block)}"
        for instr in block.instrs:
            yield f"    {_instruction(instr)}"
        if block.terminator is not None:
            yield f"    {_instruction(block.terminator)}"


def _remarks(function: ir.Function, block: ir.Block) -> str:
    remarks = []
    if block.handler is not None:
        remarks.append(f"on error b{block.handler}")
    if block.id in function.loops:
        inside = sorted(function.loops[block.id].blocks)
        remarks.append("loop " + " ".join(f"b{id_}" for id_ in inside))
    return f"  # {', '.join(remarks)}" if remarks else ""


def _instruction(instr: ir.Instr | ir.Terminator) -> str:
    parts = [type(instr).__name__]
    for entry in fields(instr):
        value = getattr(instr, entry.name)
        if entry.name in {"node", "dst"} or (_is_unset(value) and entry.name != "value"):
            continue
        if isinstance(instr, ir.Terminator) and entry.name in _BLOCK_FIELDS:
            parts.append(f"{entry.name}=b{value}")
        else:
            parts.append(f"{entry.name}={_value(value, is_register='Reg' in str(entry.type))}")
    dst = getattr(instr, "dst", None)
    text = " ".join(parts)
    return text if dst is None else f"r{dst} = {text}"


def _is_unset(value: Any) -> bool:
    return value is None or value is False or value in ([], {})


def _value(value: Any, *, is_register: bool) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, ir.Function):
        return value.qualname
    if isinstance(value, ir.Argument):
        return f"{value.kind.value} {value.name + '=' if value.name else ''}r{value.value}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item, is_register=is_register) for item in value) + "]"
    if isinstance(value, dict):
        items = (f"{key!r}: {_value(item, is_register=is_register)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    return f"r{value}" if is_register and type(value) is int else repr(value)
