"""The nodes that are lowered and analysed: libcst's, and light ones of the same kinds.

To type checkers the names in here are libcst's own classes. At run time they are classes of nodes that are
made from Python's own tree (see `conversion`) in a fraction of the time that a libcst tree takes, and without
importing libcst, which takes longer than checking a script does. They have the fields that lowering reads: no
blanks and no comments; `light_spans` tells where they stand. A node of libcst counts as an instance of the
class of its name here, so that one lowering does for both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libcst import *  # noqa: F403
else:

    class _Kind(type):
        def __instancecheck__(cls, node: object) -> bool:
            return node.__class__.__name__ == cls.__name__

    class _Node(metaclass=_Kind):
        """A light node. `origin` is the node of Python's own tree, where there is one that it stands for."""

        __slots__ = ("origin",)

        @property
        def children(self) -> list[_Node]:
            """The nodes right below."""
            values = [getattr(self, field) for field in self.__slots__]
            listed = (value if isinstance(value, list | tuple) else (value,) for value in values)
            return [one for several in listed for one in several if type(one).__class__ is _Kind]

    class Module(_Node):
        """A light tree of a whole file."""

        __slots__ = ("body",)

        def __init__(self, body: list[_Node]) -> None:
            self.body = body

    def _kind(name: str, *fields: str, **shared: object) -> type[_Node]:
        """A class of nodes: its constructor takes the fields in order, and all nodes share other values."""
        # Written out, as `dataclasses` does it, a constructor takes less than half the time of a loop.
        made: dict[str, object] = {"__slots__": fields, **shared}
        if fields:
            body = "; ".join(f"self.{field} = {field}" for field in fields)
            exec(f"def __init__(self, {', '.join(fields)}): {body}", {}, made)  # noqa: S102 - names of fields only
        return _Kind(name, (_Node,), made)

    # Names and literals
    Name = _kind("Name", "value")
    Attribute = _kind("Attribute", "value", "attr")
    Integer = _kind("Integer", "value")
    Float = _kind("Float", "value")
    Imaginary = _kind("Imaginary", "value")
    SimpleString = _kind("SimpleString", "value")
    FormattedString = _kind("FormattedString", "parts", start='rf"""', end='"""')
    FormattedStringText = _kind("FormattedStringText", "value")
    FormattedStringExpression = _kind(
        "FormattedStringExpression", "expression", "conversion", "format_spec", equal=None
    )

    # Operations
    BinaryOperation = _kind("BinaryOperation", "left", "operator", "right")
    UnaryOperation = _kind("UnaryOperation", "operator", "expression")
    BooleanOperation = _kind("BooleanOperation", "left", "operator", "right")
    Comparison = _kind("Comparison", "left", "comparisons")
    ComparisonTarget = _kind("ComparisonTarget", "operator", "comparator")
    IfExp = _kind("IfExp", "test", "body", "orelse")
    NamedExpr = _kind("NamedExpr", "target", "value")
    Await = _kind("Await", "expression")
    Yield = _kind("Yield", "value")
    From = _kind("From", "item")

    # Calls and parameters
    Call = _kind("Call", "func", "args")
    Arg = _kind("Arg", "value", "keyword", "star")
    Lambda = _kind("Lambda", "params", "body")
    Parameters = _kind("Parameters", "posonly_params", "params", "star_arg", "kwonly_params", "star_kwarg")
    Param = _kind("Param", "name", "annotation", "default", "star")
    Annotation = _kind("Annotation", "annotation")

    # Containers and subscripts
    Element = _kind("Element", "value")
    StarredElement = _kind("StarredElement", "value")
    Tuple = _kind("Tuple", "elements")
    List = _kind("List", "elements")
    Set = _kind("Set", "elements")
    Dict = _kind("Dict", "elements")
    DictElement = _kind("DictElement", "key", "value")
    StarredDictElement = _kind("StarredDictElement", "value")
    Subscript = _kind("Subscript", "value", "slice")
    SubscriptElement = _kind("SubscriptElement", "slice", "comma")
    Index = _kind("Index", "value", "star")
    Slice = _kind("Slice", "lower", "upper", "step")

    # Comprehensions
    ListComp = _kind("ListComp", "elt", "for_in")
    SetComp = _kind("SetComp", "elt", "for_in")
    GeneratorExp = _kind("GeneratorExp", "elt", "for_in")
    DictComp = _kind("DictComp", "key", "value", "for_in")
    CompFor = _kind("CompFor", "target", "iter", "ifs", "inner_for_in", "asynchronous")
    CompIf = _kind("CompIf", "test")

    # Definitions
    FunctionDef = _kind(
        "FunctionDef", "name", "params", "body", "decorators", "asynchronous", "type_parameters"
    )
    ClassDef = _kind("ClassDef", "name", "bases", "keywords", "body", "decorators", "type_parameters")
    Decorator = _kind("Decorator", "decorator")
    TypeParameters = _kind("TypeParameters", "params")
    TypeParam = _kind("TypeParam", "param")
    TypeVar = _kind("TypeVar", "name")
    TypeAlias = _kind("TypeAlias", "name", "value")

    # Simple statements
    SimpleStatementLine = _kind("SimpleStatementLine", "body")
    Expr = _kind("Expr", "value")
    Assign = _kind("Assign", "targets", "value")
    AssignTarget = _kind("AssignTarget", "target")
    AugAssign = _kind("AugAssign", "target", "operator", "value")
    AnnAssign = _kind("AnnAssign", "target", "annotation", "value")
    Del = _kind("Del", "target")
    Return = _kind("Return", "value")
    Raise = _kind("Raise", "exc", "cause")
    Assert = _kind("Assert", "test", "msg")
    Import = _kind("Import", "names")
    ImportFrom = _kind("ImportFrom", "module", "names", "relative")
    ImportAlias = _kind("ImportAlias", "name", "asname")
    AsName = _kind("AsName", "name")
    Global = _kind("Global", "names")
    Nonlocal = _kind("Nonlocal", "names")
    NameItem = _kind("NameItem", "name")

    # Compound statements
    IndentedBlock = _kind("IndentedBlock", "body")
    If = _kind("If", "test", "body", "orelse")
    Else = _kind("Else", "body")
    While = _kind("While", "test", "body", "orelse")
    For = _kind("For", "target", "iter", "body", "orelse", "asynchronous")
    With = _kind("With", "items", "body", "asynchronous")
    WithItem = _kind("WithItem", "item", "asname")
    Try = _kind("Try", "body", "handlers", "orelse", "finalbody")
    TryStar = _kind("TryStar", "body", "handlers", "orelse", "finalbody")
    ExceptHandler = _kind("ExceptHandler", "type", "name", "body")
    ExceptStarHandler = _kind("ExceptStarHandler", "type", "name", "body")
    Finally = _kind("Finally", "body")

    # Patterns
    Match = _kind("Match", "subject", "cases")
    MatchCase = _kind("MatchCase", "pattern", "guard", "body")
    MatchValue = _kind("MatchValue", "value")
    MatchSingleton = _kind("MatchSingleton", "value")
    MatchList = _kind("MatchList", "patterns")
    MatchSequenceElement = _kind("MatchSequenceElement", "value")
    MatchStar = _kind("MatchStar", "name")
    MatchMapping = _kind("MatchMapping", "elements", "rest")
    MatchMappingElement = _kind("MatchMappingElement", "key", "pattern")
    MatchClass = _kind("MatchClass", "cls", "patterns", "kwds")
    MatchKeywordElement = _kind("MatchKeywordElement", "key", "pattern")
    MatchAs = _kind("MatchAs", "pattern", "name")
    MatchOr = _kind("MatchOr", "patterns")
    MatchOrElement = _kind("MatchOrElement", "pattern")

    # Kinds without fields, and those of libcst that are not made from Python's own tree
    _PLAIN = (
        *("Add", "Subtract", "Multiply", "Divide", "FloorDivide", "Modulo", "MatrixMultiply", "Power"),
        *("LeftShift", "RightShift", "BitAnd", "BitOr", "BitXor", "Minus", "Plus", "BitInvert", "Not"),
        *("And", "Or", "LessThan", "LessThanEqual", "GreaterThan", "GreaterThanEqual", "Equal", "NotEqual"),
        *("Is", "IsNot", "In", "NotIn", "AddAssign", "SubtractAssign", "MultiplyAssign", "DivideAssign"),
        *("FloorDivideAssign", "ModuloAssign", "MatrixMultiplyAssign", "PowerAssign", "LeftShiftAssign"),
        *("RightShiftAssign", "BitAndAssign", "BitOrAssign", "BitXorAssign", "Pass", "Break", "Continue"),
        *(
            "Comma",
            "Dot",
            "Ellipsis",
            "Asynchronous",
            "ImportStar",
            "LazyImport",
            "LazyImportFrom",
            "StarredDictComp",
        ),
        *("ConcatenatedString", "TemplatedString", "TemplatedStringText", "TemplatedStringExpression"),
        "MatchTuple",
    )
    globals().update({name: _kind(name) for name in _PLAIN})
