"""Lines and expressions of a random program, and the names that it may use where it is."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.differential import expressions
from tests.differential import vocabulary as words
from tests.differential.vocabulary import MATRIX, SCALAR, Shape

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator


@dataclass
class Scope:
    """Names a statement can use: shapes of tensors, and which of them are leaves that require grad."""

    shapes: dict[str, Shape] = field(default_factory=dict)
    leaves: set[str] = field(default_factory=set)
    optimizers: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)

    def copy(self) -> Scope:
        return Scope(dict(self.shapes), set(self.leaves), list(self.optimizers), list(self.modules))

    def of(self, shape: Shape) -> list[str]:
        return [name for name, known in self.shapes.items() if known == shape]


@dataclass(frozen=True)
class Helper:
    """A function of the program: how it is called, what it takes and gives, and further arguments."""

    call: str
    takes: tuple[Shape, ...]
    gives: Shape
    more: str = ""


class Writer:
    """Writes lines and expressions. `flagged` is true once the program asks for the flag of the environment."""

    def __init__(self, choices: random.Random) -> None:
        self.random = choices
        self.lines: list[str] = []
        self.indent = 0
        self.count = 0
        self.scope = Scope()
        self.helpers: list[Helper] = []
        self.wrappers: list[str] = []
        self.flagged = False
        self.in_function = False

    # -- text -------------------------------------------------------------------------------------

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def fresh(self, stem: str = "t") -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    @contextmanager
    def block(self, head: str, *, keep: bool = False) -> Iterator[None]:
        """An indented block; names that it makes are forgotten after it unless `keep`."""
        self.emit(head)
        outer = self.scope.copy()
        self.indent += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.emit("pass")
        self.indent -= 1
        if not keep:
            outer.leaves &= self.scope.leaves
            self.scope = outer

    # -- expressions ------------------------------------------------------------------------------

    def name(self, shape: Shape) -> str:
        """A tensor that the program has, preferably; a constant otherwise."""
        names = self.scope.of(shape)
        if names and not self.chance(0.05):
            recent = names[-3:] if self.chance(0.5) else names
            return self.random.choice(recent)
        return self.random.choice(words.CONSTANTS[shape])

    def expression(self, shape: Shape, depth: int = 2) -> str:
        if depth <= 0 or self.chance(0.15):
            return self.name(shape)
        roll = self.random.random()
        if roll < 0.35:
            return self.unary(shape, depth)
        if roll < 0.6:
            template = self.random.choice(expressions.BINARY)
            parts = {k: self.operand(shape, depth) for k in "ab"}
            return template.format(s=self.operand(SCALAR, 0), **parts)
        if roll < 0.72 and (called := self.called(shape)):
            return called
        template, takes = self.random.choice(expressions.MAKERS[shape])
        return template.format(*(self.operand(s, depth) for s in takes))

    def unary(self, shape: Shape, depth: int) -> str:
        inner = self.operand(shape, depth)
        if self.wrappers and self.chance(0.15):
            return f"{self.random.choice(self.wrappers)}.apply({inner})"
        return self.random.choice(expressions.UNARY).format(a=inner)

    def operand(self, shape: Shape, depth: int) -> str:
        """An expression that can stand inside another."""
        text = self.expression(shape, depth - 1)
        simple = text.replace("_", "").replace(".", "").isalnum()
        return text if simple else f"({text})"

    def called(self, shape: Shape) -> str | None:
        """A call of a helper or module that gives this shape."""
        fitting = [h for h in self.helpers if h.gives == shape]
        if not self.in_function:
            fitting += [Helper(name, (MATRIX,), MATRIX) for name in self.scope.modules if shape == MATRIX]
        if not fitting:
            return None
        helper = self.random.choice(fitting)
        return f"{helper.call}({', '.join(self.expression(s, 0) for s in helper.takes)}{helper.more})"
