"""Source text to libcst tree, with one kind of error."""

from __future__ import annotations

import libcst as cst


def parse(source: str) -> cst.Module:
    """Parse one file.

    Raises:
        libcst.ParserSyntaxError: `source` is not valid Python, or newer than the parser knows.
    """
    try:
        return cst.parse_module(source)
    except (cst.CSTLogicError, cst.CSTValidationError) as error:
        # The parser accepts some new syntax (concatenated template strings) that its nodes refuse.
        lines = source.splitlines(keepends=True)
        raise cst.ParserSyntaxError(
            f"the parser does not support this file: {error}", lines=lines, raw_line=1, raw_column=0
        ) from error
