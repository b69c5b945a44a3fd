"""What top-level code calls of other files, and which files are worth following."""

from __future__ import annotations

import pytest

from gradcheck_tool.ir.outline import outline
from gradcheck_tool.triage.imported import (
    Imported,
    called_imports,
    calls_of_units,
    definition_in,
    differentiates,
    imported_bases,
    imports_in,
    is_function_class,
    may_call,
)

FIT = Imported("fit", 0, ("Trainer",))


def called(source: str) -> list[Imported]:
    outlined = outline(source)
    assert outlined is not None
    return list(called_imports(outlined))


@pytest.mark.parametrize(
    ("source", "imports"),
    [
        ("from fit import Trainer\nTrainer(1).fit([1.0])\n", [FIT]),
        ("from fit import Trainer as T\nT(1)\n", [Imported("fit", 0, ("Trainer",))]),
        ("import pkg.fit\npkg.fit.run(1)\n", [Imported("pkg.fit", 0)]),
        ("from ..fit import run\nif __name__ == '__main__':\n    run()\n", [Imported("fit", 2, ("run",))]),
        ("from . import fit\n\ndef main():\n    fit.run()\n\nmain()\n", [Imported("", 1, ("fit",))]),
        ("try:\n    from fit import Trainer\nexcept ImportError:\n    pass\nTrainer()\n", [FIT]),
    ],
)
def test_what_runs_calls_imports(source: str, imports: list[Imported]) -> None:
    assert called(source) == imports
    assert may_call(source.encode())


@pytest.mark.parametrize(
    "source",
    [
        "from fit import Trainer\nKINDS = {'a': Trainer}\n",
        "from fit import Trainer\n\ndef main():\n    return Trainer(1)\n",
        "from fit import Trainer\nother.Trainer(1)\n",
    ],
)
def test_what_does_not_run_calls_none(source: str) -> None:
    assert called(source) == []


def test_a_file_of_definitions_calls_nothing() -> None:
    assert not may_call(
        b"from fit import (\n    Trainer,\n)\n\n\n@wrapped(1)\ndef main():\n    return Trainer(1)\n"
    )


def test_imports_are_found_in_bytes() -> None:
    source = b"import a.b as c\nfrom .d import (\n    e,\n    f as g,\n)\nif 1:\n    from . import h  # i\n"
    assert list(imports_in(source)) == [
        Imported("a.b", 0),
        Imported("d", 1, ("e", "f")),
        Imported("", 1, ("h",)),
    ]


def test_the_text_of_a_definition() -> None:
    source = b"import a\n\n\n@wrapped\ndef f(\n    x,\n):\n    return x\n\n\n# g is next\nclass G(Function):\n    pass\n"
    assert definition_in(source, "f") == b"def f(\n    x,\n):\n    return x\n\n\n# g is next\n"
    text = definition_in(source, "G")
    assert text is not None
    assert is_function_class(text)
    assert definition_in(source, "x") is None


def test_calls_of_functions_of_a_file() -> None:
    outlined = outline(
        "import pkg.tools as t\nfrom fit import Trainer\n\n\ndef f(x):\n    return t.g.h(Trainer(x).fit(t))\n"
    )
    assert outlined is not None
    assert {(unit.name, one, attribute) for unit, one, attribute in calls_of_units(outlined)} == {
        ("f", Imported("pkg.tools", 0), "g"),
        ("f", FIT, ""),
    }


def test_bases_of_classes_of_a_file() -> None:
    outlined = outline(
        "import pkg.tools as t\nfrom fit import Trainer\n\n\nclass A(t.Base, object):\n    pass\n\n\n"
        "class B(A, Trainer):\n    pass\n"
    )
    assert outlined is not None
    assert list(imported_bases(outlined)) == [("A", Imported("pkg.tools", 0), "Base"), ("B", FIT, "")]


def test_files_that_compute_gradients() -> None:
    assert differentiates(b"loss.backward()\n")
    assert not differentiates(b"import torch\nlogger.info('backward')\n")
