"""Conversion of statements and of the patterns of `match`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import libcst as cst

from gradcheck_tool.ir.conversion import Converter, converts, converts_simple, maker
from gradcheck_tool.ir.convert_expressions import (
    BINARY,
    arguments,
    constant,
    keywords,
    make_annotation,
    make_from,
    make_name,
    make_tuple,
    parameters,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_ASYNC = cst.Asynchronous()
_DOT = cst.Dot()
_AUGMENTED: dict[str, cst.CSTNode] = {name: getattr(cst, f"{kind}Assign")() for name, kind in BINARY.items()}

# Definitions

_FUNCTION = maker(cst.FunctionDef, "name", "params", "body", "decorators", "asynchronous", "type_parameters")
_CLASS = maker(cst.ClassDef, "name", "bases", "keywords", "body", "decorators", "type_parameters")
_DECORATOR = maker(cst.Decorator, "decorator")
_TYPE_PARAMETERS = maker(cst.TypeParameters, "params")
_TYPE_PARAMETER = maker(cst.TypeParam, "param")
_TYPE_VARIABLE = maker(cst.TypeVar, "name")
_TYPE_ALIAS = maker(cst.TypeAlias, "name", "value")


@converts("FunctionDef", "AsyncFunctionDef")
def _function(c: Converter, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
    body, later = c.body_or_later(node.body)
    made = _FUNCTION(
        make_name(node.name),
        parameters(c, node.args),
        body,
        _decorators(c, node),
        _ASYNC if isinstance(node, ast.AsyncFunctionDef) else None,
        _type_parameters(node),
    )
    if later:
        c.bodies[made] = node.body
    return made


@converts("ClassDef")
def _class(c: Converter, node: ast.ClassDef) -> Any:
    return _CLASS(
        make_name(node.name),
        arguments(c, node.bases),
        keywords(c, node.keywords),
        c.suite(node.body),
        _decorators(c, node),
        _type_parameters(node),
    )


def _decorators(c: Converter, node: Any) -> list[Any]:
    return [_DECORATOR(c.node(decorator)) for decorator in node.decorator_list]


def _type_parameters(node: Any) -> Any:
    """Only their names matter."""
    params = getattr(node, "type_params", None)
    if not params:
        return None
    return _TYPE_PARAMETERS([_TYPE_PARAMETER(_TYPE_VARIABLE(make_name(param.name))) for param in params])


@converts_simple("TypeAlias")
def _type_alias(c: Converter, node: Any) -> Any:
    return _TYPE_ALIAS(c.node(node.name), c.node(node.value))


# Simple statements

_EXPRESSION = maker(cst.Expr, "value")
_ASSIGN = maker(cst.Assign, "targets", "value")
_ASSIGN_TARGET = maker(cst.AssignTarget, "target")
_AUGMENTED_ASSIGN = maker(cst.AugAssign, "target", "operator", "value")
_ANNOTATED = maker(cst.AnnAssign, "target", "annotation", "value")
_DEL = maker(cst.Del, "target")
_RETURN = maker(cst.Return, "value")
_RAISE = maker(cst.Raise, "exc", "cause")
_ASSERT = maker(cst.Assert, "test", "msg")
_PASS, _BREAK, _CONTINUE = maker(cst.Pass), maker(cst.Break), maker(cst.Continue)


@converts_simple("Expr")
def _expression(c: Converter, node: ast.Expr) -> Any:
    return _EXPRESSION(c.node(node.value))


@converts_simple("Assign")
def _assign(c: Converter, node: ast.Assign) -> Any:
    return _ASSIGN([_ASSIGN_TARGET(c.node(target)) for target in node.targets], c.node(node.value))


@converts_simple("AugAssign")
def _augmented_assign(c: Converter, node: ast.AugAssign) -> Any:
    operator = _AUGMENTED[node.op.__class__.__name__]
    return _AUGMENTED_ASSIGN(c.node(node.target), operator, c.node(node.value))


@converts_simple("AnnAssign")
def _annotated(c: Converter, node: ast.AnnAssign) -> Any:
    return _ANNOTATED(c.node(node.target), make_annotation(c.node(node.annotation)), c.optional(node.value))


@converts_simple("Delete")
def _delete(c: Converter, node: ast.Delete) -> Any:
    return _DEL(c.node(node.targets[0]) if len(node.targets) == 1 else make_tuple(c, node.targets))


@converts_simple("Return")
def _return(c: Converter, node: ast.Return) -> Any:
    return _RETURN(c.optional(node.value))


@converts_simple("Raise")
def _raise(c: Converter, node: ast.Raise) -> Any:
    return _RAISE(c.optional(node.exc), None if node.cause is None else make_from(c.node(node.cause)))


@converts_simple("Assert")
def _assert(c: Converter, node: ast.Assert) -> Any:
    return _ASSERT(c.node(node.test), c.optional(node.msg))


@converts_simple("Pass")
def _pass(_: Converter, __: ast.Pass) -> Any:
    return _PASS()


@converts_simple("Break")
def _break(_: Converter, __: ast.Break) -> Any:
    return _BREAK()


@converts_simple("Continue")
def _continue(_: Converter, __: ast.Continue) -> Any:
    return _CONTINUE()


# Names from elsewhere

_IMPORT = maker(cst.Import, "names")
_IMPORT_FROM = maker(cst.ImportFrom, "module", "names", "relative")
_ALIAS = maker(cst.ImportAlias, "name", "asname")
_AS_NAME = maker(cst.AsName, "name")
_GLOBAL = maker(cst.Global, "names")
_NONLOCAL = maker(cst.Nonlocal, "names")
_NAME_ITEM = maker(cst.NameItem, "name")
_ATTRIBUTE = maker(cst.Attribute, "value", "attr")


@converts_simple("Import")
def _import(_: Converter, node: ast.Import) -> Any:
    return _IMPORT(_aliases(node.names))


@converts_simple("ImportFrom")
def _import_from(_: Converter, node: ast.ImportFrom) -> Any:
    module = None if node.module is None else _dotted(node.module)
    names = cst.ImportStar() if node.names[0].name == "*" else _aliases(node.names)
    return _IMPORT_FROM(module, names, (_DOT,) * node.level)


def _aliases(names: list[ast.alias]) -> list[Any]:
    return [
        _ALIAS(_dotted(alias.name), None if alias.asname is None else _AS_NAME(make_name(alias.asname)))
        for alias in names
    ]


def _dotted(name: str) -> Any:
    first, *rest = name.split(".")
    made = make_name(first)
    for part in rest:
        made = _ATTRIBUTE(made, make_name(part))
    return made


@converts_simple("Global")
def _global(_: Converter, node: ast.Global) -> Any:
    return _GLOBAL([_NAME_ITEM(make_name(name)) for name in node.names])


@converts_simple("Nonlocal")
def _nonlocal(_: Converter, node: ast.Nonlocal) -> Any:
    return _NONLOCAL([_NAME_ITEM(make_name(name)) for name in node.names])


# Compound statements

_IF = maker(cst.If, "test", "body", "orelse")
_WHILE = maker(cst.While, "test", "body", "orelse")
_FOR = maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
_WITH = maker(cst.With, "items", "body", "asynchronous")
_WITH_ITEM = maker(cst.WithItem, "item", "asname")
_TRY = maker(cst.Try, "body", "handlers", "orelse", "finalbody")
_TRY_STAR = maker(cst.TryStar, "body", "handlers", "orelse", "finalbody")
_HANDLER = maker(cst.ExceptHandler, "type", "name", "body")
_STAR_HANDLER = maker(cst.ExceptStarHandler, "type", "name", "body")
_FINALLY = maker(cst.Finally, "body")


@converts("If")
def _if(c: Converter, node: ast.If) -> Any:
    # A chain of `elif` nests as deep as it is long.
    chain = [node]
    while (following := _elif(chain[-1])) is not None:
        chain.append(following)
    made = c.otherwise(chain[-1].orelse)
    for one in reversed(chain):
        made = _IF(c.node(one.test), c.suite(one.body), made)
    return made


def _elif(node: ast.If) -> ast.If | None:
    """What follows as `elif`; `if` in a suite after `else` stands further to the right."""
    first = node.orelse[0] if node.orelse else None
    return first if isinstance(first, ast.If) and first.col_offset == node.col_offset else None


@converts("While")
def _while(c: Converter, node: ast.While) -> Any:
    return _WHILE(c.node(node.test), c.suite(node.body), c.otherwise(node.orelse))


@converts("For", "AsyncFor")
def _for(c: Converter, node: ast.For | ast.AsyncFor) -> Any:
    asynchronous = _ASYNC if isinstance(node, ast.AsyncFor) else None
    body, otherwise = c.suite(node.body), c.otherwise(node.orelse)
    return _FOR(c.node(node.target), c.node(node.iter), body, otherwise, asynchronous)


@converts("With", "AsyncWith")
def _with(c: Converter, node: ast.With | ast.AsyncWith) -> Any:
    items = [
        _WITH_ITEM(
            c.node(item.context_expr),
            None if item.optional_vars is None else _AS_NAME(c.node(item.optional_vars)),
        )
        for item in node.items
    ]
    return _WITH(items, c.suite(node.body), _ASYNC if isinstance(node, ast.AsyncWith) else None)


@converts("Try", "TryStar")
def _try(c: Converter, node: Any) -> Any:
    star = node.__class__.__name__ == "TryStar"
    make = _STAR_HANDLER if star else _HANDLER
    handlers = [
        make(
            c.optional(handler.type),
            None if handler.name is None else _AS_NAME(make_name(handler.name)),
            c.suite(handler.body),
        )
        for handler in node.handlers
    ]
    last = _FINALLY(c.suite(node.finalbody)) if node.finalbody else None
    return (_TRY_STAR if star else _TRY)(c.suite(node.body), handlers, c.otherwise(node.orelse), last)


# Patterns

_MATCH = maker(cst.Match, "subject", "cases")
_CASE = maker(cst.MatchCase, "pattern", "guard", "body")
_VALUE = maker(cst.MatchValue, "value")
_SINGLETON = maker(cst.MatchSingleton, "value")
_SEQUENCE = maker(cst.MatchList, "patterns")
_ELEMENT = maker(cst.MatchSequenceElement, "value")
_STAR = maker(cst.MatchStar, "name")
_MAPPING = maker(cst.MatchMapping, "elements", "rest")
_PAIR = maker(cst.MatchMappingElement, "key", "pattern")
_CLASS_PATTERN = maker(cst.MatchClass, "cls", "patterns", "kwds")
_KEYWORD = maker(cst.MatchKeywordElement, "key", "pattern")
_AS = maker(cst.MatchAs, "pattern", "name")
_OR = maker(cst.MatchOr, "patterns")
_ALTERNATIVE = maker(cst.MatchOrElement, "pattern")


@converts("Match")
def _match(c: Converter, node: ast.Match) -> Any:
    cases = [_CASE(c.node(case.pattern), c.optional(case.guard), c.suite(case.body)) for case in node.cases]
    return _MATCH(c.node(node.subject), cases)


@converts("MatchValue")
def _match_value(c: Converter, node: ast.MatchValue) -> Any:
    return _VALUE(c.node(node.value))


@converts("MatchSingleton")
def _match_singleton(_: Converter, node: ast.MatchSingleton) -> Any:
    return _SINGLETON(constant(node.value))


@converts("MatchSequence")
def _match_sequence(c: Converter, node: ast.MatchSequence) -> Any:
    return _SEQUENCE(_elements(c, node.patterns))


def _elements(c: Converter, patterns: Sequence[ast.pattern]) -> list[Any]:
    return [
        c.node(pattern) if isinstance(pattern, ast.MatchStar) else _ELEMENT(c.node(pattern))
        for pattern in patterns
    ]


@converts("MatchStar")
def _match_star(_: Converter, node: ast.MatchStar) -> Any:
    return _STAR(_captured(node.name))


def _captured(name: str | None) -> Any:
    return None if name is None else make_name(name)


@converts("MatchMapping")
def _match_mapping(c: Converter, node: ast.MatchMapping) -> Any:
    pairs = zip(node.keys, node.patterns, strict=True)
    return _MAPPING([_PAIR(c.node(key), c.node(value)) for key, value in pairs], _captured(node.rest))


@converts("MatchClass")
def _match_class(c: Converter, node: ast.MatchClass) -> Any:
    named = zip(node.kwd_attrs, node.kwd_patterns, strict=True)
    pairs = [_KEYWORD(make_name(name), c.node(pattern)) for name, pattern in named]
    return _CLASS_PATTERN(c.node(node.cls), _elements(c, node.patterns), pairs)


@converts("MatchAs")
def _match_as(c: Converter, node: ast.MatchAs) -> Any:
    return _AS(c.optional(node.pattern), _captured(node.name))


@converts("MatchOr")
def _match_or(c: Converter, node: ast.MatchOr) -> Any:
    return _OR([_ALTERNATIVE(c.node(pattern)) for pattern in node.patterns])
