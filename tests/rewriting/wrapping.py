"""Rewritings that put the whole script, or each of its statements, into something else."""

from __future__ import annotations

import textwrap
from typing import Any

import libcst as cst

from tests.rewriting.base import (
    each,
    has,
    is_docstring,
    nodes,
    parted,
    rewriting,
    sole,
    statement,
    statements,
    with_imports,
)

_DEFINITIONS = (cst.FunctionDef, cst.ClassDef)
_HERE = "HERE"


def _filled(lines: list[Any], body: list[Any]) -> list[Any]:
    """Lines in which a block that says HERE has a body of other lines."""

    def change(block: cst.IndentedBlock, around: Any) -> cst.IndentedBlock:
        out: list[Any] = []
        for line in block.body:
            shown = sole(line, cst.Expr)
            is_here = shown is not None and isinstance(shown.value, cst.Name) and shown.value.value == _HERE
            out += body if is_here else [line]
        return block.with_changes(body=out)

    return [each(line, cst.IndentedBlock, change) for line in lines]


def _wrapped(module: cst.Module, template: str) -> cst.Module:
    """The script in a template; imports at the start stay before it.

    A library, which runs nothing, stays as it is: what it defines others could not use any more.
    """
    first, rest = parted(module)
    if not any(_runs(line) for line in rest):
        return module
    return module.with_changes(body=[*first, *_filled(statements(textwrap.dedent(template)), rest)])


def _runs(line: Any) -> bool:
    """Is a statement more than a definition, an import or a constant?"""
    return not isinstance(line, _DEFINITIONS) and (
        has(line, cst.Call) or not isinstance(line, cst.SimpleStatementLine)
    )


def _wrapped_as_function(module: cst.Module, template: str) -> cst.Module:
    """The same for templates with a function; what reaches for global names would not find them in it."""
    star = any(isinstance(one.names, cst.ImportStar) for one in nodes(module, cst.ImportFrom))
    if star or has(module, cst.Global) or any(one.value == "globals" for one in nodes(module, cst.Name)):
        return module
    return _wrapped(module, template)


@rewriting
def in_a_function(module: cst.Module) -> cst.Module:
    return _wrapped_as_function(module, "def start():\n    HERE\nstart()")


@rewriting
def in_a_function_that_another_calls(module: cst.Module) -> cst.Module:
    template = "def start():\n    HERE\ndef main():\n    start()\nif __name__ == '__main__':\n    main()"
    return _wrapped_as_function(module, template)


@rewriting
def in_a_closure(module: cst.Module) -> cst.Module:
    template = """
    def make():
        def start():
            HERE
        return start
    make()()
    """
    return _wrapped_as_function(module, template)


@rewriting
def in_a_method(module: cst.Module) -> cst.Module:
    return _wrapped_as_function(module, "class Runner:\n    def run(self):\n        HERE\nRunner().run()")


@rewriting
def in_a_static_method(module: cst.Module) -> cst.Module:
    template = "class Runner:\n    @staticmethod\n    def run():\n        HERE\nRunner.run()"
    return _wrapped_as_function(module, template)


@rewriting
def in_a_constructor(module: cst.Module) -> cst.Module:
    return _wrapped_as_function(module, "class Runner:\n    def __init__(self):\n        HERE\nRunner()")


@rewriting
def in_a_coroutine(module: cst.Module) -> cst.Module:
    changed = _wrapped_as_function(module, "async def start():\n    HERE\nasyncio.run(start())")
    return with_imports(module, changed, "import asyncio")


def _top_level_names(lines: list[Any]) -> list[str]:
    """The names that statements bind, those inside of functions and classes left out."""
    names: list[str] = []
    for line in lines:
        if isinstance(line, _DEFINITIONS):
            names.append(line.name.value)
            continue
        binding = nodes(line, cst.AssignTarget, cst.For, cst.AsName, cst.AugAssign, cst.NamedExpr)
        targets = [getattr(node, "target", None) or node.name for node in binding]
        names += [name.value for target in targets for name in _bound(target)]
        names += [name for one in nodes(line, *_DEFINITIONS) for name in [one.name.value]]
    return list(dict.fromkeys(names))


def _bound(target: Any) -> list[cst.Name]:
    if isinstance(target, cst.Name):
        return [target]
    if isinstance(target, (cst.Tuple, cst.List)):
        return [name for element in target.elements for name in _bound(element.value)]
    return []


