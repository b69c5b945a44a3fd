"""A module whose bodies are lowered on demand is the module that is lowered at once."""

from __future__ import annotations

import gc
import re
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gradcheck_tool
from gradcheck_tool.ir.dump import dump, dump_module
from gradcheck_tool.ir.lower import lower_light, lower_module, lower_outline
from gradcheck_tool.ir.outline import outline

if TYPE_CHECKING:
    from gradcheck_tool.ir.nodes import Function

PACKAGE = Path(gradcheck_tool.__file__).parent
FILES = sorted((PACKAGE / "ir").glob("*.py"))
# One of every construct that this Python knows.
CONSTRUCTS = re.split(
    r"^#### .*\n", Path(__file__).with_name("programs.txt").read_text("utf-8"), flags=re.MULTILINE
)

SOURCE = '''
import os


@decorated
def outer(a, b=1):
    """Text."""

    def inner():
        return a

    return inner


def short(): return 1


class Base:
    """Text."""

    size = 3

    def __private(self):
        return super().__init__()

    async def later(self):
        yield self.__private()


if os:

    def chosen():
        text = """
at the margin"""
        return text

else:

    def chosen():
        return [x for x in range(3)]
'''


def lower_all(function: Function) -> None:
    """Ask every function in it for its body."""
    for inner in list(function.inner):
        assert inner.blocks
        lower_all(inner)


PROGRAMS = [
    SOURCE,
    *(path.read_text(encoding="utf-8") for path in FILES),
    *(program for program in CONSTRUCTS if outline(program) is not None),
]


@pytest.mark.parametrize("source", PROGRAMS)
def test_bodies_are_the_same_when_lowered_later(source: str) -> None:
    found = outline(source)
    assert found is not None
    later = lower_outline(found, "file.py")
    lower_all(later.body)
    at_once = lower_module(source, "file.py")
    assert sorted(map(dump, later.functions)) == sorted(map(dump, at_once.functions))


@pytest.mark.parametrize("source", PROGRAMS)
def test_a_light_tree_lowers_to_the_same_instructions(source: str) -> None:
    found = outline(source)
    assert found is not None
    light = lower_light(found, "file.py")
    assert dump_module(light) == dump_module(lower_module(source, "file.py"))


def test_nothing_is_lowered_before_it_is_needed() -> None:
    found = outline(SOURCE)
    assert found is not None
    module = lower_outline(found, "file.py")
    assert [function.qualname for function in module.functions] == ["Base"]
    outer = next(function for function in module.body.inner if function.name == "outer")
    assert outer.docstring == "Text."
    assert {"outer", "outer.<locals>.inner"} <= {function.qualname for function in module.functions}


@pytest.mark.slow
def test_a_file_that_was_lowered_is_not_read_by_python_again() -> None:
    found = outline(SOURCE)
    assert found is not None
    module = lower_outline(found, "file.py")
    held = weakref.ref(found)
    del found
    assert outline(SOURCE) is held()
    del module
    gc.collect()
    assert held() is None


def test_python_that_python_refuses_has_no_outline() -> None:
    assert outline("def f(:\n") is None
