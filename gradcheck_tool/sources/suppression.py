"""Suppression comments: `# noqa: GL201`, `# gradlint: ignore[GL201]`, `# gradlint: skip-file[GL201]`.

A comment speaks for the statement it stands in. In a statement of several lines, a comment on the
first or the last line speaks for the whole statement; one between them for findings on its own line.
"""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradcheck_tool.sources.source import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.findings import Finding

_ANY = re.compile(r"noqa|gradlint:", re.IGNORECASE)
_ANY_BYTES = re.compile(_ANY.pattern.encode(), re.IGNORECASE)
_SKIP = re.compile(r"#\s*gradlint:\s*skip-file\b(?:\[(?P<codes>[^\]]*)\])?")
_IGNORE = re.compile(r"#\s*gradlint:\s*ignore(?:\[(?P<codes>[^\]]*)\])?")
_NOQA = re.compile(
    r"#\s*noqa(?:\s*:\s*(?P<codes>[A-Za-z]+[0-9]+(?:[\s,]+[A-Za-z]+[0-9]+)*))?(?![\w-])", re.IGNORECASE
)
_SEPARATORS = re.compile(r"[\s,]+")
# What is not one is the name of a rule.
_CODE = re.compile(r"[A-Za-z]+[0-9]+")


@dataclass(frozen=True)
class Suppression:
    """One comment.

    Attributes:
        row: the comment's row.
        start, end: 0-based columns of the directive in its row.
        first, last: rows of the statement that it stands in.
        codes: codes or names of rules; None suppresses every rule.
        own: whether the directive is gradlint's alone, and not `noqa`, which other linters read.
    """

    row: int
    start: int
    end: int
    first: int
    last: int
    codes: tuple[str, ...] | None
    own: bool

    def covers(self, finding: Finding) -> bool:
        """Whether the comment speaks for this finding."""
        start, end = finding.location.start.row, finding.location.end.row
        if not self.first <= start <= self.last:
            return False
        if self.row not in (self.first, self.last) and not start <= self.row <= end:
            return False
        return self.codes is None or bool(self.matching(finding))

    def matching(self, finding: Finding) -> set[str]:
        """The codes of the comment that mean the finding's rule."""
        return {code for code in self.codes or () if means(code, finding.code, finding.name)}


@dataclass(frozen=True)
class Suppressions:
    """All suppressions of one program.

    Attributes:
        skip_file: whether a comment suppresses all findings in it.
        skipped: the codes or names of rules whose findings in it are suppressed.
        comments: those that speak for a statement.
        named: row, code or name, and whether the comment is gradlint's alone, for every code in a comment.
    """

    skip_file: bool = False
    skipped: frozenset[str] = frozenset()
    comments: tuple[Suppression, ...] = field(default=())
    named: tuple[tuple[int, str, bool], ...] = ()

    def skips(self, finding: Finding) -> bool:
        """Whether a comment suppresses findings of this rule in all of the program."""
        return self.skip_file or any(means(code, finding.code, finding.name) for code in self.skipped)

    def covering(self, finding: Finding) -> list[Suppression]:
        """The comments that suppress a finding."""
        return [comment for comment in self.comments if comment.covers(finding)]


def means(code: str, rule: str, name: str) -> bool:
    """Whether a code in a comment means the rule of this code and name: it may be the beginning of codes."""
    return code == name or (_CODE.fullmatch(code) is not None and rule.startswith(code))


def may_hold_suppressions(data: bytes) -> bool:
    """Whether a file's bytes mention a suppression."""
    return _ANY_BYTES.search(data) is not None


def read_suppressions(text: str) -> Suppressions:
    """Find the suppression comments of a program; text in strings is not a comment."""
    if not _ANY.search(text):
        return Suppressions()
    comments: list[Suppression] = []
    named: list[tuple[int, str, bool]] = []
    skipped: set[str] = set()
    skip = False
    for comment, row, column, first, last in _comments(text):
        if skips := _SKIP.search(comment):
            codes = _codes(skips.group("codes"))
            skip = skip or codes is None
            skipped.update(codes or ())
            named += [(row, code, True) for code in codes or ()]
        for pattern in (_IGNORE, _NOQA):
            match = pattern.search(comment)
            if match:
                codes = _codes(match.group("codes"))
                span = (column + match.start(), column + match.end())
                comments.append(Suppression(row, *span, first, last, codes, pattern is _IGNORE))
                named += [(row, code, pattern is _IGNORE) for code in codes or ()]
    return Suppressions(skip, frozenset(skipped), tuple(comments), tuple(named))


def statement_rows(text: str) -> dict[int, tuple[int, int]]:
    """For each row of a statement of several lines, its first and last row."""
    rows: dict[int, tuple[int, int]] = {}
    for first, last in _statements(text):
        rows.update(dict.fromkeys(range(first, last + 1), (first, last)))
    return rows


def _codes(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    codes = (code for code in _SEPARATORS.split(text.strip()) if code)
    return tuple(code.upper() if _CODE.fullmatch(code) else code for code in codes)


def _comments(text: str) -> Iterable[tuple[str, int, int, int, int]]:
    """Each comment with its row, 0-based column, and the rows of its statement."""
    pending: list[tuple[str, int, int]] = []
    found: list[tuple[str, int, int, int, int]] = []
    first: int | None = None
    for token in _tokens(text):
        row, column = token.start
        if token.type == tokenize.COMMENT:
            pending.append((token.string, row, column))
        elif token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            found += [(string, at, where, first or at, row if first else at) for string, at, where in pending]
            pending, first = [], None
        elif token.type == tokenize.NL and first is None:
            found += [(string, at, where, at, at) for string, at, where in pending]
            pending = []
        elif first is None and token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            first = row
    return found


def _statements(text: str) -> Iterable[tuple[int, int]]:
    first: int | None = None
    skipped = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    for token in _tokens(text):
        if token.type == tokenize.NEWLINE:
            if first is not None and token.start[0] > first:
                yield first, token.start[0]
            first = None
        elif first is None and token.type not in skipped:
            first = token.start[0]


def _tokens(text: str) -> Iterable[tokenize.TokenInfo]:
    """The program's tokens; from the point on where this Python cannot tokenize, line by line."""
    lines = split_lines(text)
    last = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
            last = token.end[0]
            yield token
    except (tokenize.TokenError, SyntaxError):
        # The statement that cannot be read ends here, as far as comments below it go.
        yield tokenize.TokenInfo(tokenize.NEWLINE, "", (last, 0), (last, 0), "")
        for row, line in enumerate(lines[last:], start=last + 1):
            column = line.find("#")
            if column >= 0:
                comment = line[column:]
                yield tokenize.TokenInfo(
                    tokenize.COMMENT, comment, (row, column), (row, column + len(comment)), line
                )
            yield tokenize.TokenInfo(tokenize.NL, "\n", (row, len(line)), (row, len(line) + 1), line)