def _with_global_names(module: cst.Module, template: str) -> cst.Module:
    _, rest = parted(module)
    names = _top_level_names(rest)
    if has(module, cst.AnnAssign) or not names:
        return module
    return _wrapped(module, template.replace("NAMES", ", ".join(names)))


@rewriting
def in_a_method_with_global_names(module: cst.Module) -> cst.Module:
    template = "class Runner:\n    def run(self):\n        global NAMES\n        HERE\nRunner().run()"
    return _with_global_names(module, template)


@rewriting
def in_a_function_with_global_names(module: cst.Module) -> cst.Module:
    return _with_global_names(module, "def start():\n    global NAMES\n    HERE\nstart()")


@rewriting
def with_a_main_guard(module: cst.Module) -> cst.Module:
    first, rest = parted(module)
    defined = [line for line in rest if isinstance(line, _DEFINITIONS)]
    main = [line for line in rest if not isinstance(line, _DEFINITIONS)]
    bound = set(_top_level_names(main))
    if not main or any(_reads_at_once(line) & bound for line in defined):
        return module
    guard = _filled(statements("if __name__ == '__main__':\n    HERE"), main)
    return module.with_changes(body=[*first, *defined, *guard])


def _reads_at_once(line: Any) -> set[str]:
    """The names that a definition reads where it stands: bases, decorators, defaults, a class's body."""
    parts: list[Any] = [*line.decorators]
    if isinstance(line, cst.ClassDef):
        parts += [*line.bases, *line.keywords]
        inner = line.body.body
    else:
        inner = ()
        parts += [param.default for param in nodes(line.params, cst.Param) if param.default]
    for one in inner:
        if isinstance(one, _DEFINITIONS):
            parts += [cst.Name(name) for name in _reads_at_once(one)]
        else:
            parts.append(one)
    return {name.value for part in parts for name in nodes(part, cst.Name)}


@rewriting
def if_true(module: cst.Module) -> cst.Module:
    return _wrapped(module, "if True:\n    HERE")


@rewriting
def in_a_loop_of_one_round(module: cst.Module) -> cst.Module:
    return _wrapped(module, "for _once in range(1):\n    HERE")


@rewriting
def try_finally(module: cst.Module) -> cst.Module:
    return _wrapped(module, "try:\n    HERE\nfinally:\n    pass")


@rewriting
def try_except_raise(module: cst.Module) -> cst.Module:
    return _wrapped(module, "try:\n    HERE\nexcept Exception:\n    raise")


@rewriting
def with_nullcontext(module: cst.Module) -> cst.Module:
    return with_imports(
        module, _wrapped(module, "with contextlib.nullcontext():\n    HERE"), "import contextlib"
    )


@rewriting
def with_a_manager_of_the_program(module: cst.Module) -> cst.Module:
    template = """
    @contextlib.contextmanager
    def surroundings():
        yield
    with surroundings():
        HERE
    """
    return with_imports(module, _wrapped(module, template), "import contextlib")


@rewriting
def with_gradients_enabled(module: cst.Module) -> cst.Module:
    """They are at the start, as the program finds them."""
    return with_imports(module, _wrapped(module, "with torch.enable_grad():\n    HERE"), "import torch")


def _is_plain(line: Any) -> bool:
    return not (is_docstring(line) or nodes(line, cst.Import, cst.ImportFrom, cst.Global, cst.Nonlocal))


def _each_wrapped(module: cst.Module, template: str) -> cst.Module:
    def change(line: Any, around: Any) -> Any:
        return _filled([statement(template)], [line])[0] if _is_plain(line) else line

    return each(module, cst.SimpleStatementLine, change)


@rewriting
def each_statement_in_if_true(module: cst.Module) -> cst.Module:
    return _each_wrapped(module, "if True:\n    HERE")


@rewriting
def each_statement_in_try_finally(module: cst.Module) -> cst.Module:
    return _each_wrapped(module, "try:\n    HERE\nfinally:\n    pass")


@rewriting
def each_statement_in_nullcontext(module: cst.Module) -> cst.Module:
    changed = _each_wrapped(module, "with nullcontext():\n    HERE")
    return with_imports(module, changed, "from contextlib import nullcontext")
