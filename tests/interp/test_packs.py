"""What a library object stands for where a model pack knows it, and how the code of models is told from the user's."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from gradcheck_tool.analysis.entries import ExecutionPlan, analyze
from gradcheck_tool.analysis.import_context import Extent
from gradcheck_tool.domain.events import NoGraph
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.library.model_packs import ModelPacks
from gradcheck_tool.trackers.events import MethodUse, NameUse, UncalledMethod

if TYPE_CHECKING:
    from pathlib import Path

MODEL = """
import torch

def detached(x):
    x.data
    torch.is_tensor(x)
    return x.detach()

def __getattr__(name):
    return detached if name == "other" else None

class Base:
    def loss(self, x):
        return detached(x)

    @classmethod
    def make(cls):
        return cls()
"""
START = "import torch\nimport lib\nw = torch.ones(2, requires_grad=True)\n"


@pytest.fixture
def events(tmp_path: Path) -> Any:
    (tmp_path / "lib.py").write_text(MODEL, encoding="utf-8")

    def run(program: str) -> list[Any]:
        module = lower_module(START + dedent(program), "program.py")
        return list(analyze(module, models=ModelPacks([tmp_path])))

    return run


def has_no_graph(events: list[Any]) -> bool:
    return any(isinstance(event, NoGraph) for event in events)


@pytest.mark.parametrize(
    "call",
    [
        "lib.detached(w)",
        "lib.other(w)",
        "getattr(lib, 'detached')(w)",
        "lib.__dict__['detached'](w)",
        "getattr(lib, 'ot' + 'her')(w)",
        "lib.Base().loss(w)",
        "lib.Base.make().loss(w)",
        "(lambda f: f(w))(lib.detached)",
        "list(map(lib.detached, [w]))[0]",
    ],
)
def test_a_model_is_found_by_its_qualified_name(events: Any, call: str) -> None:
    assert has_no_graph(events(f"{call}.sum().backward()"))


@pytest.mark.parametrize("call", ["lib.nothing(w)", "lib.Base().other(w)", "library.detached(w)"])
def test_what_a_model_lacks_is_unknown(events: Any, call: str) -> None:
    assert not has_no_graph(events(f"import library\n{call}.sum().backward()"))


def test_classes_derive_from_those_of_models(events: Any) -> None:
    own = "class Own(lib.Base):\n    def run(self, x):\n        return super().loss(x)\n"
    assert has_no_graph(events(f"{own}Own().run(w).sum().backward()"))
    assert has_no_graph(events(f"{own}if isinstance(Own(), lib.Base):\n    w.detach().sum().backward()"))
    assert not has_no_graph(
        events(f"{own}if not isinstance(Own(), lib.Base):\n    w.detach().sum().backward()")
    )


def test_the_text_of_a_model_is_not_judged(events: Any) -> None:
    found = events("lib.detached(w)\n")
    assert [event.name for event in found if isinstance(event, NameUse)] == ["torch.ones", "lib.detached"]
    assert not any(isinstance(event, (MethodUse, UncalledMethod)) for event in found)


def test_a_method_of_a_model_is_one_of_a_library(events: Any) -> None:
    found = events("base = lib.Base()\nbase.loss(w)\n")
    assert [event.name for event in found if isinstance(event, MethodUse)] == ["loss"]


def test_the_instructions_of_a_model_count_a_tenth(tmp_path: Path) -> None:
    body = "def f():\n" + "    1 + 1\n" * 120
    (tmp_path / "lib.py").write_text(body, encoding="utf-8")

    def unfinished(program: str) -> list[str]:
        extent = Extent()
        module = lower_module(program, "program.py")
        analyze(module, None, ExecutionPlan(limit=300, single=0), extent, models=ModelPacks([tmp_path]))
        return extent.unfinished

    assert unfinished(f"{body}f()\n")
    assert not unfinished("import lib\nlib.f()\n")


def test_two_models_that_import_a_name_from_each_other_leave_it_unknown(tmp_path: Path) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        (tmp_path / f"{name}.py").write_text(f"from {other} import Thing\n", encoding="utf-8")
    program = "from one import Thing\nimport torch\nw = torch.ones(2, requires_grad=True)\n"
    module = lower_module(program + "Thing(w)\nw.detach().sum().backward()\n", "program.py")
    assert has_no_graph(analyze(module, models=ModelPacks([tmp_path])))
