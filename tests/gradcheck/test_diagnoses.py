"""Each diagnosis shows a Function with the mistake that it names, and is what the check says of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import torch

import gradcheck_tool.gradcheck.diagnoses
from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.gradcheck.diagnoses.diagnosis import in_order

FOLDER = Path(gradcheck_tool.gradcheck.diagnoses.__file__).parent
DIAGNOSES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "diagnosis"))
_PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    return ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))) or ""


@pytest.mark.parametrize("name", DIAGNOSES)
def test_the_example_gets_the_word_that_is_marked(name: str) -> None:
    programs = _PROGRAM.findall(page(name))
    assert programs, "an example is missing: see docs/contributing/diagnosis.md"
    for program in programs:
        scope: dict[str, object] = {}
        torch.manual_seed(0)
        exec(compile(program, f"{name}.py", "exec"), scope)
        (mistaken,) = (v for v in scope.values() if isinstance(v, type))
        (word,) = re.findall(r"# <- ([a-z-]+)$", program, re.MULTILINE)
        assert f"`{word}`" in page(name).splitlines()[0]
        report = check_function(mistaken, scope["arguments"])
        assert word in {finding.evidence["diagnosis"] for finding in report.findings}, report.text()


def test_every_module_is_asked() -> None:
    assert {explain.__module__.rpartition(".")[2] for explain in in_order()} == set(DIAGNOSES)
    assert in_order()[-1].__name__ == "missing_term"
