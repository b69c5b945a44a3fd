"""The text of a call, cut into its arguments: what a fix leaves alone stays as it is written."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BLANK = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)


@dataclass(frozen=True)
class Token:
    """A token that means something, and where its text begins and ends."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Argument:
    """One argument: `keyword` is its name where it has one, `star` what unpacks it.

    `start` and `end` enclose all of it, `value` is where the value begins.
    """

    keyword: str | None
    star: str
    start: int
    value: int
    end: int


@dataclass(frozen=True)
class CallText:
    """A call; offsets are those in `text`. `close` is where the last parenthesis stands."""

    text: str
    arguments: tuple[Argument, ...]
    close: int

    @classmethod
    def parse(cls, text: str) -> CallText | None:
        """Cut a call.

        Returns:
            None where it is none, or its argument is a generator that has no parentheses of its own.
        """
        # Parentheses let it continue past the end of a line.
        around = f"({text})"
        try:
            call = ast.parse(around, mode="eval").body
            tokens = list(_tokens(around))[1:-1]
        except (SyntaxError, tokenize.TokenError):
            return None
        if not isinstance(call, ast.Call):
            return None
        inner = _within_last(tokens)
        groups = list(_split(inner))
        if any(isinstance(arg, ast.GeneratorExp) for arg in call.args) and not _is_enclosed(groups[0]):
            return None
        return cls(text, tuple(map(_argument, groups)), tokens[-1].start)

    def keyword(self, name: str) -> Argument | None:
        """The argument that is passed by this name."""
        return next((one for one in self.arguments if one.keyword == name), None)

    def with_value(self, argument: Argument, value: str) -> str:
        """The call with another value for an argument."""
        return self.text[: argument.value] + value + self.text[argument.end :]

    def renamed(self, argument: Argument, name: str) -> str:
        """The call with another name for what is passed by name."""
        after = argument.start + len(argument.keyword or "")
        return self.text[: argument.start] + name + self.text[after:]

    def with_keyword(self, name: str, value: str) -> str:
        """The call with one more argument, separated and spread over lines as the others are."""
        new = f"{name}={value}"
        if not self.arguments:
            return self.text[: self.close] + new + self.text[self.close :]
        end = self.arguments[-1].end
        return self.text[:end] + self._separator() + new + self.text[end:]

    def without(self, argument: Argument) -> str:
        """The call without one of its arguments."""
        index = self.arguments.index(argument)
        if index + 1 < len(self.arguments):
            start, end = argument.start, self.arguments[index + 1].start
        elif index:
            start, end = self.arguments[index - 1].end, argument.end
        else:
            start, end = argument.start, self.close
        return self.text[:start] + self.text[end:]

    def _separator(self) -> str:
        if len(self.arguments) == 1:
            return ", "
        before, after = self.arguments[-2:]
        written = self.text[before.end : after.start]
        # A comment stays with the argument that it is about.
        return f",\n{written.rpartition(chr(10))[2]}" if "\n" in written else written


def _tokens(text: str) -> Iterator[Token]:
    """The tokens of a text in parentheses, with offsets from behind the first of them."""
    begins = [0]
    for line in text.split("\n"):
        begins.append(begins[-1] + len(line) + 1)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _BLANK and token.string:
            (row, column), (last, end) = token.start, token.end
            yield Token(token.string, begins[row - 1] + column - 1, begins[last - 1] + end - 1)


def _within_last(tokens: Sequence[Token]) -> Sequence[Token]:
    """The tokens between the last parenthesis and the one that opens it."""
    depth = 0
    for index in range(len(tokens) - 1, -1, -1):
        depth += (tokens[index].text in ")]}") - (tokens[index].text in "([{")
        if depth == 0:
            return tokens[index + 1 : -1]
    raise AssertionError("a call ends in a parenthesis that something opens")


def _split(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The arguments: what commas separate that are neither in brackets nor between `lambda` and its colon."""
    cuts, depth, parameters = [-1], 0, []
    for index, token in enumerate(tokens):
        if token.text in "([{":
            depth += 1
        elif token.text in ")]}":
            depth -= 1
        elif token.text == "lambda":
            parameters.append(depth)
        elif token.text == ":" and parameters and parameters[-1] == depth:
            parameters.pop()
        elif token.text == "," and depth == 0 and not parameters:
            cuts.append(index)
    for before, after in pairwise([*cuts, len(tokens)]):
        if before + 1 < after:
            yield tokens[before + 1 : after]


def _is_enclosed(tokens: Sequence[Token]) -> bool:
    return tokens[0].text == "(" and tokens[-1].text == ")"


def _argument(tokens: Sequence[Token]) -> Argument:
    first, last = tokens[0], tokens[-1]
    if len(tokens) > 1 and tokens[1].text == "=":
        return Argument(first.text, "", first.start, tokens[2].start, last.end)
    star = first.text if first.text in ("*", "**") else ""
    return Argument(None, star, first.start, tokens[1 if star else 0].start, last.end)
