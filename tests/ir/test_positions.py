"""Nodes are found where the author sees them: 1-based rows and columns, end exclusive."""

from __future__ import annotations

import re
import sys

import libcst as cst
import pytest

from gradcheck_tool.findings import Position
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.lower import lower_light, lower_module
from gradcheck_tool.ir.outline import outline
from gradcheck_tool.ir.positions import locate
from gradcheck_tool.ir.spans import UnplacedError
from gradcheck_tool.ir.wording import one_line


def light_module(source, filename):
    found = outline(source)
    assert found is not None
    return lower_light(found, filename)


TREES = pytest.mark.parametrize("lower", [lower_module, light_module], ids=["libcst", "light"])


def instructions(module):
    return [
        instr
        for function in (module.body, *module.functions)
        for block in function.blocks.values()
        for instr in (*block.instrs, block.terminator)
    ]


def span(module, kind, index=0):
    """Where the `index`-th instruction of this kind stands, and the text there."""
    found = [instr for instr in instructions(module) if isinstance(instr, kind)]
    location = locate(module, found[index].node)
    assert location.filename == "p.py"
    assert location.cell is None
    start, end = location.start, location.end
    rows = re.split(r"\r\n|\r|\n", module.source.removeprefix("\ufeff"))[start.row - 1 : end.row]
    rows[-1] = rows[-1][: end.column - 1]
    rows[0] = rows[0][start.column - 1 :]
    return (start.row, start.column, end.row, end.column), one_line("\n".join(rows))


@pytest.mark.parametrize(
    ("source", "kind", "expected", "text"),
    [
        ("x = f(a)\n", ir.Call, (1, 5, 1, 9), "f(a)"),
        ("x = f(a)", ir.Call, (1, 5, 1, 9), "f(a)"),
        ("if a:\n\tf(x)\n", ir.Call, (2, 2, 2, 6), "f(x)"),
        ("if a:\n\t\tb = f(x)\t# c\n", ir.Call, (2, 7, 2, 11), "f(x)"),
        ("é = 'ü' + 日本(a)\n", ir.Call, (1, 11, 1, 16), "日本(a)"),
        ("x = '😀', f(1)\n", ir.Call, (1, 10, 1, 14), "f(1)"),
        ("x = 1\r\ny = f(a)\r\n", ir.Call, (2, 5, 2, 9), "f(a)"),
        ("x = 1\ry = f(a)\r", ir.Call, (2, 5, 2, 9), "f(a)"),
        ("\ufeffx = f(a)\n", ir.Call, (1, 5, 1, 9), "f(a)"),
        ("x = 1\n\fy = f(a)\n", ir.Call, (2, 6, 2, 10), "f(a)"),
        ("\f\fy = f(a)\n", ir.Call, (1, 7, 1, 11), "f(a)"),
        ("\f\ny = f(a)\n", ir.Call, (2, 5, 2, 9), "f(a)"),
        ("if a:\n\f    f(a)\n", ir.Call, (2, 6, 2, 10), "f(a)"),
        ("x = f(\n    a,  # note\n    '#',\n)\n", ir.Call, (1, 5, 4, 2), "f(a, '#',)"),
        ("x = f(a) \\\n  .b\n", ir.GetAttr, (1, 5, 2, 5), "f(a) .b"),
        ("(a + b).c()\n", ir.Call, (1, 1, 1, 12), "(a + b).c()"),
        ("x = (a + b)\n", ir.BinOp, (1, 6, 1, 11), "a + b"),
        ("'''a\n\n''' + f(x)\n", ir.Call, (3, 7, 3, 11), "f(x)"),
        ("x += 1\n", ir.InplaceOp, (1, 1, 1, 7), "x += 1"),
        ("x += 1\n", ir.StoreName, (1, 1, 1, 7), "x += 1"),
        ("x[0] = y\n", ir.SetItem, (1, 1, 1, 9), "x[0] = y"),
        ("x[0], y = z\n", ir.SetItem, (1, 1, 1, 5), "x[0]"),
        ("x.a: int = 3\n", ir.SetAttr, (1, 1, 1, 13), "x.a: int = 3"),
        ("x, y = z\n", ir.StoreName, (1, 1, 1, 2), "x"),
        ("@d\nasync def f(a): pass\n", ir.MakeFunction, (2, 11, 2, 12), "f"),
        ("@d\ndef f(a): pass\n", ir.Call, (1, 1, 1, 3), "@d"),
        ("class  A(B):\n    pass\n", ir.MakeClass, (1, 8, 1, 9), "A"),
        ("with a() as b, c:\n    pass\n", ir.EnterWith, (1, 6, 1, 9), "a()"),
        ("for i in x:\n    pass\n", ir.ForIter, (1, 1, 1, 11), "for i in x"),
        ("for i in x:\n    pass\n", ir.Return, (1, 1, 1, 1), ""),
        ("try:\n    a()\nexcept B as c:\n    pass\n", ir.MatchException, (3, 1, 3, 7), "except"),
        ("import a.b as c\n", ir.Import, (1, 8, 1, 16), "a.b as c"),
        ("assert a, 'x'\n", ir.Raise, (1, 1, 1, 14), "assert a, 'x'"),
        ("x = [a for a in b]\n", ir.MakeFunction, (1, 5, 1, 19), "[a for a in b]"),
        ("def f():\n    return  1\n", ir.Return, (1, 1, 1, 1), ""),
    ],
)
@TREES
def test_span_and_text(lower, source, kind, expected, text):
    assert span(lower(source, "p.py"), kind) == (expected, text)


