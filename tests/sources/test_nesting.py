"""How deeply a program is nested, by its text."""

from __future__ import annotations

import pytest

from gradcheck_tool.sources.nesting import is_too_deep

DEEP = {
    "parentheses": "x = " + "(" * 1300 + "1" + ")" * 1300,
    "brackets that are never closed": "[" * 1300,
    "many deep expressions": ("x = " + "f(" * 60 + ")" * 60 + "\n") * 60,
    "calls": "x = " + "f(" * 300 + ")" * 300,
    "a chain of calls": "x = y" + ".f()" * 2000,
    "items of items": "x = y" + "[0]" * 2000,
    "signs": "x = " + "-" * 10_000 + "1",
    "words": "x = " + "not " * 10_000 + "1",
    "lambdas": "x = " + "lambda: " * 4000 + "1",
    "choices": "x = " + "a if b else " * 4000 + "c",
    "alternatives": "if a: pass\n" + "elif b: pass\n" * 12_000,
    "brackets in a formatted text": "x = f'{" + "(" * 1300 + "1" + ")" * 1300 + "}'",
    "words in a formatted text": 'x = rf"""a {{b}} {' + "not " * 10_000 + 'a}"""',
    "patterns": "match a:\n    case " + "{1: " * 12 + "b" + "}" * 12 + ":\n        pass",
}
WIDE = {
    "a long list": "x = [" + "f(1) + 2, " * 5000 + "]",
    "a few deep expressions": ("x = " + "f(" * 60 + ")" * 60 + "\n") * 5,
    "many statements": "x = f(1) + (2)\n" * 5000,
    "many statements in a line": "x = 1; " * 5000,
    "brackets in a text": "x = '" + "(" * 5000 + "'",
    "brackets in a long text": 'x = """' + "(\n" * 5000 + '"""',
    "brackets beside the fields of a formatted text": "x = f'"
    + "(" * 5000
    + "{a!r:>{width}}"
    + "{{" * 5000
    + "'",
    "a formatted text of many words": "x = f'" + "word. " * 5000 + "{a}'",
    "brackets in a comment": "# " + "(" * 5000,
    "quotes in a text": "x = 'it\\'s (' + '(' * 5000",
    "a sum": "x = " + " + ".join(["a"] * 2000),
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_what_would_take_the_parser_too_deep_is_seen(text: str) -> None:
    assert is_too_deep(text)


@pytest.mark.parametrize("text", WIDE.values(), ids=WIDE)
def test_what_is_long_is_not_deep(text: str) -> None:
    assert not is_too_deep(text)
