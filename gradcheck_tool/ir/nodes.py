"""The intermediate representation: a register machine over basic blocks.

A `Function` is one code object: a module body, a `def`, a `lambda`, a class body or a
comprehension. It owns basic blocks; a block is a list of instructions that ends in exactly one
terminator. Instructions read and write *registers* (`Reg`, plain integers, each assigned by one
instruction of the function text) and named variables.

Evaluation order is Python's. What Python duplicates, the IR duplicates: a `finally` body and the
exit of a `with` stand once on every way out (fall through, return, break, continue, exception).

Every instruction carries the node it came from, libcst's or a light one; positions are computed from it
only when a finding needs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar, cast

from gradcheck_tool.ir.instructions import (
    Append,
    ArgKind,
    Argument,
    Await,
    BinOp,
    BuildDict,
    BuildList,
    BuildSet,
    BuildSlice,
    BuildTuple,
    Call,
    Catch,
    Compare,
    Const,
    Copy,
    DelAttr,
    DelItem,
    DelName,
    EnterWith,
    ExitWith,
    Format,
    GetAttr,
    GetItem,
    GetIter,
    Import,
    ImportStar,
    InplaceOp,
    InsertItem,
    Instr,
    LoadName,
    MatchException,
    MatchTest,
    Opaque,
    Reg,
    Scope,
    SetAttr,
    SetItem,
    StoreName,
    UnaryOp,
    Unpack,
    Yield,
    YieldFrom,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import libcst as cst

    from gradcheck_tool.ir.spans import Spans

T = TypeVar("T")

__all__ = [
    "Append",
    "ArgKind",
    "Argument",
    "Await",
    "BinOp",
    "Block",
    "Branch",
    "BuildDict",
    "BuildList",
    "BuildSet",
    "BuildSlice",
    "BuildTuple",
    "Call",
    "Catch",
    "Compare",
    "Const",
    "Copy",
    "DelAttr",
    "DelItem",
    "DelName",
    "EnterWith",
    "ExitWith",
    "ForIter",
    "Format",
    "Function",
    "FunctionKind",
    "GetAttr",
    "GetItem",
    "GetIter",
    "Import",
    "ImportStar",
    "InplaceOp",
    "InsertItem",
    "Instr",
    "Jump",
    "LoadName",
    "Loop",
    "MakeClass",
    "MakeFunction",
    "MatchException",
    "MatchTest",
    "ModuleIR",
    "Opaque",
    "ParamKind",
    "Parameter",
    "Raise",
    "Reg",
    "Reraise",
    "Return",
    "Scope",
    "SetAttr",
    "SetItem",
    "StoreName",
    "Terminator",
    "UnaryOp",
    "Unpack",
    "Yield",
    "YieldFrom",
]


@dataclass(slots=True, eq=False)
class MakeFunction(Instr):
    """Create a function object.

    `defaults` and `kw_defaults` map parameter names to the registers of default values, evaluated
    by the enclosing function. Decorators are ordinary `Call`s that follow.
    """

    dst: Reg
    function: Function
    defaults: dict[str, Reg]


@dataclass(slots=True, eq=False)
class MakeClass(Instr):
    """Create a class: `body` runs as a function of scope CLASS and its variables are attributes."""

    dst: Reg
    name: str
    bases: list[Argument]
    body: Function


@dataclass(slots=True, eq=False)
class Terminator:
    """Base of what ends a block."""

    node: cst.CSTNode


@dataclass(slots=True, eq=False)
class Jump(Terminator):
    """Go to `target`; `back` marks a loop's back edge (`continue` and the end of the body)."""

    target: int
    back: bool = False


@dataclass(slots=True, eq=False)
class Branch(Terminator):
    """Go to `then` where `condition` is true, else to `otherwise`."""

    condition: Reg
    then: int
    otherwise: int


@dataclass(slots=True, eq=False)
class ForIter(Terminator):
    """Head of a `for` loop: `dst` gets the next element and `body` runs, or `exhausted` does."""

    iterator: Reg
    dst: Reg
    body: int
    exhausted: int
    is_async: bool = False


@dataclass(slots=True, eq=False)
class Return(Terminator):
    """Leave the function; `value` is None for a bare return or the end of the body."""

    value: Reg | None


@dataclass(slots=True, eq=False)
class Raise(Terminator):
    """`raise exc`; `exc` is None for a bare raise outside every handler of the function's own text.

    A bare raise inside an `except` (or `finally`) of the same function is a `Reraise`.
    """

    exc: Reg | None


@dataclass(slots=True, eq=False)
class Reraise(Terminator):
    """No handler matched, or a `finally` on the exceptional way ended: the exception propagates."""

    exc: Reg


