"""Every construct of Python 3.8 to 3.14 lowers, and what is lowered keeps the promises of the IR."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path

import libcst
import pytest

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.dataflow import successors
from gradcheck_tool.ir.dump import dump, dump_module
from gradcheck_tool.ir.errors import LoweringError
from gradcheck_tool.ir.liveness import live_in
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.ir.operands import reads, writes

NEW_SYNTAX = {
    "except group": "try:\n    f()\nexcept* OSError as e:\n    g(e)\nexcept* (A, B):\n    raise\nelse:\n    h()\nfinally:\n    k()\n",
    "except without parentheses": "try:\n    f()\nexcept A, B:\n    g()\n",
    "type parameters": "def f[T: int, *Ts, **P](x: T) -> T:\n    return T(x)\nclass A[T](Base[T]):\n    y: T\n    z = T\n",
    "type parameter defaults": "def f[T = int](x: T): pass\nclass A[*Ts = *tuple[int]]: pass\n",
    "type alias": "type X = int\ntype Y[T] = list[T]\nprint(X, Y)\n",
    "template string": 't"a {x!r:>{w}} {y = }" "b"\nrt"{z}"\n',
    "nested quotes": 'f"{f"{x["k"]}"} {"\\n".join(y)}"\n',
    "starred index": "x[*a, 1] = y[*b]\nf: tuple[*Ts] = 1\n",
    "starred annotation": "def f(*args: *Ts): pass\n",
    "unpacking in comprehension": "a = [*x for x in y]\nb = {*x for x in y}\nc = {**x for x in y}\nd = (*x for x in y)\n",
    "lazy import": "lazy import a.b\nlazy from c import d\n",
    "star in for and return": "def f():\n    for x in *a, *b: yield *a, x\n    return *a, 1\n",
    "parenthesised with": "with (open(a) as f, open(b) as g,):\n    pass\nasync def f():\n    async with (a as b, c):\n        pass\n",
    "finally with jumps": "while x:\n    try: continue\n    finally: break\n",
    "decorator expression": "@x[0].y(1) if z else w\ndef f(): pass\n",
    "everything await": "async def f():\n    return {await k: await v async for k, v in x if await k}, (await z async for z in y), await a + await b\n",
    "lambda": "f = lambda a, /, b=1, *c, d=2, **e: (yield a)\n",
    "empty file": "",
    "only a docstring": '"""doc"""\n',
    "only a comment": "# nothing\n",
    "one-line suites": "if a: b; c\nelse: d\nfor i in x: break\nwhile y: continue\nclass A: x = 1; y = 2\ndef f(): 'doc'; return 1\n",
    "huge number": f"x = {'9' * 5000}\n",
    "bytes and text mixed up": "x = b'a'\ny = b'\\xff'\n",
}


def functions_of(source):
    module = lower_module(source, "program.py")
    return [module.body, *module.functions]


def check_promises(function):
    place = {id_: index for index, id_ in enumerate(function.order)}
    assert function.blocks.keys() == place.keys() == live_in(function).keys()
    assert function.order[0] == function.entry
    assigned, copied = [], set()
    entered_by_exception = {block.handler for block in function.blocks.values() if block.handler is not None}
    for id_, block in function.blocks.items():
        assert block.id == id_
        assert block.terminator is not None
        back = isinstance(block.terminator, ir.Jump) and block.terminator.back
        for target in successors(block):
            assert (place[target] <= place[id_]) == back
            assert target not in entered_by_exception
            if back:
                assert id_ in function.loops[target].blocks
        if block.handler is not None:
            assert place[block.handler] > place[id_]
            assert isinstance(function.blocks[block.handler].instrs[0], ir.Catch)
        for instr in [*block.instrs, block.terminator]:
            if isinstance(instr, ir.Copy):
                copied.add(instr.dst)
            else:
                assigned.extend(reg for reg in writes(instr) if reg is not None)
    assert len(assigned) == len(set(assigned))
    assert not copied & set(assigned)
    for head, loop in function.loops.items():
        places = sorted(place[id_] for id_ in loop.blocks)
        assert places[0] == place[head]
        assert places == list(range(places[0], places[-1] + 1))
    everything_read = {reg for block in function.blocks.values() for i in block.instrs for reg in reads(i)}
    assert everything_read - {None} <= copied | set(assigned)
    assert {name for name in live_in(function)[function.entry] if isinstance(name, int)} == set()


@pytest.mark.parametrize("name", NEW_SYNTAX)
def test_construct_lowers(name):
    for function in functions_of(NEW_SYNTAX[name]):
        check_promises(function)
        assert dump(function).startswith(function.kind.value)


STANDARD_LIBRARY = sorted(
    path
    for path in Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")
    if not {"site-packages", "dist-packages", "lib2to3"} & set(path.parts) and path.stat().st_size < 50_000
)


@pytest.mark.slow
def test_standard_library_lowers():
    lowered = 0
    for path in random.Random(0).sample(STANDARD_LIBRARY, min(150, len(STANDARD_LIBRARY))):
        try:
            source = path.read_text("utf-8")
            module = lower_module(source, str(path))
        except (UnicodeDecodeError, libcst.ParserSyntaxError):
            continue  # files that are wrong on purpose
        for function in (module.body, *module.functions):
            check_promises(function)
        lowered += 1
    assert lowered > 100


def test_functions_come_outermost_first_and_once():
    source = "try:\n    x = lambda: [y for y in z]\nfinally:\n    def f():\n        class A:\n            def m(self): pass\n"
    module = lower_module(source, "program.py")
    names = [function.qualname for function in module.functions]
    assert names == ["<lambda>", "<lambda>.<locals>.<listcomp>", "f", "f.<locals>.A", "f.<locals>.A.m"]
    assert [function.name for function in module.body.inner] == ["<lambda>", "f"]


def test_parameters_say_how_they_are_passed():
    def_, *_ = lower_module("def f(a, /, b: int = 1, *c, d, e=2, **g): pass\n", "p.py").functions
    assert [(p.name, p.kind.value, p.has_default) for p in def_.params] == [
        ("a", "positional-only", False),
        ("b", "positional", True),
        ("c", "varargs", False),
        ("d", "keyword-only", False),
        ("e", "keyword-only", True),
        ("g", "kwargs", False),
    ]
    assert def_.params[1].annotation.value == "int"
    assert def_.params[0].annotation is None


def test_functions_know_what_they_are():
    source = (
        "@a\n@b\ndef f():\n    'doc'\n    yield\nasync def g(): await x\nclass C:\n    'Cdoc'\n"
        "h = (i for i in j)\nk = [i async for i in j]\n"
    )
    module = lower_module(source, "program.py")
    facts = {
        f.name: (f.kind.value, f.is_generator, f.is_async, f.docstring, f.decorators)
        for f in module.functions
    }
    assert facts == {
        "f": ("function", True, False, "doc", 2),
        "g": ("function", False, True, None, 0),
        "C": ("class", False, False, "Cdoc", 0),
        "<genexpr>": ("comprehension", True, False, None, 0),
        "<listcomp>": ("comprehension", False, True, None, 0),
    }


def test_names_of_a_function():
    outer, inner = lower_module(
        "def f(a):\n    b = c = 1\n    global g\n    g = 2\n    def h():\n        nonlocal c\n        return a, c, g, k\n",
        "p.py",
    ).functions
    assert outer.local_names == {"a", "b", "c", "h"}
    assert outer.captured == {"a", "c"}
    assert inner.local_names == frozenset()
    loads = {
        i.name: i.scope.value for b in inner.blocks.values() for i in b.instrs if isinstance(i, ir.LoadName)
    }
    assert loads == {"a": "free", "c": "free", "g": "global", "k": "global"}


def test_statement_after_return_is_dropped_but_still_binds():
    (function,) = lower_module("def f():\n    return x\n    x = 1\n    while True: pass\n", "p.py").functions
    assert function.local_names == {"x"}
    assert len(function.blocks) == 1
    assert not function.loops


def test_with_leaves_on_every_way_out():
    source = "def f():\n    for i in x:\n        with m:\n            if a: continue\n            if b: break\n            if c: return 1\n"
    (function,) = lower_module(source, "p.py").functions
    exits = [i for block in function.blocks.values() for i in block.instrs if isinstance(i, ir.ExitWith)]
    assert sorted(exit_.exc is None for exit_ in exits) == [False, True, True, True, True]


def test_what_follows_a_loop_is_not_in_it():
    source = "while True:\n    if a():\n        break\nb()\n"
    body = lower_module(source, "p.py").body
    (loop,) = body.loops.values()
    calls = {
        i.node.func.value: id_
        for id_, block in body.blocks.items()
        for i in block.instrs
        if isinstance(i, ir.Call)
    }
    assert calls["a"] in loop.blocks
    assert calls["b"] not in loop.blocks


DEEP = {
    "sum": "x = " + " + ".join(["a"] * 2000),
    "conjunction": "x = " + " and ".join(["a"] * 2000),
    "condition": "if " + " or ".join(["a"] * 2000) + ": pass",
    "comparison": "x = " + " < ".join(["a"] * 500),
    "strings": "x = " + " ".join(["'a'"] * 2000),
    "elif": "if a:\n    pass\n" + "".join(f"elif a{i}:\n    pass\n" for i in range(500)),
    "method chain": "x = a" + ".b()" * 400,
    "subscripts": "x = a" + "[0]" * 400,
    "nested calls": "x = " + "f(" * 150 + ")" * 150,
    "nested lists": "x = " + "[" * 150 + "]" * 150,
    "conditional expressions": "x = " + "a if b else " * 150 + "c",
    "lambdas": "x = " + "lambda: " * 100 + "1",
    "nested functions": "".join(f"{' ' * i}def f{i}():\n" for i in range(90)) + " " * 90 + "pass\n",
    "attribute target": "a" + ".b" * 400 + " = 1",
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_lowers(name):
    module = lower_module(DEEP[name] + "\n", "deep.py")
    for function in (module.body, *module.functions):
        check_promises(function)


def test_too_deep_nesting_is_one_clear_error(monkeypatch):
    monkeypatch.setattr("gradcheck_tool.ir.recursion._DEEP", 0)
    with pytest.raises(LoweringError, match=r"^deep\.py: an expression or statement is nested too deeply$"):
        lower_module("x = a" + ".b()" * 600 + "\n", "deep.py")


def test_invalid_python_is_a_parser_error():
    with pytest.raises(libcst.ParserSyntaxError):
        lower_module("def f(:\n", "p.py")


def test_what_the_parser_cannot_build_is_a_parser_error():
    with pytest.raises(libcst.ParserSyntaxError, match="does not support"):
        lower_module('x = f"a" t"b"\n', "p.py")


def test_strange_escapes_do_not_warn(recwarn):
    lower_module("x = '\\d \\x41'\ny = f'\\d{x}'\n", "p.py")
    assert not recwarn.list


def test_dump_is_readable():
    source = "def f(x):\n    for i in x:\n        try:\n            x[i] += 1\n        except E as e:\n            print(e, k=None)\n"
    assert dump_module(lower_module(source, "p.py")) == DUMP


DUMP = """\
module <module>()
  b0:
    r0 = MakeFunction function=f
    StoreName name='f' scope=global src=r0
    Return value=None

