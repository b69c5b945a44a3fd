"""Code that shows how something is used: examples in docstrings, and what a file does when it is run."""

from __future__ import annotations

import ast
import doctest
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcheck_tool.gradcheck.session import quiet
from gradcheck_tool.harness.inputs.synthesised.callees import loaded
from gradcheck_tool.trust.reading import read_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def examples_of(*described: Any) -> Iterator[Callable[[], Any]]:
    """The examples in the docstrings of functions and classes, each as a function that runs it."""
    for item in described:
        text = inspect.getdoc(item) if item is not None else None
        module = sys.modules.get(getattr(item, "__module__", None) or "")
        parsed = quiet(lambda text=text: doctest.DocTestParser().get_examples(text or ""))  # type: ignore[misc]
        if parsed and not isinstance(parsed, Exception) and module is not None:
            yield _running("".join(example.source for example in parsed), module)


def main_block(filename: str) -> Iterator[Callable[[], Any]]:
    """What `if __name__ == "__main__":` runs in an imported file."""
    module = loaded(filename)
    if module is None or not filename.endswith(".py"):
        return
    tree = ast.parse(read_program(Path(filename)))
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'":
            yield _running(ast.unparse(ast.Module(node.body, [])), module)


def _running(program: str, module: Any) -> Callable[[], Any]:
    def run() -> None:
        exec(compile(program, "<example>", "exec"), dict(vars(module)))  # noqa: S102 - of the code that is checked

    return run
