"""Rewritings of single statements: temporaries, tuples, conditions, branches."""

from __future__ import annotations

from typing import Any

import libcst as cst

from tests.rewriting.base import (
    assigned_name,
    before,
    each,
    expression,
    has,
    in_class_body,
    rewriting,
    sole,
    statement,
    statements,
    text,
    with_value,
)

_LAZY = (
    cst.Lambda,
    cst.ListComp,
    cst.GeneratorExp,
    cst.DictComp,
    cst.SetComp,
    cst.IfExp,
    cst.BooleanOperation,
    cst.Await,
    cst.Yield,
    cst.NamedExpr,
)


def _value_of(line: Any) -> Any:
    """The value of a line that assigns, returns or does nothing with it."""
    for kind in (cst.Assign, cst.Return, cst.Expr):
        found = sole(line, kind)
        if found is not None:
            return found.value
    return None


@rewriting
def temporaries_for_receivers(module: cst.Module) -> cst.Module:
    """`t = x.exp()`, `y = t.sum()` for `y = x.exp().sum()`."""
    count = iter(range(10_000))

    def change(line: cst.SimpleStatementLine, around: Any) -> Any:
        value = _value_of(line)
        lines: list[Any] = []
        if not isinstance(value, cst.Call) or in_class_body(around):
            return line
        chain: list[cst.Call] = []
        while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
            chain.append(value)
            value = value.func.value
        if len(chain) < 2 or has(line, *_LAZY) or "super" in text(line):
            return line
        made: Any = None
        for call in reversed(chain):
            now = (
                call if made is None else call.with_changes(func=call.func.with_changes(value=cst.Name(made)))
            )
            if call is chain[0]:
                return before(lines, with_value(line, now))
            made = f"step_{next(count)}"
            lines.append(statement(f"{made} = {text(now)}"))
        return line

    return each(module, cst.SimpleStatementLine, change)


@rewriting
def temporaries_for_arguments(module: cst.Module) -> cst.Module:
    """`t = g(x)`, `y = f(t)` for `y = f(g(x))`: the arguments are evaluated after a name, in their order."""
    count = iter(range(10_000))

    def change(line: cst.SimpleStatementLine, around: Any) -> Any:
        value = _value_of(line)
        if (
            not isinstance(value, cst.Call)
            or has(line, *_LAZY)
            or in_class_body(around)
            or "super" in text(line)
        ):
            return line
        if has(value.func, cst.Call, cst.Subscript) or not any(
            has(arg.value, cst.Call) for arg in value.args
        ):
            return line
        lines, args = [], []
        for arg in value.args:
            if has(arg.value, cst.Call) and not arg.star:
                name = f"part_{next(count)}"
                lines.append(statement(f"{name} = {text(arg.value)}"))
                args.append(arg.with_changes(value=cst.Name(name)))
            else:
                args.append(arg)
        return before(lines, with_value(line, value.with_changes(args=args)))

    return each(module, cst.SimpleStatementLine, change)


@rewriting
def temporaries_for_results(module: cst.Module) -> cst.Module:
    def change(line: cst.SimpleStatementLine, around: Any) -> Any:
        found = sole(line, cst.Return)
        if found is None or found.value is None or isinstance(found.value, cst.Name):
            return line
        return before([statement(f"result = {text(found.value)}")], with_value(line, cst.Name("result")))

    return each(module, cst.SimpleStatementLine, change)


def _assignments(module: cst.Module, template: str) -> cst.Module:
    """The module with other statements, with its `name` and `value`, for what assigns one."""

    def change(line: cst.SimpleStatementLine, around: Any) -> Any:
        found = assigned_name(line)
        if found is None or has(line, cst.Yield) or in_class_body(around):
            return line
        name, value = found
        return _replaced(line, template.format(name=name, value=text(value)))

    return each(module, cst.SimpleStatementLine, change)


@rewriting
def tuple_unpacking(module: cst.Module) -> cst.Module:
    return _assignments(module, "({name},) = ({value},)")


def _replaced(line: cst.SimpleStatementLine, code: str) -> cst.SimpleStatementLine:
    """Another small statement in the place of that of a line."""
    return line.with_changes(body=statement(code).body)


@rewriting
def pairs_of_assignments(module: cst.Module) -> cst.Module:
    """`x, _number = value, 0` for `x = value`."""
    return _assignments(module, "{name}, _number = {value}, 0")


@rewriting
def walrus(module: cst.Module) -> cst.Module:
    def change(line: cst.SimpleStatementLine, around: Any) -> Any:
        found = assigned_name(line)
        if found is None or isinstance(found[1], (cst.Yield, cst.Tuple)) or in_class_body(around):
            return line
        return _replaced(line, f"({found[0]} := {text(found[1])})")

    return each(module, cst.SimpleStatementLine, change)