@dataclass(slots=True, eq=False)
class Block:
    """Straight-line code. `handler` is the block an exception in here goes to, or None (leaves)."""

    id: int
    instrs: list[Instr] = field(default_factory=list)
    terminator: Terminator | None = None
    handler: int | None = None


@dataclass(slots=True, eq=False)
class Loop:
    """A `for` or `while` (or a comprehension's `for`): its head block and all blocks inside it."""

    node: cst.CSTNode
    head: int
    blocks: frozenset[int]


class ParamKind(Enum):
    """How a parameter takes its argument."""

    POSITIONAL_ONLY = "positional-only"
    POSITIONAL = "positional"
    VARARGS = "varargs"
    KEYWORD_ONLY = "keyword-only"
    KWARGS = "kwargs"


@dataclass(slots=True, eq=False)
class Parameter:
    """One parameter; `annotation` is the annotation's libcst node, never evaluated."""

    name: str
    kind: ParamKind
    has_default: bool
    node: cst.CSTNode
    annotation: cst.BaseExpression | None = None

    @property
    def is_positional(self) -> bool:
        """May an argument be given for it by its position?"""
        return self.kind in (ParamKind.POSITIONAL, ParamKind.POSITIONAL_ONLY)


class FunctionKind(Enum):
    """What kind of code object a function is."""

    MODULE = "module"
    FUNCTION = "function"
    LAMBDA = "lambda"
    CLASS = "class"
    COMPREHENSION = "comprehension"


@dataclass(slots=True, eq=False)
class Function:
    """One code object.

    `entry` is the first block. `order` lists reachable blocks in reverse postorder. `live` holds what
    `liveness.live_in` has found, None until it is asked, `known` what else has been worked out about the
    code. A generator expression is a
    FunctionKind.COMPREHENSION with `is_generator`; list, set and dict comprehensions are lowered as
    functions too, called on the spot with the first iterable as their only parameter `.0`.

    `local_names` are the names bound in here (of a module: its globals). `captured` are those of
    them that functions inside, `super()` or `locals()` read; they count as live everywhere. At the
    end of a module or function nothing is live; of a class body every name is: it is an attribute.
    """

    name: str
    qualname: str
    kind: FunctionKind
    node: cst.CSTNode
    params: list[Parameter] = field(default_factory=list)
    blocks: dict[int, Block] = field(default_factory=dict)
    entry: int = 0
    order: list[int] = field(default_factory=list)
    loops: dict[int, Loop] = field(default_factory=dict)
    local_names: frozenset[str] = frozenset()
    captured: frozenset[str] = frozenset()
    is_generator: bool = False
    is_async: bool = False
    inner: list[Function] = field(default_factory=list)
    docstring: str | None = None
    decorators: int = 0
    live: Mapping[int, frozenset[Reg | str]] | None = field(default=None, init=False)
    known: dict[Callable[[Function], Any], Any] = field(default_factory=dict, init=False)

    def worked_out(self, work: Callable[[Function], T]) -> T:
        """What `work` gives for the function, whose code does not change: it is done once."""
        known = self.known
        if work in known:
            return cast("T", known[work])
        known[work] = result = work(self)
        return result

    def with_inner(self) -> Iterator[Function]:
        """The function and all functions inside it."""
        todo = [self]
        while todo:
            function = todo.pop()
            yield function
            todo += reversed(function.inner)

    def instructions(self) -> Iterator[Instr]:
        """All instructions of the function and of those inside it."""
        for function in self.with_inner():
            for block in function.blocks.values():
                yield from block.instrs

    def attributes_read(self, receiver: str = "") -> set[str]:
        """The attributes that it reads, of one variable or of anything; those inside of it do not count."""
        found: set[str] = set()
        for block in self.blocks.values():
            of = {i.dst for i in block.instrs if isinstance(i, LoadName) and i.name == receiver}
            gets = (i for i in block.instrs if isinstance(i, GetAttr))
            found |= {i.name for i in gets if not receiver or i.obj in of}
        return found

    def attributes_written(self, receiver: str) -> set[str]:
        """The attributes that it sets of one variable."""
        found: set[str] = set()
        for block in self.blocks.values():
            of = {i.dst for i in block.instrs if isinstance(i, LoadName) and i.name == receiver}
            found |= {i.name for i in block.instrs if isinstance(i, SetAttr) and i.obj in of}
        return found


@dataclass(slots=True, eq=False)
class ModuleIR:
    """One parsed file: its tree, its body as a Function, and every function in it, outermost first.

    `functions` does not contain `body`; class bodies, lambdas and comprehensions are in it. Where the nodes
    are light, bodies of functions may be lowered on demand: `functions` has those that have been, and the
    nodes of such bodies are not in `tree`. `spans` tells where the nodes stand.
    """

    filename: str
    tree: cst.Module
    body: Function
    functions: list[Function]
    source: str
    spans: Spans
