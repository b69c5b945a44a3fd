"""Building one `Function`: registers, blocks, and what has to run on the way out of a statement.

Blocks are placed in an order in which every edge but a loop's back edge leads forward, and a loop's
blocks stand together before the block after the loop. That order is `Function.order`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from gradcheck_tool.ir import syntax
from gradcheck_tool.ir.nodes import (
    Block,
    Branch,
    Catch,
    Const,
    DelName,
    ForIter,
    Function,
    FunctionKind,
    Instr,
    Jump,
    LoadName,
    Loop,
    Opaque,
    Reg,
    Return,
    Scope,
    StoreName,
    Terminator,
)
from gradcheck_tool.ir.scopes import ScopeTable, mangle

if TYPE_CHECKING:
    from gradcheck_tool.ir.deferred import Bodies

ExpressionLowering = Callable[["FunctionBuilder", Any], Reg]
StatementLowering = Callable[["FunctionBuilder", Any], None]

# How to lower each kind of node, by its name; the modules of this package fill them in when imported.
EXPRESSIONS: dict[str, ExpressionLowering] = {}
STATEMENTS: dict[str, StatementLowering] = {}

_Expression = TypeVar("_Expression", bound=ExpressionLowering)
_Statement = TypeVar("_Statement", bound=StatementLowering)


def lowers(*kinds: type[syntax.CSTNode]) -> Callable[[_Expression], _Expression]:
    """Register a function that lowers expressions of these kinds and returns the value's register."""

    def register(lowering: _Expression) -> _Expression:
        EXPRESSIONS.update((kind.__name__, lowering) for kind in kinds)
        return lowering

    return register


def executes(*kinds: type[syntax.CSTNode]) -> Callable[[_Statement], _Statement]:
    """Register a function that lowers statements of these kinds."""

    def register(lowering: _Statement) -> _Statement:
        STATEMENTS.update((kind.__name__, lowering) for kind in kinds)
        return lowering

    return register


@dataclass(slots=True, eq=False)
class Frame:
    """A statement whose body is being lowered. `handler` and `caught` are those around it."""

    handler: int | None
    caught: Reg | None

    def leave(self, b: FunctionBuilder, node: syntax.CSTNode) -> None:
        """Emit what runs on the way out, in the surroundings of the statement."""