@rewriting
def swapped_branches(module: cst.Module) -> cst.Module:
    """`if not c: B else: A` for `if c: A else: B`."""

    def change(node: cst.If, around: Any) -> cst.If:
        if not isinstance(node.orelse, cst.Else):
            return node
        return node.with_changes(
            test=expression(f"not ({text(node.test)})"),
            whitespace_before_test=cst.SimpleWhitespace(" "),
            body=node.orelse.body,
            orelse=node.orelse.with_changes(body=node.body),
        )

    return each(module, cst.If, change)


@rewriting
def empty_else(module: cst.Module) -> cst.Module:
    """`if not c: pass else: A` for `if c: A`."""

    def change(node: cst.If, around: Any) -> cst.If:
        if node.orelse is not None:
            return node
        return node.with_changes(
            test=expression(f"not ({text(node.test)})"),
            whitespace_before_test=cst.SimpleWhitespace(" "),
            body=cst.IndentedBlock([statement("pass")]),
            orelse=cst.Else(node.body),
        )

    return each(module, cst.If, change)


@rewriting
def de_morgan(module: cst.Module) -> cst.Module:
    """`not (not a or not b)` for `a and b` where only its truth counts."""

    def change(node: Any, around: Any) -> Any:
        test = node.test
        if not isinstance(test, cst.BooleanOperation):
            return node
        other = "or" if isinstance(test.operator, cst.And) else "and"
        code = f"not (not ({text(test.left)}) {other} not ({text(test.right)}))"
        return node.with_changes(test=expression(code), **_space(node))

    return each(module, (cst.If, cst.While), change)


def _space(node: Any) -> dict[str, Any]:
    name = "whitespace_before_test" if isinstance(node, cst.If) else "whitespace_after_while"
    return {name: cst.SimpleWhitespace(" ")}


@rewriting
def nested_conditions(module: cst.Module) -> cst.Module:
    """`if a: if b:` for `if a and b:`."""

    def change(node: cst.If, around: Any) -> cst.If:
        test = node.test
        if (
            node.orelse
            or not isinstance(test, cst.BooleanOperation)
            or not isinstance(test.operator, cst.And)
        ):
            return node
        left, right = (expression(f"({text(part)})") for part in (test.left, test.right))
        inner = cst.If(right, node.body)
        return node.with_changes(test=left, body=cst.IndentedBlock([inner]), **_space(node))

    return each(module, cst.If, change)


@rewriting
def conditions_with_names(module: cst.Module) -> cst.Module:
    """`chosen = c`, `if chosen:` for `if c:`."""

    def change(node: cst.If, around: Any) -> Any:
        is_elif = around and isinstance(around[-1], cst.If)
        if is_elif or has(node.test, cst.NamedExpr) or in_class_body(around):
            return node
        line = statement(f"chosen = {text(node.test)}").with_changes(leading_lines=node.leading_lines)
        return before([line], node.with_changes(test=cst.Name("chosen"), leading_lines=(), **_space(node)))

    return each(module, cst.If, change)


@rewriting
def conditional_expressions_to_branches(module: cst.Module) -> cst.Module:
    def change(line: cst.SimpleStatementLine, around: Any) -> Any:
        found = assigned_name(line)
        if found is None or not isinstance(found[1], cst.IfExp):
            return line
        value = found[1]
        first, other = (with_value(line, part) for part in (value.body, value.orelse))
        return cst.If(value.test, cst.IndentedBlock([first]), cst.Else(cst.IndentedBlock([other])))

    return each(module, cst.SimpleStatementLine, change)


@rewriting
def separate_managers(module: cst.Module) -> cst.Module:
    """`with a: with b:` for `with a, b:`."""

    def change(node: cst.With, around: Any) -> Any:
        if len(node.items) < 2 or node.lpar is not cst.MaybeSentinel.DEFAULT:
            return node
        plain = [item.with_changes(comma=cst.MaybeSentinel.DEFAULT) for item in node.items]
        inner: Any = node.with_changes(items=plain[-1:], leading_lines=())
        for item in reversed(plain[:-1]):
            inner = cst.With([item], cst.IndentedBlock([inner]))
        return inner

    return each(module, cst.With, change)


@rewriting
def assertions_to_branches(module: cst.Module) -> cst.Module:
    def change(line: cst.SimpleStatementLine, around: Any) -> Any:
        found = sole(line, cst.Assert)
        if found is None:
            return line
        message = "" if found.msg is None else text(found.msg)
        return statement(f"if not ({text(found.test)}):\n    raise AssertionError({message})")

    return each(module, cst.SimpleStatementLine, change)


@rewriting
def deleted_and_bound_again(module: cst.Module) -> cst.Module:
    """`x = old = value`, `del old`."""

    def change(line: cst.SimpleStatementLine, around: Any) -> Any:
        found = assigned_name(line)
        if found is None or has(line, cst.Yield) or in_class_body(around):
            return line
        changed = _replaced(line, f"{found[0]} = _second = {text(found[1])}")
        return cst.FlattenSentinel([changed, *statements("del _second")])

    return each(module, cst.SimpleStatementLine, change)
