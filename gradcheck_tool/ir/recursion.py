"""Long chains of operations make deep trees; the usual recursion limit is not made for them."""

from __future__ import annotations

import ast
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from gradcheck_tool.ir.errors import LoweringError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Deep enough for any program that people write, and for the stack of a thread on every platform.
_DEEP = 20_000
# Python's own parser calls itself on the stack of the machine, three times as deep as this.
_PARSER = 5_000

_Result = TypeVar("_Result")


def with_deep_recursion(work: Callable[[], _Result], filename: str) -> _Result:
    """Run `work`, and once more with a higher recursion limit where the usual one does not do.

    Raises:
        LoweringError: the higher limit does not do either.
    """
    try:
        return work()
    except Exception as error:
        if not _is_of_depth(error):
            raise
    try:
        with recursion_limit(_DEEP):
            return work()
    except Exception as error:
        if not _is_of_depth(error):
            raise
        raise LoweringError(f"{filename}: an expression or statement is nested too deeply") from None


def _is_of_depth(error: BaseException | None) -> bool:
    """Was the recursion limit reached? What libcst does on its way out then raises other errors."""
    while error is not None:
        if isinstance(error, RecursionError):
            return True
        error = error.__context__
    return False


def parse_deep(source: str) -> ast.Module:
    """Parse with Python's own parser what is nested deeper than it usually allows.

    Raises:
        SyntaxError: it is not Python.
        ValueError, RecursionError, MemoryError: Python's parser does not read it.
    """
    try:
        return ast.parse(source)
    except RecursionError:
        with recursion_limit(_PARSER):
            return ast.parse(source)


@contextmanager
def recursion_limit(limit: int) -> Iterator[None]:
    """Let Python's calls go so deep at least."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, limit))
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)
