"""Source text to libcst tree, with one kind of error."""

from __future__ import annotations

import ast
import re
import warnings

import libcst as cst

from gradcheck_tool.ir.errors import LoweringError
from gradcheck_tool.sources.nesting import is_too_deep

_PLACE = re.compile(r"error at (\d+):(\d+)")


def parse(source: str) -> cst.Module:
    """Parse one file.

    Raises:
        libcst.ParserSyntaxError: `source` is not valid Python, or newer than the parser knows.
        LoweringError: it is nested too deeply for the parser.
    """
    if is_too_deep(source):
        raise LoweringError("an expression or statement is nested too deeply")
    try:
        return cst.parse_module(source)
    except (cst.CSTLogicError, cst.CSTValidationError, UnicodeEncodeError) as error:
        # The parser accepts some new syntax (concatenated template strings) that its nodes refuse; half of a
        # character it does not read.
        lines = source.splitlines(keepends=True)
        raise cst.ParserSyntaxError(
            f"the parser does not support this file: {error}", lines=lines, raw_line=1, raw_column=0
        ) from error


def refused_at(source: str, error: cst.ParserSyntaxError) -> tuple[int, int]:
    """The row and column of an error in a program that libcst refuses (both 1-based).

    libcst notes the place of the token after, or none. Python's own parser tells the right one; where that
    takes the program, the message of libcst has the place.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source.removeprefix("\ufeff"))
    except SyntaxError as refused:
        return refused.lineno or 1, max(refused.offset or 1, 1)
    except (ValueError, RecursionError, MemoryError):
        pass
    told = _PLACE.search(error.message)
    return (int(told[1]), int(told[2]) + 1) if told else (error.editor_line, error.editor_column)
