"""Mutations of tokens, lines and characters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from benchmarks.odd_files.words import CALLS, KEYWORDS, NUMBERS, ODD, OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

TOKEN = re.compile(r"\w+|\s+|\*\*=?|//=?|[-+*/%@&|^<>=!:]=|->|[^\w\s]")
WORD = re.compile(r"[^\W\d]\w*")
# How deeply something is nested, how often something is repeated.
DEPTHS = (3, 10, 30, 90, 250, 1000)


def _on_tokens(change: Callable[[Random, list[str], list[str]], None]) -> Callable[[Random, str, str], str]:
    def run(rng: Random, text: str, other: str) -> str:
        tokens = TOKEN.findall(text)
        if tokens:
            for _ in range(rng.choice((1, 1, 1, 3, 10))):
                change(rng, tokens, TOKEN.findall(other[:2000]) or [" "])
        return "".join(tokens)

    return run


def _at(rng: Random, tokens: list[str]) -> int:
    return rng.randrange(len(tokens))


def _delete_token(rng: Random, tokens: list[str], _: list[str]) -> None:
    if len(tokens) > 1:
        del tokens[_at(rng, tokens)]


def _duplicate_token(rng: Random, tokens: list[str], _: list[str]) -> None:
    at = _at(rng, tokens)
    tokens[at:at] = [tokens[at]] * rng.choice((1, 1, 2, 100))


def _swap_tokens(rng: Random, tokens: list[str], _: list[str]) -> None:
    i, j = _at(rng, tokens), _at(rng, tokens)
    tokens[i], tokens[j] = tokens[j], tokens[i]


def _change_token(rng: Random, tokens: list[str], other: list[str]) -> None:
    kind = rng.randrange(4)
    fits = (
        lambda token: WORD.fullmatch(token) is not None,
        str.isdigit,
        lambda token: token in OPERATORS,
        lambda _: True,
    )[kind]
    places = [at for at, token in enumerate(tokens) if fits(token)]
    if places:
        words = [token for token in tokens if WORD.fullmatch(token)] or KEYWORDS
        new = (rng.choice((KEYWORDS, CALLS, words, words)), NUMBERS, OPERATORS, other)[kind]
        tokens[rng.choice(places)] = rng.choice(new)


def _insert_token(rng: Random, tokens: list[str], other: list[str]) -> None:
    at = _at(rng, tokens)
    tokens[at:at] = [rng.choice(rng.choice((KEYWORDS, OPERATORS, NUMBERS, ODD, other)))]


TOKENS = tuple(
    map(
        _on_tokens,
        (
            _delete_token,
            _duplicate_token,
            _swap_tokens,
            _change_token,
            _change_token,
            _change_token,
            _insert_token,
        ),
    )
)


def _cut(rng: Random, text: str, _: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _behead(rng: Random, text: str, _: str) -> str:
    return text[rng.randrange(len(text) + 1) :]


def _splice(rng: Random, text: str, other: str) -> str:
    rows, more = text.split("\n"), other.split("\n")
    return "\n".join([*rows[: rng.randrange(len(rows) + 1)], *more[rng.randrange(len(more)) :]])


def _weave(rng: Random, text: str, other: str) -> str:
    rows, more = text.split("\n"), other.split("\n")
    at = rng.randrange(len(rows))
    return "\n".join([*rows[:at], *more, *rows[at:]])


def _indent(rng: Random, text: str, _: str) -> str:
    rows = text.split("\n")
    start = rng.randrange(len(rows))
    for at in range(start, min(len(rows), start + rng.choice((1, 3, 20)))):
        rows[at] = (
            rng.choice((" ", "    ", "\t", "\f")) + rows[at] if rng.random() < 0.7 else rows[at].lstrip()
        )
    return "\n".join(rows)


def _repeat(rng: Random, text: str, _: str) -> str:
    rows = text.split("\n")
    at = rng.randrange(len(rows))
    rows[at:at] = rows[at : at + rng.choice((1, 1, 4))] * rng.choice(DEPTHS)
    return "\n".join(rows)


def _odd(rng: Random, text: str, _: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(ODD) * rng.choice((1, 1, 3)) + text[at:]


_DEEP = (
    ("(", ")"), ("[", "]"), ("{", "}"), ("f(", ")"), ("-", ""), ("not ", ""), ("lambda: ", ""), ("x.", "y"),
    ("x[", "]"), ("f'{", "}'"), ("1 + ", "1"), ("x = ", "1"), ("x if y else ", "z"), ("{x: ", "}"),
    ("await ", "x"),
    ("*", "x"), ("x < ", "1"), ("(", ",)"), ("torch.relu(", ")"), ("(yield ", ")"), ("x and ", "y"), ("[*",
    "]"),
)  # fmt: skip


def _deep(rng: Random, text: str, _: str) -> str:
    rows = text.split("\n")
    at, depth = rng.randrange(len(rows)), rng.choice(DEPTHS)
    before, after = rng.choice(_DEEP)
    lead = rows[at][: len(rows[at]) - len(rows[at].lstrip())]
    rows[at:at] = [f"{lead}z = {before * depth}1{after * depth}"]
    return "\n".join(rows)


_BLOCKS = (
    "if x:",
    "for i in x:",
    "while x:",
    "with x:",
    "try:",
    "def f():",
    "class A:",
    "for i in range(2):",
)


def _blocks(rng: Random, text: str, _: str) -> str:
    """The rest of the file inside many blocks, or many blocks at its end."""
    rows = text.split("\n")
    at, depth = rng.randrange(len(rows)), rng.choice((3, 10, 19, 60, 99))
    heads = [rng.choice(_BLOCKS)] * depth if rng.random() < 0.5 else rng.choices(_BLOCKS[:4], k=depth)
    nested = [" " * n + head for n, head in enumerate(heads)]
    rest = [" " * depth + row for row in rows[at:]] if rng.random() < 0.5 else [" " * depth + "x = x + loss"]
    return "\n".join([*(rows[:at] if rng.random() < 0.5 else rows), *nested, *rest])


def _ends(rng: Random, text: str, _: str) -> str:
    end = rng.choice(("\r\n", "\r", "\f\n", " \n", "\\\n", "\n\n", ";\n", "\v\n"))
    if rng.random() < 0.5:
        return text.replace("\n", end)
    rows = text.split("\n")
    return "".join(row + (end if rng.random() < 0.2 else "\n") for row in rows)


def _quotes(rng: Random, text: str, _: str) -> str:
    at = rng.randrange(len(text) + 1)
    quotes = ('"', "'", '"""', "'''", 'f"{', "rb'", "\\", "#", 't"{x}"', "u'\\N{")
    return text[:at] + rng.choice(quotes) + text[at:]


def _no_end(rng: Random, text: str, _: str) -> str:
    return text.rstrip("\n") + rng.choice(("", "\\", " ", "\t", "#", "\f", "\n\n\n\\\n", "\x1a"))


LINES = (
    _cut, _behead, _splice, _splice, _weave, _weave, _indent, _indent, _repeat, _odd, _odd, _deep, _deep,
    _blocks,
    _blocks, _ends, _ends, _quotes, _no_end,
)  # fmt: skip
