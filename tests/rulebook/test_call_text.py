"""Calls cut into their arguments, and what is written when one is added, renamed or taken out."""

import libcst as cst
import pytest

from gradcheck_tool.rulebook.call_text import CallText

CALLS = [
    "f()",
    "f(a)",
    "f(a, )",
    "f(a, b=1)",
    "f( a ,b = 1 ,)",
    "(f)(a, (b), *c, **d)",
    "f(lambda x, y=g[1:2]: (x, y), b={1: 2})",
    "f(lambda: 0, key=lambda x, *y: x)",
    "f(g(a, b)(c), x[1, 2], [i for i in a])",
    "f((i for i in a), b)",
    'f("a, b)", f"{a, b}", c=f"{x:{y}}")',
    "f(\n    a,  # first, of all\n    b=1,  # last\n)",
    "f(\n    a,\n\n    b,\n    # words, (and more\n    c\n)",
    "f(a := 1, ä, b='ü')",
    "f(a)(b, c)",
    "f[a, b](x, keyword=not y)",
    "await_(yield_, x if a else b, *a or b)",
]


@pytest.mark.parametrize("text", CALLS)
def test_arguments_are_those_that_a_parser_sees(text):
    call = CallText.parse(text)
    tree = cst.ensure_type(cst.parse_expression(text), cst.Call)
    assert [
        (one.keyword, one.star, call.text[one.value : one.end]) for one in call.arguments
    ] == [
        (arg.keyword and arg.keyword.value, arg.star, cst.Module([]).code_for_node(arg.value)) for arg in tree.args
    ]  # fmt: skip


@pytest.mark.parametrize("text", CALLS)
def test_each_argument_can_be_taken_out(text):
    call = CallText.parse(text)
    for index, argument in enumerate(call.arguments):
        left = CallText.parse(call.without(argument))
        kept = [*call.arguments[:index], *call.arguments[index + 1 :]]
        assert [left.text[one.start : one.end] for one in left.arguments] == [
            text[one.start : one.end] for one in kept
        ]


@pytest.mark.parametrize("text", ["f", "a + b", "f(i for i in a)", "f(", "(a, b)", ""])
def test_what_it_cannot_cut(text):
    assert CallText.parse(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f()", "f(k=1)"),
        ("f(a)", "f(a, k=1)"),
        ("f(a,)", "f(a, k=1,)"),
        ("f(a ,b)", "f(a ,b ,k=1)"),
        ("f(\n    a,  # one\n    b,\n)", "f(\n    a,  # one\n    b,\n    k=1,\n)"),
        ("f(\n    a,\n    b  # two\n)", "f(\n    a,\n    b,\n    k=1  # two\n)"),
    ],
)
def test_a_new_argument_is_separated_as_the_others_are(text, expected):
    assert CallText.parse(text).with_keyword("k", "1") == expected


def test_a_name_and_a_value_can_be_others():
    call = CallText.parse("f(a, b = (1), c=2)")
    assert call.renamed(call.keyword("b"), "long") == "f(a, long = (1), c=2)"
    assert call.with_value(call.keyword("b"), "None") == "f(a, b = None, c=2)"
