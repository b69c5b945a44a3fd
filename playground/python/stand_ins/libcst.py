"""Stands in for libcst, whose parser is no pure Python.

gradlint asks libcst only about programs that Python's own parser refuses, which may be written for a newer
Python. Here all such programs are refused.
"""

from __future__ import annotations

from typing import NoReturn


class CSTLogicError(Exception):
    """Never raised here."""


class CSTValidationError(Exception):
    """Never raised here."""


class ParserSyntaxError(Exception):
    """A program is no Python.

    Attributes:
        message: says so.
        editor_line: the first row, since no other is known.
        editor_column: its first column.
    """

    editor_line = 1
    editor_column = 1

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def parse_module(_source: str) -> NoReturn:
    """Refuse a program."""
    raise ParserSyntaxError("not Python")
