"""Mutations of statements and expressions, by Python's own tree."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING, Any

from benchmarks.odd_files.words import CALLS

if TYPE_CHECKING:
    from random import Random


def with_other_statements(rng: Random, text: str, other: str) -> str:
    """The program with other statements, printed anew.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError, AttributeError, TypeError, IndexError: it is no
            Python or empty, or what was made of it is no Python.
    """
    tree = ast.parse(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        rng.choice(TREES)(rng, tree, other)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _suites(tree: ast.AST) -> list[list[ast.stmt]]:
    found = []
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            suite = getattr(node, name, None)
            if isinstance(suite, list) and suite:
                found.append(suite)
    return found


def _place(rng: Random, tree: ast.AST) -> tuple[list[ast.stmt], int]:
    suite = rng.choice(_suites(tree))
    return suite, rng.randrange(len(suite))


def _delete(rng: Random, tree: ast.AST, _: str) -> None:
    suite, at = _place(rng, tree)
    suite[at : at + rng.choice((1, 1, 3))] = [] if len(suite) > 3 else [ast.Pass()]


def _duplicate(rng: Random, tree: ast.AST, _: str) -> None:
    suite, at = _place(rng, tree)
    suite[at:at] = [copy.deepcopy(suite[at]) for _ in range(rng.choice((1, 1, 1, 5, 40)))]


def _swap(rng: Random, tree: ast.AST, _: str) -> None:
    (one, i), (two, j) = _place(rng, tree), _place(rng, tree)
    one[i], two[j] = copy.deepcopy(two[j]), copy.deepcopy(one[i])


def _insert(rng: Random, tree: ast.AST, other: str) -> None:
    (into, i), (source, j) = _place(rng, tree), _place(rng, ast.parse(other))
    into[i:i] = source[j : j + rng.choice((1, 2, 8))]


_AROUND = (
    "if unknown:\n    0",
    "if x is None:\n    pass\nelse:\n    0",
    "for _ in range(3):\n    0",
    "for a, *b in zip(*data):\n    0",
    "while True:\n    0",
    "while x:\n    0\nelse:\n    pass",
    "try:\n    0\nexcept Exception as e:\n    raise\nfinally:\n    pass",
    "try:\n    raise ValueError\nexcept* ValueError:\n    0",
    "with torch.no_grad():\n    0",
    "with open(p) as f, torch.autocast('cuda') as (g, h):\n    0",
    "def step(self, *args, key=None, **kwargs):\n    0",
    "async def main():\n    0",
    "class Net(torch.nn.Module):\n    0",
    "class F(torch.autograd.Function):\n    0",
    "@torch.no_grad()\n@other\ndef forward(ctx, x, /, y=1, *, z):\n    yield\n    0",
    "match x:\n    case {'a': [b, *c], **d} if b:\n        0\n    case Net(weight=w) | _:\n        pass",
    "async with a as b:\n    0",
)


def _wrap(rng: Random, tree: ast.AST, _: str) -> None:
    suite, at = _place(rng, tree)
    for _times in range(rng.choice((1, 1, 2, 5, 12, 18, 40))):
        around: Any = ast.parse(rng.choice(_AROUND)).body[0]
        for inner in _suites(around):
            if isinstance(inner[-1], ast.Expr) and isinstance(inner[-1].value, ast.Constant):
                inner[-1:] = suite[at : at + 1]
        case = getattr(around, "cases", None)
        if case:
            case[0].body = suite[at : at + 1]
        suite[at] = around


def _expressions(tree: ast.AST) -> list[tuple[Any, str, int | None, ast.expr]]:
    found: list[tuple[Any, str, int | None, ast.expr]] = []
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and isinstance(getattr(value, "ctx", ast.Load()), ast.Load):
                found.append((node, name, None, value))
            elif isinstance(value, list):
                found += [
                    (node, name, at, item)
                    for at, item in enumerate(value)
                    if isinstance(item, ast.expr) and isinstance(getattr(item, "ctx", ast.Load()), ast.Load)
                ]
    return found


def _put(place: tuple[Any, str, int | None, ast.expr], new: ast.expr) -> None:
    node, name, at, _ = place
    if at is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[at] = new


def _replace(rng: Random, tree: ast.AST, other: str) -> None:
    found = _expressions(tree)
    source = _expressions(ast.parse(other)) if rng.random() < 0.3 else found
    if found and source:
        _put(rng.choice(found), copy.deepcopy(rng.choice(source)[3]))


_INSIDE = (
    "(0).backward()",
    "(0) + (0)",
    "(0) ** 2",
    "-(0)",
    "not (0)",
    "[0]",
    "[0, *0]",
    "(0,)",
    "{**(0)}",
    "{0: 0}",
    "(0)[0]",
    "(0)[::-1]",
    "(0)[..., None, 1:]",
    "(0).add_(1)",
    "(0)(0)",
    "(lambda *a: 0)()",
    "[0 for i in 0]",
    "{i: 0 for i in 0 if 0}",
    "sum(0 for i in range(3))",
    "(yield 0)",
    "(await (0))",
    "(x := (0))",
    "f'{0!r:>{0}}'",
    "(0) if (0) else (0)",
    "(0) < (0) <= (0)",
    "torch.stack([0] * 3)",
    "functools.partial(0, 0)",
    "getattr(0, 'step')",
    "torch.autograd.grad(0, 0, create_graph=True)",
    "(0).view(-1, 2).expand(3)",
)


class _Into(ast.NodeTransformer):
    """Puts an expression in the place of each `0`."""

    def __init__(self, new: ast.expr) -> None:
        self._new = new

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return self._new if node.value == 0 and type(node.value) is int else node


def _nest(rng: Random, tree: ast.AST, _: str) -> None:
    found = _expressions(tree)
    if not found:
        return
    place = rng.choice(found)
    new: Any = place[3]
    depth = rng.choice((1, 1, 1, 2, 3, 20, 80, 150))
    for _times in range(depth):
        form = rng.choice(_INSIDE) if depth < 9 else rng.choice([f for f in _INSIDE if f.count("0") == 1])
        new = _Into(new).visit(ast.parse(form, mode="eval")).body
    _put(place, new)


def _rename(rng: Random, tree: ast.AST, _: str) -> None:
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    if names and rng.random() < 0.6:
        one, new = rng.choice(names), rng.choice(names).id
        whole = rng.random() < 0.5
        for node in names:
            if node is one or (whole and node.id == one.id):
                node.id = new
    elif attributes:
        rng.choice(attributes).attr = rng.choice((*CALLS, rng.choice(attributes).attr))


_STATEMENTS = (
    "s = s + s",
    "x = [x, x]",
    "n = n * n",
    "self.x = self",
    "d[d] = d",
    "l.append(l)",
    "loss.backward()",
    "loss.backward(retain_graph=True)",
    "optimizer.step()",
    "w.grad.zero_()",
    "x += x",
    "x.add_(x)",
    "x.data = x",
    "x = x.detach().requires_grad_()",
    "from . import *",
    "from torch import *",
    "global loss",
    "nonlocal loss",
    "return loss",
    "yield loss",
    "raise",
    "break",
    "del x, self.x, d[0]",
    "(a, *b), c = x",
    "a = b = c[0] = d.e = x",
    "forward = backward = apply",
    "class A(A): pass",
    "class A(*bases, metaclass=M): pass",
    "def f(): return f()",
    "def f(x=f): return f(f)",
    "f = lambda: f()",
    "type X[T: int] = list[T]",
    "x: int",
    "assert (x := 1)",
    "print(*x, **y)",
    "import torch as nn, torch.nn.functional as torch",
    "super().__init__()",
    "ctx.save_for_backward(*ctx.saved_tensors)",
    "model = torch.nn.DataParallel(model).module",
    "optimizer = torch.optim.Adam(list(model.parameters()) * 3)",
    "x = torch.ones(10 ** 9, 10 ** 9)",
    "x = 'a' * 10 ** 9",
    "x = [0] * 10 ** 9",
    "x = 10 ** 10 ** 10",
    "x = 1 << 10 ** 10",
    "x = list(range(10 ** 9))",
    "for i in range(10 ** 9): x = x + 1",
    "for p in model.parameters(): p.data += p.grad",
    "x = f'{x:>{10 ** 9}}'",
    "x = '%1000000000d' % 1",
    "x = x.split(1)",
    "exec('x = 1'); eval('x')",
    "__import__('torch').ones(1)",
    "setattr(self, name, loss)",
)


def _statement(rng: Random, tree: ast.AST, _: str) -> None:
    suite, at = _place(rng, tree)
    new = ast.parse(rng.choice(_STATEMENTS)).body
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    for statement in new:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and len(node.id) == 1 and names:
                node.id = rng.choice(names)
    suite[at:at] = new * rng.choice((1, 1, 1, 2, 45))


def _constants(rng: Random, tree: ast.AST, _: str) -> None:
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    if constants:
        values = (0, 1, -1, 2**63, 10**30, 1e309, 1j, "", "\0", "\ud800", "é" * 99, b"\xff", ..., None, True)
        rng.choice(constants).value = rng.choice(values)


def _base(rng: Random, tree: ast.AST, _: str) -> None:
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    if classes:
        one = rng.choice(classes)
        texts = (
            "torch.autograd.Function", "torch.nn.Module", one.name, rng.choice(classes).name, "list", "*a",
            "f()",
            "torch.optim.Optimizer", "pl.LightningModule", "NamedTuple", "enum.Enum", "torch.Tensor", "type",
        )  # fmt: skip
        one.bases = [ast.parse(f"f({rng.choice(texts)})", mode="eval").body.args[0]]  # type: ignore[attr-defined]


def _arguments(rng: Random, tree: ast.AST, _: str) -> None:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if calls:
        call = rng.choice(calls)
        how = rng.randrange(5)
        if how == 0:
            call.args = call.args[1:]
        elif how == 1:
            call.keywords = []
        elif how == 2:
            call.args = [*call.args, *copy.deepcopy(call.args)]
        elif how == 3 and call.args:
            call.args[0] = ast.Starred(call.args[0], ast.Load())
        else:
            call.keywords.append(ast.keyword(None, ast.Name("options", ast.Load())))


def _parameters(rng: Random, tree: ast.AST, _: str) -> None:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    if functions:
        one, other = rng.choice(functions), rng.choice(functions)
        how = rng.randrange(6)
        if how == 0:
            one.args.args, one.args.defaults = one.args.args[1:], []
        elif how == 1:
            one.args = ast.parse("def f(): 0").body[0].args  # type: ignore[attr-defined]
        elif how == 2:
            one.args.vararg = ast.arg("args")
        elif how == 3:
            one.args = other.args
        elif how == 4:
            one.decorator_list = list(other.decorator_list)
        else:
            one.name = other.name


TREES = (
    _delete, _duplicate, _swap, _insert, _wrap, _wrap, _replace, _replace, _nest, _nest, _rename, _rename,
    _statement,
    _statement, _statement, _constants, _base, _arguments, _parameters, _parameters,
)  # fmt: skip
