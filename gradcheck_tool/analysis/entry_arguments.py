"""What the parameters of a function that nobody calls must be, judged by how it uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import LibraryObject, Ref, Tup, Value, unknown
from gradcheck_tool.engine.tensors import new_tensor
from gradcheck_tool.ir import nodes as ir

if TYPE_CHECKING:
    from gradcheck_tool.domain.graph import Tensor
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter

OPTIMIZER = frozenset({"zero_grad", "step"})
MODULE = frozenset({"parameters", "named_parameters", "state_dict", "train", "eval", "zero_grad"})


def arguments(m: Interpreter, s: State, function: ir.Function, skip: int) -> dict[str, Value]:
    """A value for each parameter (but the first `skip`), by name."""
    used = _methods_used(function)
    out: dict[str, Value] = {}
    for p in function.params[skip:]:
        if p.kind in (ir.ParamKind.VARARGS, ir.ParamKind.KWARGS):
            continue
        out[p.name] = _value(m, s, p, used.get(p.name, frozenset()))
    return out


def _value(m: Interpreter, s: State, p: ir.Parameter, methods: frozenset[str]) -> Value:
    if methods >= OPTIMIZER:
        return _optimizer(m, s, p)
    if methods & MODULE and "()" in methods and "step" not in methods:
        return _module(m, s, p)
    return unknown()


def _group(m: Interpreter, s: State, p: ir.Parameter) -> Ref:
    """A stand-in for all the parameters of something that came from outside."""
    ref = new_tensor(s, m.site(s, p.node), requires_grad=True, leaf=True, name=f"{p.name}'s parameters")
    tensor: Tensor = s[ref]
    tensor.is_summary = True
    tensor.is_param = True
    tensor.grad_state = "unknown"
    return ref


def _optimizer(m: Interpreter, s: State, p: ir.Parameter) -> Value:
    record = Instance(
        LibraryObject("torch.optim.Optimizer"), {"#params": Tup((_group(m, s, p),), open=True)}, open=True
    )
    record.name = p.name
    return s.new(record)


def _module(m: Interpreter, s: State, p: ir.Parameter) -> Value:
    record = Instance(LibraryObject("torch.nn.Module"), {"#group": _group(m, s, p)}, open=True)
    record.name = p.name
    return s.new(record)


def _methods_used(function: ir.Function) -> dict[str, frozenset[str]]:
    """For each local name: the methods called on it; `()` where it is called itself."""
    used: dict[str, set[str]] = {}
    for code in _with_inner(function):
        for block in code.blocks.values():
            loaded: dict[int, str] = {}
            got: dict[int, tuple[str, str]] = {}
            for instr in block.instrs:
                if isinstance(instr, ir.LoadName):
                    loaded[instr.dst] = instr.name
                elif isinstance(instr, ir.GetAttr) and instr.obj in loaded:
                    got[instr.dst] = (loaded[instr.obj], instr.name)
                elif isinstance(instr, ir.Call):
                    if instr.func in loaded:
                        used.setdefault(loaded[instr.func], set()).add("()")
                    elif instr.func in got:
                        name, method = got[instr.func]
                        used.setdefault(name, set()).add(method)
    return {name: frozenset(methods) for name, methods in used.items()}


def _with_inner(function: ir.Function) -> list[ir.Function]:
    return [function, *(f for inner in function.inner for f in _with_inner(inner))]
