"""Rewritings of the text alone: comments, lines, parentheses, docstrings, annotations."""

from __future__ import annotations

from typing import Any

import libcst as cst

from tests.rewriting.base import (
    after_imports,
    assigned_name,
    each,
    has,
    in_class_body,
    is_docstring,
    moving,
    rewriting,
    sole,
    statement,
    statements,
    with_imports,
)

_SMALL = (cst.Name, cst.Call, cst.Attribute, cst.BinaryOperation, cst.Subscript)


@rewriting
def comments_and_blank_lines(module: cst.Module) -> cst.Module:
    lines = [
        cst.EmptyLine(indent=False),
        cst.EmptyLine(comment=cst.Comment("# What follows is a statement.")),
        cst.EmptyLine(indent=False),
    ]
    return each(
        module,
        (cst.SimpleStatementLine, cst.If, cst.For),
        lambda line, around: line.with_changes(leading_lines=[*line.leading_lines, *lines]),
    )


@moving
def semicolons(module: cst.Module) -> cst.Module:
    def joined(block: Any, around: Any) -> Any:
        body: list[Any] = []
        for line in block.body:
            if body and isinstance(line, cst.SimpleStatementLine) and isinstance(body[-1], type(line)):
                small = [one.with_changes(semicolon=cst.MaybeSentinel.DEFAULT) for one in line.body]
                first = [one.with_changes(semicolon=cst.MaybeSentinel.DEFAULT) for one in body[-1].body]
                body[-1] = body[-1].with_changes(body=[*first, *small])
            else:
                body.append(line)
        return block.with_changes(body=body)

    return each(module, (cst.Module, cst.IndentedBlock), joined)


@rewriting
def parentheses(module: cst.Module) -> cst.Module:
    def wrapped(node: Any, around: Any) -> Any:
        value = node.value
        if not isinstance(value, _SMALL) or value.lpar:
            return node
        return node.with_changes(value=value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()]))

    return each(module, (cst.Assign, cst.Return, cst.Arg, cst.Expr), wrapped)


@rewriting
def broken_lines(module: cst.Module) -> cst.Module:
    new_line = cst.ParenthesizedWhitespace(indent=True, last_line=cst.SimpleWhitespace("    "))

    def broken(call: cst.Call, around: Any) -> cst.Call:
        if not call.args:
            return call
        comma = cst.Comma(whitespace_after=new_line)
        args = [arg.with_changes(comma=comma) for arg in call.args[:-1]]
        last = call.args[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=new_line)
        return call.with_changes(args=[*args, last], whitespace_before_args=new_line)

    return each(module, cst.Call, broken, skip=lambda node: isinstance(node, cst.FormattedString))


@rewriting
def two_columns(module: cst.Module) -> cst.Module:
    return module.with_changes(default_indent="  ")


@rewriting
def docstrings(module: cst.Module) -> cst.Module:
    def described(node: Any, around: Any) -> Any:
        body = node.body
        if not isinstance(body, cst.IndentedBlock) or is_docstring(body.body[0]):
            return node
        line = statement('"""A part of the program."""')
        return node.with_changes(body=body.with_changes(body=[line, *body.body]))

    return each(module, (cst.FunctionDef, cst.ClassDef), described)


@rewriting
def annotations(module: cst.Module) -> cst.Module:
    """Everything is annotated as `Any`, which says nothing."""
    if has(module, cst.Global, cst.Nonlocal):
        return module
    any_type = cst.Annotation(cst.Name("Any"))

    def of_variable(line: Any, around: Any) -> Any:
        found = assigned_name(line)
        if found is None or in_class_body(around):
            return line
        name, value = found
        return line.with_changes(body=[cst.AnnAssign(cst.Name(name), any_type, value)])

    def of_function(node: cst.FunctionDef, around: Any) -> cst.FunctionDef:
        return node if node.returns else node.with_changes(returns=any_type)

    def of_parameter(node: cst.Param, around: Any) -> cst.Param:
        if node.annotation or any(isinstance(one, cst.Lambda) for one in around):
            return node
        return node.with_changes(annotation=any_type)

    changed = each(module, cst.SimpleStatementLine, of_variable)
    changed = each(changed, cst.FunctionDef, of_function)
    return with_imports(module, each(changed, cst.Param, of_parameter), "from typing import Any")


@rewriting
def formatted_strings(module: cst.Module) -> cst.Module:
    def formatted(node: cst.Call, around: Any) -> cst.Call:
        if not isinstance(node.func, cst.Name) or node.func.value != "print":
            return node
        args = []
        for arg in node.args:
            plain = (
                arg.keyword is None and not arg.star and not has(arg, cst.SimpleString, cst.FormattedString)
            )
            value = cst.FormattedString([cst.FormattedStringExpression(arg.value)]) if plain else arg.value
            args.append(arg.with_changes(value=value))
        return node.with_changes(args=args)

    return each(module, cst.Call, formatted)


@rewriting
def statements_that_do_nothing(module: cst.Module) -> cst.Module:
    def padded(line: cst.SimpleStatementLine, around: Any) -> Any:
        if is_docstring(line) or sole(line, cst.ImportFrom) or not isinstance(line.body[-1], cst.Assign):
            return line
        return cst.FlattenSentinel([line, *statements("pass\nassert True\n...")])

    return each(module, cst.SimpleStatementLine, padded)


@rewriting
def dead_code(module: cst.Module) -> cst.Module:
    """What is never executed: a branch, a function, statements after `return`."""

    def followed(line: cst.SimpleStatementLine, around: Any) -> Any:
        if sole(line, cst.Return) is None:
            return line
        return cst.FlattenSentinel([line, statement("print('never')")])

    dead = """
def _never_called(value):
    return (value * 3).mul_(2)
if False:
    unused = 1 / 0
"""
    return after_imports(each(module, cst.SimpleStatementLine, followed), statements(dead))
