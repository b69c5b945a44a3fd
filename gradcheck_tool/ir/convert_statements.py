"""Conversion of statements and of the patterns of `match`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from gradcheck_tool.ir.conversion import Converter, at, converts, converts_simple, light
from gradcheck_tool.ir.convert_expressions import (
    BINARY,
    arguments,
    constant,
    keywords,
    make_tuple,
    parameters,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_ASYNC = light.Asynchronous()
_DOT = light.Dot()
_AUGMENTED: dict[str, Any] = {name: getattr(light, f"{kind}Assign")() for name, kind in BINARY.items()}

# Definitions


@converts("FunctionDef", "AsyncFunctionDef")
def _function(c: Converter, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
    body, later = c.body_or_later(node.body)
    made = light.FunctionDef(
        at(node, light.Name(node.name)),
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
    return light.ClassDef(
        at(node, light.Name(node.name)),
        arguments(c, node.bases),
        keywords(c, node.keywords),
        c.suite(node.body),
        _decorators(c, node),
        _type_parameters(node),
    )


def _decorators(c: Converter, node: Any) -> list[Any]:
    return [light.Decorator(c.node(decorator)) for decorator in node.decorator_list]


def _type_parameters(node: Any) -> Any:
    """Only their names matter."""
    params = getattr(node, "type_params", None)
    if not params:
        return None
    return light.TypeParameters([light.TypeParam(light.TypeVar(light.Name(param.name))) for param in params])


@converts_simple("TypeAlias")
def _type_alias(c: Converter, node: Any) -> Any:
    return light.TypeAlias(c.node(node.name), c.node(node.value))


# Simple statements


@converts_simple("Expr")
def _expression(c: Converter, node: ast.Expr) -> Any:
    return light.Expr(c.node(node.value))


@converts_simple("Assign")
def _assign(c: Converter, node: ast.Assign) -> Any:
    return light.Assign([light.AssignTarget(c.node(target)) for target in node.targets], c.node(node.value))


@converts_simple("AugAssign")
def _augmented_assign(c: Converter, node: ast.AugAssign) -> Any:
    operator = _AUGMENTED[node.op.__class__.__name__]
    return light.AugAssign(c.node(node.target), operator, c.node(node.value))


@converts_simple("AnnAssign")
def _annotated(c: Converter, node: ast.AnnAssign) -> Any:
    return light.AnnAssign(
        c.node(node.target), light.Annotation(c.node(node.annotation)), c.optional(node.value)
    )


@converts_simple("Delete")
def _delete(c: Converter, node: ast.Delete) -> Any:
    return light.Del(c.node(node.targets[0]) if len(node.targets) == 1 else make_tuple(c, node.targets))


@converts_simple("Return")
def _return(c: Converter, node: ast.Return) -> Any:
    return light.Return(c.optional(node.value))


@converts_simple("Raise")
def _raise(c: Converter, node: ast.Raise) -> Any:
    return light.Raise(c.optional(node.exc), None if node.cause is None else light.From(c.node(node.cause)))


@converts_simple("Assert")
def _assert(c: Converter, node: ast.Assert) -> Any:
    return light.Assert(c.node(node.test), c.optional(node.msg))


@converts_simple("Pass")
def _pass(_: Converter, __: ast.Pass) -> Any:
    return light.Pass()


@converts_simple("Break")
def _break(_: Converter, __: ast.Break) -> Any:
    return light.Break()


@converts_simple("Continue")
def _continue(_: Converter, __: ast.Continue) -> Any:
    return light.Continue()


# Names from elsewhere


@converts_simple("Import")
def _import(_: Converter, node: ast.Import) -> Any:
    return light.Import(_aliases(node.names))


@converts_simple("ImportFrom")
def _import_from(_: Converter, node: ast.ImportFrom) -> Any:
    module = None if node.module is None else _dotted(node.module)
    names = light.ImportStar() if node.names[0].name == "*" else _aliases(node.names)
    return light.ImportFrom(module, names, (_DOT,) * node.level)


def _aliases(names: list[ast.alias]) -> list[Any]:
    return [
        at(
            alias,
            light.ImportAlias(
                at(alias, _dotted(alias.name)),
                None if alias.asname is None else light.AsName(at(alias, light.Name(alias.asname))),
            ),
        )
        for alias in names
    ]


def _dotted(name: str) -> Any:
    first, *rest = name.split(".")
    made = light.Name(first)
    for part in rest:
        made = light.Attribute(made, light.Name(part))
    return made


@converts_simple("Global")
def _global(_: Converter, node: ast.Global) -> Any:
    return light.Global([light.NameItem(light.Name(name)) for name in node.names])


@converts_simple("Nonlocal")
def _nonlocal(_: Converter, node: ast.Nonlocal) -> Any:
    return light.Nonlocal([light.NameItem(light.Name(name)) for name in node.names])


# Compound statements


@converts("If")
def _if(c: Converter, node: ast.If) -> Any:
    # A chain of `elif` nests as deep as it is long.
    chain = [node]
    while (following := _elif(chain[-1])) is not None:
        chain.append(following)
    made = c.otherwise(chain[-1].orelse)
    for one in reversed(chain):
        made = at(one, light.If(c.node(one.test), c.suite(one.body), made))
    return made


def _elif(node: ast.If) -> ast.If | None:
    """What follows as `elif`; `if` in a suite after `else` stands further to the right."""
    first = node.orelse[0] if node.orelse else None
    return first if isinstance(first, ast.If) and first.col_offset == node.col_offset else None


@converts("While")
def _while(c: Converter, node: ast.While) -> Any:
    return light.While(c.node(node.test), c.suite(node.body), c.otherwise(node.orelse))


@converts("For", "AsyncFor")
def _for(c: Converter, node: ast.For | ast.AsyncFor) -> Any:
    asynchronous = _ASYNC if isinstance(node, ast.AsyncFor) else None
    body, otherwise = c.suite(node.body), c.otherwise(node.orelse)
    return light.For(c.node(node.target), c.node(node.iter), body, otherwise, asynchronous)


@converts("With", "AsyncWith")
def _with(c: Converter, node: ast.With | ast.AsyncWith) -> Any:
    items = [
        light.WithItem(
            c.node(item.context_expr),
            None if item.optional_vars is None else light.AsName(c.node(item.optional_vars)),
        )
        for item in node.items
    ]
    return light.With(items, c.suite(node.body), _ASYNC if isinstance(node, ast.AsyncWith) else None)


@converts("Try", "TryStar")
def _try(c: Converter, node: Any) -> Any:
    star = node.__class__.__name__ == "TryStar"
    make = light.ExceptStarHandler if star else light.ExceptHandler
    handlers = [
        at(
            handler,
            make(
                c.optional(handler.type),
                None if handler.name is None else light.AsName(light.Name(handler.name)),
                c.suite(handler.body),
            ),
        )
        for handler in node.handlers
    ]
    last = light.Finally(c.suite(node.finalbody)) if node.finalbody else None
    return (light.TryStar if star else light.Try)(
        c.suite(node.body), handlers, c.otherwise(node.orelse), last
    )


# Patterns


@converts("Match")
def _match(c: Converter, node: ast.Match) -> Any:
    cases = [
        light.MatchCase(c.node(case.pattern), c.optional(case.guard), c.suite(case.body))
        for case in node.cases
    ]
    return light.Match(c.node(node.subject), cases)


@converts("MatchValue")
def _match_value(c: Converter, node: ast.MatchValue) -> Any:
    return light.MatchValue(c.node(node.value))


@converts("MatchSingleton")
def _match_singleton(_: Converter, node: ast.MatchSingleton) -> Any:
    return light.MatchSingleton(constant(node.value))


@converts("MatchSequence")
def _match_sequence(c: Converter, node: ast.MatchSequence) -> Any:
    return light.MatchList(_elements(c, node.patterns))


def _elements(c: Converter, patterns: Sequence[ast.pattern]) -> list[Any]:
    return [
        c.node(pattern) if isinstance(pattern, ast.MatchStar) else light.MatchSequenceElement(c.node(pattern))
        for pattern in patterns
    ]


@converts("MatchStar")
def _match_star(_: Converter, node: ast.MatchStar) -> Any:
    return light.MatchStar(_captured(node.name))


def _captured(name: str | None) -> Any:
    return None if name is None else light.Name(name)


@converts("MatchMapping")
def _match_mapping(c: Converter, node: ast.MatchMapping) -> Any:
    pairs = zip(node.keys, node.patterns, strict=True)
    return light.MatchMapping(
        [light.MatchMappingElement(c.node(key), c.node(value)) for key, value in pairs], _captured(node.rest)
    )


@converts("MatchClass")
def _match_class(c: Converter, node: ast.MatchClass) -> Any:
    named = zip(node.kwd_attrs, node.kwd_patterns, strict=True)
    pairs = [light.MatchKeywordElement(light.Name(name), c.node(pattern)) for name, pattern in named]
    return light.MatchClass(c.node(node.cls), _elements(c, node.patterns), pairs)


@converts("MatchAs")
def _match_as(c: Converter, node: ast.MatchAs) -> Any:
    return light.MatchAs(c.optional(node.pattern), _captured(node.name))


@converts("MatchOr")
def _match_or(c: Converter, node: ast.MatchOr) -> Any:
    return light.MatchOr([light.MatchOrElement(c.node(pattern)) for pattern in node.patterns])
