"""The instructions of the intermediate representation: what each reads, writes and means.

Instructions read and write *registers* (`Reg`, plain integers, each assigned by one instruction of the
function text) and named variables. Every instruction carries the node it came from, libcst's or a light one;
positions are computed from it only when a finding needs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import libcst as cst


Reg = int


class Scope(Enum):
    """Where a name lives, decided once per function as Python's compiler does."""

    LOCAL = "local"
    FREE = "free"
    GLOBAL = "global"
    CLASS = "class"


class ArgKind(Enum):
    """How a call passes one argument."""

    POSITIONAL = "positional"
    STAR = "star"
    KEYWORD = "keyword"
    DOUBLE_STAR = "double-star"


@dataclass(slots=True, eq=False)
class Instr:
    """Base of all instructions; `node` is the libcst node that a report underlines."""

    node: cst.CSTNode


@dataclass(slots=True, eq=False)
class Const(Instr):
    """A literal: None, bool, int, float, complex, str, bytes or Ellipsis."""

    dst: Reg
    value: Any


@dataclass(slots=True, eq=False)
class LoadName(Instr):
    """Read a variable. A FREE name is looked up in the enclosing functions, innermost first."""

    dst: Reg
    name: str
    scope: Scope


@dataclass(slots=True, eq=False)
class StoreName(Instr):
    """Bind a variable. `augmented` marks the store that ends `name op= value`."""

    name: str
    scope: Scope
    src: Reg
    augmented: bool = False


@dataclass(slots=True, eq=False)
class DelName(Instr):
    """`del name`."""

    name: str
    scope: Scope


@dataclass(slots=True, eq=False)
class GetAttr(Instr):
    """`obj.name`."""

    dst: Reg
    obj: Reg
    name: str


@dataclass(slots=True, eq=False)
class SetAttr(Instr):
    """`obj.name = src`; `augmented` marks the store that ends `obj.name op= value`."""

    obj: Reg
    name: str
    src: Reg
    augmented: bool = False


@dataclass(slots=True, eq=False)
class DelAttr(Instr):
    """`del obj.name`."""

    obj: Reg
    name: str


@dataclass(slots=True, eq=False)
class GetItem(Instr):
    """`obj[index]`."""

    dst: Reg
    obj: Reg
    index: Reg


@dataclass(slots=True, eq=False)
class SetItem(Instr):
    """`obj[index] = src`; `augmented` marks the store that ends `obj[index] op= value`."""

    obj: Reg
    index: Reg
    src: Reg
    augmented: bool = False


@dataclass(slots=True, eq=False)
class DelItem(Instr):
    """`del obj[index]`."""

    obj: Reg
    index: Reg


@dataclass(slots=True, eq=False)
class BuildSlice(Instr):
    """`lower:upper:step`; a part that is not written is None."""

    dst: Reg
    lower: Reg | None
    upper: Reg | None
    step: Reg | None


@dataclass(slots=True, eq=False)
class Argument:
    """One argument of a call; `name` is set for keywords only."""

    value: Reg
    kind: ArgKind = ArgKind.POSITIONAL
    name: str | None = None
    node: cst.CSTNode | None = None


@dataclass(slots=True, eq=False)
class Call(Instr):
    """`func(args)`; positional and starred arguments come first, as Python evaluates them first."""

    dst: Reg
    func: Reg
    args: list[Argument]


@dataclass(slots=True, eq=False)
class BinOp(Instr):
    """`left op right`; `op` is the source spelling: `+ - * / // % @ ** << >> & | ^`."""

    dst: Reg
    op: str
    left: Reg
    right: Reg


@dataclass(slots=True, eq=False)
class InplaceOp(Instr):
    """The operation of `left op= right`; a store of `dst` into the target follows."""

    dst: Reg
    op: str
    left: Reg
    right: Reg


@dataclass(slots=True, eq=False)
class UnaryOp(Instr):
    """`op value`; `op` is one of `- + ~ not`."""

    dst: Reg
    op: str
    value: Reg


@dataclass(slots=True, eq=False)
class Compare(Instr):
    """One comparison: `< <= > >= == != is is-not in not-in`. Chains become branches."""

    dst: Reg
    op: str
    left: Reg
    right: Reg


@dataclass(slots=True, eq=False)
class BuildTuple(Instr):
    """`items` are (register, is_starred)."""

    dst: Reg
    items: list[tuple[Reg, bool]]


@dataclass(slots=True, eq=False)
class BuildList(Instr):
    """A list display; `items` are (register, is_starred)."""

    dst: Reg
    items: list[tuple[Reg, bool]]