function f(x)
  b0:
    r0 = LoadName name='x' scope=local
    r1 = GetIter src=r0
    Jump target=b1
  b1:  # loop b1 b3 b6 b7 b8 b13 b14 b16 b17 b19
    r2 = ForIter iterator=r1 body=b3 exhausted=b2
  b3:
    StoreName name='i' scope=local src=r2
    Jump target=b8
  b8:  # on error b6
    r3 = LoadName name='x' scope=local
    r4 = LoadName name='i' scope=local
    r5 = GetItem obj=r3 index=r4
    r6 = Const value=1
    r7 = InplaceOp op='+' left=r5 right=r6
    SetItem obj=r3 index=r4 src=r7 augmented=True
    Jump target=b7
  b6:
    r8 = Catch
    r9 = LoadName name='E' scope=global
    r10 = MatchException exc=r8 kind=r9
    Branch condition=r10 then=b13 otherwise=b14
  b13:
    StoreName name='e' scope=local src=r8
    Jump target=b17
  b17:  # on error b16
    r11 = LoadName name='print' scope=global
    r12 = LoadName name='e' scope=local
    r13 = Const value=None
    r14 = Call func=r11 args=[positional r12, keyword k=r13]
    Jump target=b19
  b19:
    r15 = Const value=None
    StoreName name='e' scope=local src=r15
    DelName name='e' scope=local
    Jump target=b7
  b16:
    r16 = Catch
    r17 = Const value=None
    StoreName name='e' scope=local src=r17
    DelName name='e' scope=local
    Reraise exc=r16
  b14:
    Reraise exc=r8
  b7:
    Jump target=b1 back=True
  b2:
    Return value=None
"""