@TREES
def test_a_finally_is_where_it_is_written(lower):
    module = lower("try:\n    a()\nfinally:\n    b()\n", "p.py")
    if lower is light_module:
        with pytest.raises(UnplacedError):
            span(module, ir.Catch)
    else:
        assert span(module, ir.Catch) == ((3, 1, 3, 8), "finally")


CONSTRUCTS = (
    "@d\nclass A(B, metaclass=M):\n    async def f(self, *a, b=1):\n        async with c as d: await d\n"
    "        while x:\n            try:\n                match y:\n                    case [1, *r] if r: break\n"
    "                    case {'k': v, **w} | A(v, w=w): del v[0]\n            except E as e: raise F from e\n"
    "            else: x -= (z := 1)\n            finally: print(f'{x!r:>{y}}', {k: v for k, v in q if not k})\n"
    "if a: pass\nelif b < c < d: pass\nelse: x = y if (lambda: (yield))() else z[1:2, ...]\n"
)


def test_every_instruction_has_a_place():
    module = lower_module(CONSTRUCTS, "p.py")
    lines = CONSTRUCTS.split("\n")
    for instr in instructions(module):
        location = locate(module, instr.node)
        assert Position(1, 1) <= location.start <= location.end
        assert location.end.column <= len(lines[location.end.row - 1]) + 1


# What Python's own tree has no place for (of names, those that patterns and `except` bind), and what Python
# places otherwise: a tuple with its parentheses.
UNPLACED = {"MatchCase", "Finally", "Else", "FormattedStringExpression", "Name"}
NOT_ALIKE = {"Tuple", "MatchTuple", "CompFor"}


def test_light_nodes_stand_where_those_of_libcst_do():
    program = CONSTRUCTS + (
        "import a.b as c, d.e\nfrom .f import (\n    g,\n    h as i,\n)\nfor j in k:\n    pass\n"
        "with m(n) as o, p:\n    q = [r for s in t if u]\n@w . x(1)\n@y\ndef z(): return sum(\n  é for é in b\n)\n"
        "a = b and c and d or e\nf = (g[1:2] +\n  h).i\nraise ValueError('ü' 'é', j . k)\ndef  l (): pass\n"
    )
    whole, light = lower_module(program, "p.py"), light_module(program, "p.py")
    compared = 0
    for one, other in zip(instructions(whole), instructions(light), strict=True):
        kind = type(one.node).__name__
        if kind in NOT_ALIKE:
            continue
        try:
            place = locate(light, other.node)
        except UnplacedError:
            assert kind in UNPLACED
            continue
        assert place == locate(whole, one.node), kind
        compared += 1
    assert compared > 150


def test_places_in_formatted_strings_are_right_or_unknown():
    source = "x = f'''a\n{ b(1) }\n{c:>{d(2)}} {f\"{e(3)}\"}'''\ny = f(4) + f'{g(5)}' 'h'\n"
    module = light_module(source, "p.py")
    spans = module.spans
    placed = 0
    for instr in instructions(module):
        if isinstance(instr, ir.Call):
            try:
                spans.span(instr.node)
            except UnplacedError:
                assert sys.version_info < (3, 12)
                continue
            text = spans.text(instr.node)
            number = instr.node.args[0].value.value
            assert text.endswith(f"({int(number, 0)})")
            placed += 1
    assert placed >= (5 if sys.version_info >= (3, 12) else 1)


@TREES
def test_a_foreign_node_has_no_place(lower):
    module = lower("x = 1\n", "p.py")
    with pytest.raises(UnplacedError):
        locate(module, cst.Name("x"))


@TREES
def test_deep_trees_have_positions(lower):
    module = lower("x = " + " + ".join(["a"] * 2000) + "\n", "p.py")
    location = locate(module, module.tree.body[0].body[0].value)
    assert location.start == Position(1, 5)
    assert location.end == Position(1, 5 + 4 * 2000 - 3)