class FunctionBuilder:
    """Lowers the body of one function.

    `handler` is the block that exceptions go to
    from here, `frames` what has to be left on the way out, `caught` the exception being handled.
    `bodies` are those that the parsed text leaves out (None where it is whole).
    """

    __slots__ = (
        "accesses",
        "block",
        "bodies",
        "caught",
        "class_name",
        "frames",
        "function",
        "handler",
        "lowered",
        "next_block",
        "next_reg",
        "parent",
        "placed",
        "reachable",
        "scope",
        "targets",
        "type_params",
    )

    def __init__(self, function: Function, parent: FunctionBuilder | None) -> None:
        self.function = function
        self.parent = parent
        self.scope = ScopeTable(function)
        self.accesses = self.scope.accesses
        self.class_name: str | None = parent.class_name if parent else None
        self.type_params: frozenset[str] = parent.type_params if parent else frozenset()
        self.lowered: dict[int, Function] = parent.lowered if parent else {}
        self.bodies: Bodies | None = parent.bodies if parent else None
        self.next_reg = 0
        self.next_block = 0
        self.placed: list[Block] = []
        self.targets: set[int] = set()
        self.frames: list[Frame] = []
        self.handler: int | None = None
        self.caught: Reg | None = None
        self.reachable = True
        self.block = self.new_block()
        self.targets.add(self.block.id)
        self.place(self.block)
        if parent:
            parent.scope.children.append(self.scope)

    # Expressions and statements

    def expr(self, node: syntax.CSTNode) -> Reg:
        """Lower an expression; the register holds its value."""
        return EXPRESSIONS[type(node).__name__](self, node)

    def suite(self, body: syntax.BaseSuite) -> None:
        """Lower the statements of an indented block or of the rest of a line."""
        self.statements(body.body)

    def statements(self, body: Iterable[syntax.CSTNode]) -> None:
        """Lower statements in order."""
        for node in body:
            if isinstance(node, syntax.SimpleStatementLine):
                for small in node.body:
                    STATEMENTS[type(small).__name__](self, small)
            else:
                STATEMENTS[type(node).__name__](self, node)

    # Registers and names

    def reg(self) -> Reg:
        """A register that was not used before."""
        dst = self.next_reg
        self.next_reg = dst + 1
        return dst

    def emit(self, instr: Instr) -> None:
        """Append an instruction to the current block."""
        self.block.instrs.append(instr)

    def const(self, node: syntax.CSTNode, value: Any) -> Reg:
        """Load a constant."""
        dst = self.reg()
        self.emit(Const(node, dst, value))
        return dst

    def opaque(self, node: syntax.CSTNode) -> Reg:
        """A value that nothing is known about."""
        dst = self.reg()
        self.emit(Opaque(node, dst))
        return dst

    def load(self, node: syntax.CSTNode, name: str) -> Reg:
        """Read a variable."""
        if name in self.type_params:
            return self.opaque(node)
        dst = self.reg()
        instr = LoadName(node, dst, self.mangled(name), Scope.GLOBAL)
        self.emit(instr)
        self.accesses.append(instr)
        return dst

    def store(self, node: syntax.CSTNode, name: str, src: Reg, *, augmented: bool = False) -> None:
        """Bind a variable."""
        name = self.mangled(name)
        self.scope.bound.add(name)
        instr = StoreName(node, name, Scope.GLOBAL, src, augmented)
        self.emit(instr)
        self.accesses.append(instr)

    def store_outside_comprehension(self, node: syntax.CSTNode, name: str, src: Reg) -> None:
        """Bind a variable of the function that the comprehensions around here belong to."""
        owner = self
        while owner.function.kind is FunctionKind.COMPREHENSION and owner.parent is not None:
            owner = owner.parent
        name = self.mangled(name)
        owner.scope.bound.add(name)
        instr = StoreName(node, name, Scope.GLOBAL, src)
        self.emit(instr)
        self.accesses.append(instr)

    def delete(self, node: syntax.CSTNode, name: str) -> None:
        """Unbind a variable."""
        name = self.mangled(name)
        self.scope.bound.add(name)
        instr = DelName(node, name, Scope.GLOBAL)
        self.emit(instr)
        self.accesses.append(instr)

    def mangled(self, name: str) -> str:
        """`name`, or what it stands for where it is private to the class around."""
        if self.class_name is None or name[:2] != "__":
            return name
        return mangle(name, self.class_name)

    # Blocks

    def new_block(self) -> Block:
        """A block that is not placed yet: the target of a jump."""
        block = Block(self.next_block)
        self.next_block += 1
        return block

    def place(self, block: Block) -> None:
        """Go on in `block`. A block that nothing placed before leads to is dropped."""
        block.handler = self.handler
        self.block = block
        self.reachable = block.id in self.targets
        if self.reachable:
            self.placed.append(block)
            if self.handler is not None:
                self.targets.add(self.handler)

    def end(self, terminator: Terminator, *targets: int) -> None:
        """End the current block; what follows is unreachable until another block is placed."""
        self.block.terminator = terminator
        if self.reachable:
            self.targets.update(targets)
        self.place(self.new_block())

    def jump(self, node: syntax.CSTNode, target: Block, *, back: bool = False) -> None:
        """End the current block by going to `target`."""
        self.end(Jump(node, target.id, back), target.id)

    def branch(self, node: syntax.CSTNode, condition: Reg, then: Block, otherwise: Block) -> None:
        """End the current block by going to one of two."""
        self.end(Branch(node, condition, then.id, otherwise.id), then.id, otherwise.id)

    def continue_in(self, node: syntax.CSTNode, block: Block) -> None:
        """Fall through into `block`."""
        self.jump(node, block)
        self.place(block)

    def protect(self, node: syntax.CSTNode, handler: int | None) -> None:
        """From here on exceptions go to `handler`."""
        self.handler = handler
        if self.block.handler != handler:
            self.continue_in(node, self.new_block())

    def catch(self, node: syntax.CSTNode, block: Block) -> Reg:
        """Place a handler block; the register is the exception."""
        self.place(block)
        dst = self.reg()
        self.emit(Catch(node, dst))
        return dst

    # Loops

    def for_each(
        self, node: syntax.CSTNode, head: Block, iterator: Reg, exhausted: Block, *, is_async: bool
    ) -> Reg:
        """Fall into the head of a `for` loop and place its body; the register is the element."""
        body = self.new_block()
        self.continue_in(node, head)
        dst = self.reg()
        self.end(ForIter(node, iterator, dst, body.id, exhausted.id, is_async), body.id, exhausted.id)
        self.place(body)
        return dst

    def mark_loop(self, node: syntax.CSTNode, head: Block, start: int) -> None:
        """Note that everything from `placed[start]`, which is `head`, to here is one loop."""
        if head.id in self.targets:
            inside = frozenset(block.id for block in self.placed[start:])
            self.function.loops[head.id] = Loop(node, head.id, inside)

    # Leaving statements

    def leave(self, node: syntax.CSTNode, depth: int, terminator: Terminator, *targets: int) -> None:
        """Run what has to run on the way out of the frames above `depth`, then end the block."""
        frames, handler, caught = self.frames, self.handler, self.caught
        for index in range(len(frames) - 1, depth - 1, -1):
            self.frames = frames[:index]
            frames[index].leave(self, node)
        self.frames, self.handler, self.caught = frames, handler, caught
        self.end(terminator, *targets)

    def finish(self) -> Function:
        """End the function and fill in what is known now that all blocks are placed."""
        function = self.function
        self.end(Return(function.node, None))
        function.blocks = {block.id: block for block in self.placed}
        function.order = list(function.blocks)
        function.entry = function.order[0]
        return function
