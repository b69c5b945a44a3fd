"""The programs in the documentation of the models: judged as marked, and run where the library is installed.

A program without marks has no finding and runs to its end. One whose mark foretells an exception raises on that
line, or on the one marked `raises`; where the mark foretells a silent effect, it runs to its end.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import runpy
import traceback
from typing import TYPE_CHECKING

import pytest

from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.library.model_packs import BUILTIN
from gradcheck_tool.rulebook.documentation import RAISES, read_marks
from gradcheck_tool.rulebook.ruleset import RuleSet

if TYPE_CHECKING:
    from pathlib import Path

RULES = RuleSet.load()
DEFAULT = RULES.select(["default"])
_PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_IMPORTS = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)


def documented() -> list[object]:
    found = []
    for path in sorted(BUILTIN.rglob("*.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        name = ".".join(path.relative_to(BUILTIN).with_suffix("").parts).removesuffix(".__init__")
        programs = _PROGRAM.findall(text)
        found += [pytest.param(program, id=f"{name}-{n}") for n, program in enumerate(programs)]
    return found


programs = pytest.mark.parametrize("program", documented())


def test_each_model_shows_an_example_or_names_the_package_that_does() -> None:
    """Modules that only hand on names have nothing to show."""
    for path in sorted(BUILTIN.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        text = ast.get_docstring(tree) or ""
        if not any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in tree.body):
            continue
        if "; see the package." in text:
            packages = [folder / "__init__.py" for folder in path.parents if BUILTIN in folder.parents]
            text = "".join(file.read_text(encoding="utf-8") for file in packages if file.exists())
        assert "## Example" in text, path


@programs
def test_findings_are_those_that_are_marked(program: str) -> None:
    found = check_source(program, "program.py", DEFAULT)
    expected = [(mark.row, mark.code) for mark in read_marks(program) if mark.code != RAISES]
    assert [(finding.location.start.row, finding.code) for finding in found] == expected


@programs
@pytest.mark.filterwarnings("ignore")
def test_the_library_does_what_is_marked(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = [name for name in _IMPORTS.findall(program) if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    if "cuda" in program:
        pytest.skip("needs a GPU")
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    marks = read_marks(program)
    moved = [mark.row for mark in marks if mark.code == RAISES]
    crashes = moved or [mark.row for mark in marks if RULES.rule(mark.code).effect == "raises"]
    if not crashes:
        runpy.run_path(str(path))
        return
    with pytest.raises((RuntimeError, TypeError)) as raised:
        runpy.run_path(str(path))
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert [frame.lineno for frame in frames if frame.filename == str(path)][-1] in crashes


def test_every_library_has_an_example() -> None:
    """A top-level name without one would be a model that nothing has tried."""
    tried = {name.values[0] for name in documented()}  # type: ignore[attr-defined]
    names = {name for program in tried for name in _IMPORTS.findall(program)}
    aliases = {"lightning_fabric", "pytorch_lightning"}
    modelled = {path.stem for path in BUILTIN.iterdir()}
    assert modelled - aliases <= names
