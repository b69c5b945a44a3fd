"""Rewritings of loops and comprehensions."""

from __future__ import annotations

from typing import Any

import libcst as cst

from tests.rewriting.base import (
    assigned_name,
    each,
    expression,
    has,
    in_class_body,
    rewriting,
    statement,
    statements,
    text,
)


def _with_lines(block: cst.IndentedBlock, lines: list[Any]) -> cst.IndentedBlock:
    return block.with_changes(body=[*lines, *block.body])


def _is_plain(node: cst.For) -> bool:
    return node.asynchronous is None and node.orelse is None and isinstance(node.body, cst.IndentedBlock)


@rewriting
def range_to_while(module: cst.Module) -> cst.Module:
    """`while` with a counter for `for i in range(n)`."""
    count = iter(range(10_000))

    def change(node: cst.For, around: Any) -> Any:
        over = node.iter
        is_range = isinstance(over, cst.Call) and text(over.func) == "range" and len(over.args) == 1
        if not is_range or not _is_plain(node) or over.args[0].star or in_class_body(around):
            return node
        number = next(count)
        start = statements(f"count_{number} = 0\nend_{number} = {text(over.args[0].value)}")
        lines = statements(f"{text(node.target)} = count_{number}\ncount_{number} += 1")
        test = expression(f"count_{number} < end_{number}")
        loop = cst.While(test, _with_lines(node.body, lines), leading_lines=node.leading_lines)
        return cst.FlattenSentinel([*start, loop])

    return each(module, cst.For, change)


@rewriting
def for_to_iterators(module: cst.Module) -> cst.Module:
    """`while True` and `next` for `for`."""
    count = iter(range(10_000))

    def change(node: cst.For, around: Any) -> Any:
        if not _is_plain(node) or in_class_body(around):
            return node
        number = next(count)
        start = statements(f"elements_{number} = iter({text(node.iter)})")
        lines = statements(
            f"try:\n    {text(node.target)} = next(elements_{number})\nexcept StopIteration:\n    break"
        )
        loop = cst.While(expression("True"), _with_lines(node.body, lines), leading_lines=node.leading_lines)
        return cst.FlattenSentinel([*start, loop])

    return each(module, cst.For, change)


def _over(node: cst.For, header: str) -> cst.For:
    """A loop with another header, with the `target` and the `items` of its own."""
    target = text(node.target)
    if isinstance(node.target, cst.Tuple) and not node.target.lpar:
        target = f"({target})"
    loop = statement(f"for {header.format(target=target, items=text(node.iter))}:\n    pass")
    return node.with_changes(target=loop.target, iter=loop.iter)


@rewriting
def numbered_elements(module: cst.Module) -> cst.Module:
    """`for _, x in enumerate(xs)` for `for x in xs`."""

    def change(node: cst.For, around: Any) -> cst.For:
        if node.asynchronous or has(node.iter, cst.Yield):
            return node
        return _over(node, "_number, {target} in enumerate({items})")

    return each(module, cst.For, change)


@rewriting
def zipped_elements(module: cst.Module) -> cst.Module:
    def change(node: cst.For, around: Any) -> cst.For:
        if node.asynchronous:
            return node
        return _over(node, "({target},) in zip({items})")

    return each(module, cst.For, change)


@rewriting
def comprehensions_to_loops(module: cst.Module) -> cst.Module:
    def change(line: cst.SimpleStatementLine, around: Any) -> Any:
        found = assigned_name(line)
        if found is None or not isinstance(found[1], cst.ListComp) or in_class_body(around):
            return line
        name, comp = found
        loop = comp.for_in
        names = {one.value for one in _names(loop)} | {one.value for one in _names(comp.elt)}
        if loop.inner_for_in or name in names:
            return line
        test = "".join(f" if {text(one.test)}:" for one in loop.ifs[:1])
        if len(loop.ifs) > 1:
            return line
        head = f"for {text(loop.target)} in {text(loop.iter)}:\n"
        body = (
            f"    {name}.append({text(comp.elt)})\n"
            if not test
            else f"   {test}\n        {name}.append({text(comp.elt)})\n"
        )
        return cst.FlattenSentinel([statement(f"{name} = []"), *statements(head + body)])

    return each(module, cst.SimpleStatementLine, change)


def _names(node: cst.CSTNode) -> list[cst.Name]:
    found = [node] if isinstance(node, cst.Name) else []
    return found + [name for child in node.children for name in _names(child)]


@rewriting
def comprehensions_to_calls(module: cst.Module) -> cst.Module:
    """`list(f(x) for x in xs)` for `[f(x) for x in xs]`."""

    def change(node: cst.ListComp, around: Any) -> Any:
        if has(node, cst.Await):
            return node
        return expression(f"list({text(cst.GeneratorExp(node.elt, node.for_in))})")

    return each(module, cst.ListComp, change)


@rewriting
def conditions_to_breaks(module: cst.Module) -> cst.Module:
    """`while True: if not c: break` for `while c`."""

    def change(node: cst.While, around: Any) -> cst.While:
        if node.orelse or text(node.test) == "True" or not isinstance(node.body, cst.IndentedBlock):
            return node
        line = statement(f"if not ({text(node.test)}):\n    break")
        return node.with_changes(test=cst.Name("True"), body=_with_lines(node.body, [line]))

    return each(module, cst.While, change)


@rewriting
def bodies_in_if_true(module: cst.Module) -> cst.Module:
    def change(node: Any, around: Any) -> Any:
        if not isinstance(node.body, cst.IndentedBlock):
            return node
        inner = cst.If(cst.Name("True"), cst.IndentedBlock(node.body.body))
        return node.with_changes(body=node.body.with_changes(body=[inner]))

    return each(module, (cst.For, cst.While), change)


@rewriting
def ranges_with_all_arguments(module: cst.Module) -> cst.Module:
    """`range(0, n, 1)` for `range(n)`."""

    def change(node: cst.Call, around: Any) -> cst.Call:
        if text(node.func) != "range" or len(node.args) != 1 or node.args[0].star:
            return node
        return expression(f"range(0, {text(node.args[0].value)}, 1)")  # type: ignore[return-value]

    return each(module, cst.Call, change)
