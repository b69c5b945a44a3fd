"""Lowering of what makes a new code object: functions, lambdas, classes and comprehensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.ir import syntax
from gradcheck_tool.ir.builder import FunctionBuilder, executes, lowers
from gradcheck_tool.ir.deferred import DeferredFunction
from gradcheck_tool.ir.expressions import lower_arguments, lower_await, lower_condition
from gradcheck_tool.ir.literals import docstring_value
from gradcheck_tool.ir.nodes import (
    Append,
    Argument,
    Block,
    BuildDict,
    BuildList,
    BuildSet,
    Call,
    Function,
    FunctionKind,
    GetAttr,
    GetIter,
    InsertItem,
    MakeClass,
    MakeFunction,
    Parameter,
    ParamKind,
    Reg,
    Return,
    Yield,
)
from gradcheck_tool.ir.recursion import with_deep_recursion
from gradcheck_tool.ir.scopes import resolve_later
from gradcheck_tool.ir.simplify import simplify
from gradcheck_tool.ir.targets import assign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    _AnyComprehension = (
        syntax.ListComp | syntax.SetComp | syntax.DictComp | syntax.GeneratorExp | syntax.StarredDictComp
    )

_ITERATOR = ".0"


def lower_inner(b: FunctionBuilder, function: Function, fill: Callable[[FunctionBuilder], None]) -> Function:
    """Lower a function inside `b` with `fill`, once: a `finally` body stands in several places."""
    known = b.lowered.get(id(function.node))
    if known is not None:
        return known
    b.lowered[id(function.node)] = function
    b.function.inner.append(function)
    _bind_parameters(b, function)
    inner = FunctionBuilder(function, b)
    inner.scope.bound.update(parameter.name for parameter in function.params)
    fill(inner)
    inner.finish()
    return function


def _bind_parameters(b: FunctionBuilder, function: Function) -> None:
    for parameter in function.params:
        parameter.name = b.mangled(parameter.name)


def _new_function(
    b: FunctionBuilder, name: str, kind: FunctionKind, node: syntax.CSTNode, *, is_async: bool = False
) -> Function:
    outer = b.function
    if outer.kind is FunctionKind.MODULE or name in b.scope.global_names:
        qualname = name
    elif outer.kind is FunctionKind.CLASS:
        qualname = f"{outer.qualname}.{name}"
    else:
        qualname = f"{outer.qualname}.<locals>.{name}"
    return Function(name, qualname, kind, node, is_async=is_async)


# Functions and lambdas


@executes(syntax.FunctionDef)
def _function_def(b: FunctionBuilder, node: syntax.FunctionDef) -> None:
    decorators = _decorators(b, node.decorators)
    defaults = _defaults(b, node.params)
    name = node.name.value
    function = _new_function(b, name, FunctionKind.FUNCTION, node, is_async=node.asynchronous is not None)
    later = b.bodies is not None and node in b.bodies.converter.bodies
    if later:
        function = _deferred(b, function, node)
    function.params = _parameters(node.params)
    function.decorators = len(decorators)
    if later:
        _bind_parameters(b, function)
    else:
        function = lower_inner(b, function, lambda inner: _fill_function(inner, node, node.body))
    dst = b.reg()
    b.emit(MakeFunction(node, dst, function, defaults))
    b.store(node.name, name, _decorate(b, decorators, dst))


def _fill_function(inner: FunctionBuilder, node: syntax.FunctionDef, body: syntax.BaseSuite) -> None:
    inner.type_params |= _type_parameters(node.type_parameters)
    lower_body(inner, body)


def _deferred(b: FunctionBuilder, function: Function, node: syntax.FunctionDef) -> Function:
    """The same function with a body that is lowered on demand."""
    bodies = b.bodies
    assert bodies is not None

    def lower(deferred: DeferredFunction) -> None:
        # What an attempt has left that ended at the recursion limit.
        deferred.inner.clear()
        inner = FunctionBuilder(deferred, b)
        inner.bodies = None
        inner.scope.bound.update(parameter.name for parameter in deferred.params)
        _fill_function(inner, node, bodies.converter.body(node))
        inner.finish()
        resolve_later(inner.scope, b.scope)
        bodies.lowered += finished(deferred)

    def lower_deeply(deferred: DeferredFunction) -> None:
        with_deep_recursion(lambda: lower(deferred), deferred.qualname)

    deferred = DeferredFunction(
        function.name, function.qualname, function.node, lower_deeply, is_async=function.is_async
    )
    b.function.inner.append(deferred)
    return deferred


def finished(function: Function) -> list[Function]:
    """The function and all inside it that are not deferred, simplified."""
    functions = [function, *_inside(function)]
    for one in functions:
        simplify(one)
    return functions


def _inside(function: Function) -> Iterator[Function]:
    for inner in function.inner:
        if not isinstance(inner, DeferredFunction):
            yield inner
            yield from _inside(inner)


@lowers(syntax.Lambda)
def _lambda(b: FunctionBuilder, node: syntax.Lambda) -> Reg:
    defaults = _defaults(b, node.params)
    function = _new_function(b, "<lambda>", FunctionKind.LAMBDA, node)
    function.params = _parameters(node.params)
    function = lower_inner(b, function, lambda inner: inner.end(Return(node.body, inner.expr(node.body))))
    dst = b.reg()
    b.emit(MakeFunction(node, dst, function, defaults))
    return dst


def lower_body(b: FunctionBuilder, body: syntax.BaseSuite | syntax.Module) -> None:
    """Lower the statements of a function, class or module and note its docstring."""
    statements: Sequence[syntax.CSTNode] = body.body
    if statements:
        first = statements[0]
        small = first.body[0] if isinstance(first, syntax.SimpleStatementLine) else first
        if isinstance(small, syntax.Expr):
            b.function.docstring = docstring_value(small.value)
    b.statements(statements)


def _decorators(
    b: FunctionBuilder, decorators: Sequence[syntax.Decorator]
) -> list[tuple[syntax.Decorator, Reg]]:
    return [(decorator, b.expr(decorator.decorator)) for decorator in decorators]


def _decorate(b: FunctionBuilder, decorators: list[tuple[syntax.Decorator, Reg]], value: Reg) -> Reg:
    for decorator, func in reversed(decorators):
        dst = b.reg()
        b.emit(Call(decorator, dst, func, [Argument(value)]))
        value = dst
    return value


def _type_parameters(node: syntax.TypeParameters | None) -> frozenset[str]:
    return frozenset(parameter.param.name.value for parameter in node.params) if node else frozenset()


def _in_order(params: syntax.Parameters) -> list[tuple[syntax.Param, ParamKind]]:
    ordered = [(param, ParamKind.POSITIONAL_ONLY) for param in params.posonly_params]
    ordered += [(param, ParamKind.POSITIONAL) for param in params.params]
    if isinstance(params.star_arg, syntax.Param):
        ordered.append((params.star_arg, ParamKind.VARARGS))
    ordered += [(param, ParamKind.KEYWORD_ONLY) for param in params.kwonly_params]
    if params.star_kwarg is not None:
        ordered.append((params.star_kwarg, ParamKind.KWARGS))
    return ordered


def _parameters(params: syntax.Parameters) -> list[Parameter]:
    return [
        Parameter(
            name=param.name.value,
            kind=kind,
            has_default=param.default is not None,
            node=param.name,
            annotation=param.annotation.annotation if param.annotation else None,
        )
        for param, kind in _in_order(params)
    ]


def _defaults(b: FunctionBuilder, params: syntax.Parameters) -> dict[str, Reg]:
    return {
        b.mangled(param.name.value): b.expr(param.default)
        for param, _ in _in_order(params)
        if param.default is not None
    }


# Classes


@executes(syntax.ClassDef)
def _class_def(b: FunctionBuilder, node: syntax.ClassDef) -> None:
    name = node.name.value
    decorators = _decorators(b, node.decorators)
    type_params = _type_parameters(node.type_parameters)
    outside = b.type_params
    b.type_params |= type_params
    bases = lower_arguments(b, [*node.bases, *node.keywords])
    body = _new_function(b, name, FunctionKind.CLASS, node)
    body.decorators = len(decorators)

    def fill(inner: FunctionBuilder) -> None:
        inner.class_name = name
        lower_body(inner, node.body)

    body = lower_inner(b, body, fill)
    b.type_params = outside
    dst = b.reg()
    b.emit(MakeClass(node, dst, name, bases, body))
    b.store(node.name, name, _decorate(b, decorators, dst))


# Comprehensions

_NAMES: dict[str, str] = {
    "ListComp": "<listcomp>",
    "SetComp": "<setcomp>",
    "DictComp": "<dictcomp>",
    "StarredDictComp": "<dictcomp>",
    "GeneratorExp": "<genexpr>",
}


@lowers(syntax.ListComp, syntax.SetComp, syntax.DictComp, syntax.StarredDictComp, syntax.GeneratorExp)
def _comprehension(b: FunctionBuilder, node: _AnyComprehension) -> Reg:
    function = _new_function(b, _NAMES[type(node).__name__], FunctionKind.COMPREHENSION, node)
    function.is_generator = isinstance(node, syntax.GeneratorExp)
    function.params = [Parameter(_ITERATOR, ParamKind.POSITIONAL_ONLY, False, node.for_in)]
    function = lower_inner(b, function, lambda inner: _fill_comprehension(inner, node))
    func, iterator, dst = b.reg(), b.reg(), b.reg()
    b.emit(MakeFunction(node, func, function, {}))
    source = b.expr(node.for_in.iter)
    b.emit(GetIter(node.for_in.iter, iterator, source, node.for_in.asynchronous is not None))
    b.emit(Call(node, dst, func, [Argument(iterator)]))
    if function.is_async and not function.is_generator:
        return lower_await(b, node, dst)
    return dst


def _fill_comprehension(b: FunctionBuilder, node: _AnyComprehension) -> None:
    result = None
    if not isinstance(node, syntax.GeneratorExp):
        result = b.reg()
        if isinstance(node, syntax.ListComp):
            b.emit(BuildList(node, result, []))
        elif isinstance(node, syntax.SetComp):
            b.emit(BuildSet(node, result, []))
        else:
            b.emit(BuildDict(node, result, []))
    iterator = b.load(node.for_in, _ITERATOR)
    done = b.new_block()
    _loop(b, node.for_in, iterator, done, lambda: _element(b, node, result))
    b.place(done)
    b.end(Return(node, result))


def _loop(
    b: FunctionBuilder, node: syntax.CompFor, iterator: Reg, done: Block, element: Callable[[], None]
) -> None:
    """One `for` of a comprehension, with its conditions and all that stands right of it."""
    if node.asynchronous is not None:
        b.function.is_async = True
    head, again, start = b.new_block(), b.new_block(), len(b.placed)
    item = b.for_each(node, head, iterator, done, is_async=node.asynchronous is not None)
    assign(b, node.target, item)
    for condition in node.ifs:
        more = b.new_block()
        lower_condition(b, condition.test, more, again)
        b.place(more)
    inner = node.inner_for_in
    if inner is None:
        element()
        b.continue_in(node, again)
    else:
        source, inner_iterator = b.expr(inner.iter), b.reg()
        b.emit(GetIter(inner.iter, inner_iterator, source, inner.asynchronous is not None))
        _loop(b, inner, inner_iterator, again, element)
        b.place(again)
    b.jump(node, head, back=True)
    b.mark_loop(node, head, start)


def _element(b: FunctionBuilder, node: _AnyComprehension, result: Reg | None) -> None:
    """Evaluate what stands left of `for` and add it to the result, or yield it."""
    if isinstance(node, syntax.DictComp):
        assert result is not None
        key = b.expr(node.key)
        b.emit(InsertItem(node, result, key, b.expr(node.value)))
    elif isinstance(node, syntax.StarredDictComp):
        assert result is not None
        update = b.reg()
        value = b.expr(node.value)
        b.emit(GetAttr(node, update, result, "update"))
        b.emit(Call(node, b.reg(), update, [Argument(value)]))
    elif isinstance(node.elt, syntax.StarredElement):
        _elements(b, node.elt, result)
    else:
        _add(b, node.elt, b.expr(node.elt), result)


def _elements(b: FunctionBuilder, node: syntax.StarredElement, result: Reg | None) -> None:
    """`*items` left of `for` adds every one of them."""
    source, iterator = b.expr(node.value), b.reg()
    b.emit(GetIter(node, iterator, source))
    head, done, start = b.new_block(), b.new_block(), len(b.placed)
    _add(b, node, b.for_each(node, head, iterator, done, is_async=False), result)
    b.jump(node, head, back=True)
    b.mark_loop(node, head, start)
    b.place(done)


def _add(b: FunctionBuilder, node: syntax.CSTNode, value: Reg, result: Reg | None) -> None:
    if result is None:
        b.emit(Yield(node, b.reg(), value))
    else:
        b.emit(Append(node, result, value))
