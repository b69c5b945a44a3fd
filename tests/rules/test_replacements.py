"""The replacements that fixes are built from, on source text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gradcheck_tool.domain.events import Site
from gradcheck_tool.findings import Edit
from gradcheck_tool.fixes.edits import apply_edits
from gradcheck_tool.ir.lower import lower_light, lower_module
from gradcheck_tool.ir.outline import outline
from gradcheck_tool.ir.positions import locate
from gradcheck_tool.rulebook import fixes as rulefix

if TYPE_CHECKING:
    from collections.abc import Callable


def first(source: str, kind: str, light: bool = True) -> Site:
    """The outermost first node of a kind in a program."""
    outlined = outline(source)
    assert outlined is not None
    module = lower_light(outlined, "example.py") if light else lower_module(source, "example.py")
    waiting: list[Any] = [module.tree.body]
    while waiting:
        node = waiting.pop(0)
        if type(node).__name__ == kind:
            return Site(module, node)
        waiting[:0] = node if isinstance(node, list | tuple) else node.children
    raise AssertionError(kind)


def changed(source: str, kind: str, function: Callable[..., Any], *arguments: str) -> str | None:
    """The program after the replacement, or None where the function offers none."""
    results = []
    for light in (True, False):
        part = function(first(source, kind, light), *arguments)
        if part is None:
            results.append(None)
        else:
            place = locate(part.site.module, part.site.node)
            results.append(apply_edits(source, [Edit(part.content, place.start, place.end)]))
    assert results[0] == results[1]
    return results[0]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("nn.utils.old(p, 1.0)\n", "nn.utils.new(p, 1.0)\n"),
        ("a.b(c).old()\n", "a.b(c).new()\n"),
        ("old(p)\n", None),
    ],
)
def test_renamed(source: str, expected: str | None) -> None:
    assert changed(source, "Call", rulefix.renamed, "new") == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("f()\n", "f(k=True)\n"),
        ("f(a, b)\n", "f(a, b, k=True)\n"),
        ("f(a, k=False, b=1)\n", "f(a, k=True, b=1)\n"),
        ("f(\n    a,\n    b,\n)\n", "f(\n    a,\n    b,\n    k=True,\n)\n"),
        ("x = (f(a))\n", "x = (f(a, k=True))\n"),
        ("f(a,  # first\n\n  b)\n", "f(a,  # first\n\n  b,\n  k=True)\n"),
        (
            "def g():\n    return f(a,\n             b)\n",
            "def g():\n    return f(a,\n             b,\n             k=True)\n",
        ),
        ("def g():\n    x = (h\n        .f(a))\n", "def g():\n    x = (h\n        .f(a, k=True))\n"),
        ("f(*args)\n", None),
        ("f(**options)\n", None),
    ],
)
def test_with_keyword(source: str, expected: str | None) -> None:
    assert changed(source, "Call", rulefix.with_keyword, "k", "True") == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("f(k=True)\n", "f()\n"),
        ("f(a, k=True)\n", "f(a)\n"),
        ("f(k=True, a=1)\n", "f(a=1)\n"),
        ("f(a, k=True, b=1)\n", "f(a, b=1)\n"),
    ],
)
def test_without_keyword(source: str, expected: str) -> None:
    assert changed(source, "Call", rulefix.without_keyword, "k") == expected


def test_keyword_renamed() -> None:
    assert changed("f(1, old=x)\n", "Call", rulefix.keyword_renamed, "old", "new") == "f(1, new=x)\n"
    assert (
        changed("f(old=False)\n", "Call", rulefix.keyword_renamed, "old", "new", '"sum"') == 'f(new="sum")\n'
    )


def test_called_with_one_more_argument_in_front() -> None:
    assert changed("a.old()\n", "Call", rulefix.called_with, "b.new", '"cpu"') == 'b.new("cpu")\n'
    assert (
        changed("a.old(x, k=1)\n", "Call", rulefix.called_with, "b.new", '"cpu"') == 'b.new("cpu", x, k=1)\n'
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x.numpy()\n", "x.detach().numpy()\n"),
        ("self.x[0].numpy()\n", "self.x[0].detach().numpy()\n"),
        ("(a + b).numpy()\n", None),
        ("numpy(x)\n", None),
    ],
)
def test_receiver_replaced(source: str, expected: str | None) -> None:
    assert changed(source, "Call", rulefix.receiver_replaced, "{}.detach()") == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [("x.detach()\n", "x = x.detach()\n"), ("self.x.detach()\n", None), ("detach(x)\n", None)],
)
def test_assigned(source: str, expected: str | None) -> None:
    assert changed(source, "Call", rulefix.assigned) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x += y\n", "x = x + y\n"),
        ("x *= y + z\n", "x = x * (y + z)\n"),
        ("x **= 2\n", "x = x ** 2\n"),
        ("x[0] += y\n", None),
    ],
)
def test_out_of_place(source: str, expected: str | None) -> None:
    assert changed(source, "AugAssign", rulefix.out_of_place) == expected


@pytest.mark.parametrize(
    ("text", "called"),
    [("loss", "loss.f()"), ("a / b", "(a / b).f()"), ("(a, b)", "(a, b).f()"), ("-a[0]", "(-a[0]).f()")],
)
def test_with_method(text: str, called: str) -> None:
    assert rulefix.with_method(text, "f()") == called


def test_value_detached() -> None:
    assert changed("total += loss\n", "AugAssign", rulefix.value_detached) == "total += loss.detach()\n"
    assert changed("total += a * b\n", "AugAssign", rulefix.value_detached) is None
    assert changed("h.append(loss)\n", "Call", rulefix.value_detached) == "h.append(loss.detach())\n"
    assert changed("h.insert(0, loss)\n", "Call", rulefix.value_detached) is None


def test_as_tuple() -> None:
    assert changed("x = [a]\n", "List", rulefix.as_tuple) == "x = (a,)\n"
    assert changed("x = [a, b * c]\n", "List", rulefix.as_tuple) == "x = (a, b * c)\n"


def test_item_of() -> None:
    assert changed("print(loss.data[0])\n", "Subscript", rulefix.item_of) == "print(loss.data.item())\n"


def test_applied() -> None:
    assert changed("y = F()(x)\n", "Call", rulefix.applied) == "y = F.apply(x)\n"
    assert changed("y = F(3)(x)\n", "Call", rulefix.applied) is None
    assert changed("y = F(x)\n", "Call", rulefix.applied) is None


def test_texts_of_calls() -> None:
    assert rulefix.only_argument(first("f(x)\n", "Call")) == "x"
    assert rulefix.only_argument(first("f(a + b)\n", "Call")) == "(a + b)"
    assert rulefix.only_argument(first("f(x, 1)\n", "Call")) is None
    assert rulefix.only_argument(first("f(k=x)\n", "Call")) is None
    assert rulefix.keyword_text(first("f(k=False)\n", "Call"), "k") == "False"
    assert rulefix.keyword_text(first("f(k=False)\n", "Call"), "other") is None
    assert rulefix.callee_text(first("a.b(x)\n", "Call")) == "a.b"
