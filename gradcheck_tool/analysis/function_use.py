"""Ordinary use of a custom `autograd.Function` that nothing in sight applies.

It is applied to tensors that require a gradient, and its result is differentiated once. Which arguments are
tensors is read off its text: what it saves for backward, what it calls tensor methods on, the types it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.analysis.ordinary_use import derives_from, tensors_in
from gradcheck_tool.domain.records import Func
from gradcheck_tool.domain.values import NONE, Const, Method, Ref, Value, unknown
from gradcheck_tool.engine import backward as engine
from gradcheck_tool.engine.tensors import new_tensor
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.exceptions import guard
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.autograd import run_pass
from gradcheck_tool.library.torch.function_application import backward_of
from gradcheck_tool.library.torch.function_backward import run_functions

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes

FUNCTION = "torch.autograd.Function"
# Attributes that only tensors have, as far as arguments of Functions are concerned.
TENSOR_ATTRIBUTES = frozenset({"shape", "device", "dtype", "is_cuda", "requires_grad", "ndim", "T"})


def is_function_class(s: State, cls: Value) -> bool:
    """Does a class of the repository derive from `torch.autograd.Function`?"""
    return derives_from(s, cls, FUNCTION)


def forward_of(s: State, cls: Value) -> Func | None:
    """The static `forward` of a Function class; None where it has none of its own."""
    return s.get(attributes.function_of(s, attributes.in_class(s, cls, "forward") or NONE), Func)


def apply(m: Interpreter, s: State, cls: Ref, name: str) -> Outcomes:
    """Apply a Function to tensors and differentiate what it returns; all states that come back."""
    forward = forward_of(s, cls)
    if forward is None:
        return []
    setup = attributes.in_class(s, cls, "setup_context") is not None
    args = arguments(m, s, forward, 0 if setup else 1)
    if args is None:
        return []
    site = m.site(s, s[cls].node)
    out: Outcomes = []
    for state, value in m.call(s, Method(cls, "apply"), args, {}, site, f"{name}.apply(...)"):
        out += guard(m, state, _differentiated, m, state, value, site, name)
    return out


def _differentiated(m: Interpreter, s: State, value: Value, site: object, name: str) -> Outcomes:
    roots = [ref for ref in tensors_in(s, value) if s[ref].requires_grad and s[ref].leaf is False]
    if s.exc is not None or not roots:
        return [(s, value)]
    cotangents: list[Value] = [new_tensor(s, site, shape=s[root].shape) for root in roots]
    text = f"{name}.apply(...)"
    p = engine.BackwardPass(roots, [True] * len(roots), False, False, site, text, cotangents=cotangents)
    run_pass(m, s, p)
    return [(state, value) for state in run_functions(m, s, p)]


def arguments(m: Interpreter, s: State, forward: Func, skip: int) -> list[Value] | None:
    """An argument for each parameter of `forward`; None where it takes any number of them."""
    tensors = _tensor_parameters(forward.function)
    frozen = _given_none(s, forward.cls)
    out: list[Value] = []
    for p in forward.function.params[skip:]:
        if p.kind is ir.ParamKind.VARARGS:
            return None
        if p.kind not in (ir.ParamKind.POSITIONAL, ir.ParamKind.POSITIONAL_ONLY):
            continue
        default = forward.defaults.get(p.name)
        if p.name in tensors and not (isinstance(default, Const) and default.value is not None):
            trained = len(out) not in frozen
            ref = new_tensor(s, m.site(s, p.node), requires_grad=trained, leaf=False, name=p.name)
            out.append(ref)
        else:
            out.append(default if default is not None else unknown())
    return out


def _given_none(s: State, cls: Value) -> frozenset[int]:
    """Inputs for which every return of `backward` has None: in ordinary use they require no gradient."""
    backward = s.get(backward_of(s, cls), Func)
    if backward is None:
        return frozenset()
    returned = [
        _none_items(block)
        for block in backward.function.blocks.values()
        if type(block.terminator) is ir.Return
    ]
    return frozenset.intersection(*returned) if returned else frozenset()


def _none_items(block: ir.Block) -> frozenset[int]:
    """The places of a returned tuple that have the constant None."""
    end = block.terminator
    assert isinstance(end, ir.Return)
    constants = {i.dst for i in block.instrs if isinstance(i, ir.Const) and i.value is None}
    made = [i for i in block.instrs if isinstance(i, ir.BuildTuple) and i.dst == end.value]
    items = made[0].items if made else []
    return frozenset(index for index, (reg, _) in enumerate(items) if reg in constants)


def _tensor_parameters(function: ir.Function) -> frozenset[str]:
    """Parameters that `forward` saves for backward or asks for what only tensors have."""
    found: set[str] = set()
    names = {p.name for p in function.params}
    for block in function.blocks.values():
        loaded: dict[int, str] = {}
        methods: dict[int, tuple[str | None, str]] = {}
        for instr in block.instrs:
            if isinstance(instr, ir.LoadName):
                loaded[instr.dst] = instr.name
            elif isinstance(instr, ir.GetAttr):
                owner = loaded.get(instr.obj)
                methods[instr.dst] = (owner, instr.name)
                if owner in names and instr.name in TENSOR_ATTRIBUTES:
                    found.add(str(owner))
            elif isinstance(instr, ir.Call):
                owner, method = methods.get(instr.func, (None, ""))
                if method == "save_for_backward":
                    found |= {loaded[a.value] for a in instr.args if a.value in loaded}
    return frozenset(found & names)
