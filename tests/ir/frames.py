"""Frames of the concrete interpreter: where a run finds its names and keeps its registers."""

from __future__ import annotations

import builtins
import types
from dataclasses import dataclass, field
from typing import Any

from gradcheck_tool.ir import nodes as ir


@dataclass(eq=False)
class Frame:
    function: ir.Function
    variables: Any
    module: dict[str, Any]
    outer: Frame | None
    regs: dict[int, Any] = field(default_factory=dict)
    caught: BaseException | None = None
    class_cell: types.CellType = field(default_factory=types.CellType)

    def owner(self, name: str) -> Frame:
        """The function around this one that a FREE name lives in."""
        frame = self.outer
        while frame is not None:
            kind = frame.function.kind
            if name in frame.function.local_names and kind not in {
                ir.FunctionKind.CLASS,
                ir.FunctionKind.MODULE,
            }:
                return frame
            frame = frame.outer
        raise AssertionError(f"no function around {self.function.qualname} owns {name}")

    def class_around(self) -> Frame:
        frame = self.outer
        while frame is not None:
            if frame.function.kind is ir.FunctionKind.CLASS:
                return frame
            frame = frame.outer
        raise AssertionError("no class around")


def load_name(frame: Frame, i: ir.LoadName) -> None:
    frame.regs[i.dst] = lookup(frame, i)


def lookup(frame: Frame, i: ir.LoadName) -> Any:
    if i.name == "__class__" and i.scope is ir.Scope.FREE:
        return frame.class_around().class_cell.cell_contents
    if i.scope is ir.Scope.LOCAL:
        return variable(frame.variables, i.name, UnboundLocalError)
    if i.scope is ir.Scope.FREE:
        return variable(frame.owner(i.name).variables, i.name, NameError)
    if i.scope is ir.Scope.CLASS and i.name in frame.variables:
        return frame.variables[i.name]
    if i.name in frame.module:
        return frame.module[i.name]
    if not hasattr(builtins, i.name):
        raise NameError(i.name)
    return getattr(builtins, i.name)


def variable(variables: dict[str, Any], name: str, error: type[NameError]) -> Any:
    if name not in variables:
        raise error(name)
    return variables[name]


def variables_of(frame: Frame, i: ir.StoreName | ir.DelName) -> Any:
    if i.scope is ir.Scope.GLOBAL:
        return frame.module
    return frame.owner(i.name).variables if i.scope is ir.Scope.FREE else frame.variables


def store_name(frame: Frame, i: ir.StoreName) -> None:
    variables_of(frame, i)[i.name] = frame.regs[i.src]


def del_name(frame: Frame, i: ir.DelName) -> None:
    variables = variables_of(frame, i)
    variable(variables, i.name, NameError if i.scope is not ir.Scope.LOCAL else UnboundLocalError)
    del variables[i.name]