@dataclass(slots=True, eq=False)
class BuildSet(Instr):
    """A set display; `items` are (register, is_starred)."""

    dst: Reg
    items: list[tuple[Reg, bool]]


@dataclass(slots=True, eq=False)
class BuildDict(Instr):
    """`items` are (key, value); a key of None means `**value`."""

    dst: Reg
    items: list[tuple[Reg | None, Reg]]


@dataclass(slots=True, eq=False)
class Append(Instr):
    """What a comprehension does with each element: append to a list or add to a set."""

    container: Reg
    value: Reg


@dataclass(slots=True, eq=False)
class InsertItem(Instr):
    """What a dict comprehension does with each pair."""

    container: Reg
    key: Reg
    value: Reg


@dataclass(slots=True, eq=False)
class Format(Instr):
    """An f-string (or template string); `parts` are literal text and the registers formatted.

    `conversions` (`r`, `s`, `a`) and `specs` (the register of the format specification) are keyed by
    the index in `parts` of the register they apply to.
    """

    dst: Reg
    parts: list[str | Reg]
    conversions: dict[int, str] = field(default_factory=dict)
    specs: dict[int, Reg] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Copy(Instr):
    """`dst = src`: joins the arms of conditional expressions and `and`/`or`.

    The one register assigned in more than one place is the `dst` of such copies.
    """

    dst: Reg
    src: Reg


@dataclass(slots=True, eq=False)
class Unpack(Instr):
    """`dsts[0], *dsts[star], ... = src`; `star` is the index of the starred target or None."""

    src: Reg
    dsts: list[Reg]
    star: int | None


@dataclass(slots=True, eq=False)
class GetIter(Instr):
    """`iter(src)`, or `aiter(src)`."""

    dst: Reg
    src: Reg
    is_async: bool = False


@dataclass(slots=True, eq=False)
class Import(Instr):
    """`import a.b.c` binds `a` (dst is module `a`), `import a.b.c as x` binds module `a.b.c`.

    `module` is the dotted name that is imported, `level` the number of leading dots (from-imports),
    `attribute` the name taken from it (`from m import attribute`) or None, `top` True when dst is
    the first component only.
    """

    dst: Reg
    module: str
    level: int = 0
    attribute: str | None = None
    top: bool = False


@dataclass(slots=True, eq=False)
class ImportStar(Instr):
    """`from module import *`."""

    module: str
    level: int = 0


@dataclass(slots=True, eq=False)
class EnterWith(Instr):
    """Call `__enter__` (or `__aenter__`) of `manager`; `dst` gets what `as` would bind."""

    dst: Reg
    manager: Reg
    is_async: bool = False


@dataclass(slots=True, eq=False)
class ExitWith(Instr):
    """Call `__exit__` of `manager`; `exc` is the exception's register on the exceptional way out.

    On that way `dst` gets the manager's answer whether it swallows the exception, and a Branch on
    it follows. On the other ways `exc` is None.
    """

    dst: Reg
    manager: Reg
    exc: Reg | None = None
    is_async: bool = False


@dataclass(slots=True, eq=False)
class Catch(Instr):
    """First instruction of a handler block: `dst` is the exception that was raised."""

    dst: Reg


@dataclass(slots=True, eq=False)
class MatchException(Instr):
    """`dst` = does the exception in `exc` match the class or tuple of classes in `kind`?"""

    dst: Reg
    exc: Reg
    kind: Reg


@dataclass(slots=True, eq=False)
class Yield(Instr):
    """`value` is None for a bare `yield`; `dst` is what `send` passed in."""

    dst: Reg
    value: Reg | None


@dataclass(slots=True, eq=False)
class YieldFrom(Instr):
    """`yield from value`; `dst` is what the inner generator returned."""

    dst: Reg
    value: Reg


@dataclass(slots=True, eq=False)
class Await(Instr):
    """`await value`."""

    dst: Reg
    value: Reg


@dataclass(slots=True, eq=False)
class MatchTest(Instr):
    """A class, sequence or mapping pattern: does `subject` match, and what do its parts bind?

    `kind` is `class`, `sequence` or `mapping`; `cls` is the class for class patterns; `captures`
    are the registers of the sub-subjects in order, `keys` the keyword names or mapping keys (None
    for positions, and for mapping keys that are no literals), `star` the index of a starred capture
    (for mappings: of `**rest`). `key_regs` holds the registers of all mapping keys, in order.
    """

    dst: Reg
    subject: Reg
    kind: str
    cls: Reg | None
    captures: list[Reg]
    keys: list[Any]
    star: int | None = None
    key_regs: list[Reg] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Opaque(Instr):
    """Something the IR does not model: `dst` is unknown, and nothing else happens."""

    dst: Reg
