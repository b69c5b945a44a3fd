"""The structure that CONTRIBUTING.md describes: layers, circles, sizes, the interpreter's interface."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from gradcheck_tool.domain import events
from gradcheck_tool.rulebook.ruleset import RuleSet
from gradcheck_tool.trackers.catalogue import BUILT_IN

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gradcheck_tool"
MOST_LINES = 450
MOST_METHODS = 14
MOST_FACTS = 25
# What the engine itself reports of passes that do not raise. It alone compares what is saved with what is there,
# slot by slot, in the middle of a pass that may raise later; and the analysis differentiates results with no
# tracker listening. This is the silent twin of `SavedTensorModified`.
SILENT = {"UnversionedWrite"}


def modules() -> dict[str, Path]:
    """Modules of the package by dotted name. Models of libraries are programs that are executed, not modules."""
    files = [path for path in PACKAGE.rglob("*.py") if PACKAGE / "library" / "models" not in path.parents]
    return {dotted(path): path for path in files}


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports() -> dict[str, set[str]]:
    """What each module imports: at the top, inside functions, and for type checking alone."""
    known = modules()
    found: dict[str, set[str]] = {}
    for name, path in known.items():
        found[name] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names if alias.name in known}
            elif isinstance(node, ast.ImportFrom) and node.module in known:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                found[name] |= inner & known.keys()
                if not inner <= known.keys():
                    found[name].add(node.module)
    # The public names of the package load when they are first used.
    found["gradcheck_tool"] = set()
    return found


def test_no_modules_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_no_module_is_too_long() -> None:
    folders = ("gradcheck_tool", "rules", "tests", "scripts", "benchmarks", "fixtures")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in files}
    assert {path: length for path, length in lengths.items() if length > MOST_LINES} == {}


def test_the_interface_of_the_interpreter_is_small() -> None:
    tree = ast.parse((PACKAGE / "interp" / "api.py").read_text(encoding="utf-8"))
    protocol = next(
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Interpreter"
    )
    methods = [node.name for node in protocol.body if isinstance(node, ast.FunctionDef)]
    assert len(methods) <= MOST_METHODS, methods


def test_there_are_few_facts() -> None:
    tree = ast.parse((PACKAGE / "interp" / "facts.py").read_text(encoding="utf-8"))
    facts = [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "Fact" for base in node.bases)
    ]
    assert 0 < len(facts) <= MOST_FACTS, facts


def test_only_the_analysis_knows_what_is_looked_at_and_how_it_is_executed() -> None:
    both = {
        name
        for name, imported in imports().items()
        if all(
            any(each.startswith(f"gradcheck_tool.{layer}.") for each in imported)
            for layer in ("triage", "interp")
        )
    }
    assert both
    assert {name.split(".")[1] for name in both} == {"analysis"}


def test_what_stands_below_the_trackers_reports_only_what_is_raised() -> None:
    named = {
        alias.name
        for layer in ("domain", "engine", "interp", "library")
        for path in (PACKAGE / layer).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == events.__name__
        for alias in node.names
    }
    kinds = {name: vars(events)[name] for name in named - SILENT}
    reported = {
        name for name, kind in kinds.items() if issubclass(kind, events.Event) and kind is not events.Event
    }
    errors = (events.EngineError, events.PythonError)
    assert {name for name in reported if not issubclass(kinds[name], errors)} == set()
    assert named > SILENT


# What holds data or declarations alone, which the tests of its users cover.
DECLARED = {
    "domain": {"events", "graph", "records"},
    "engine": {"effect"},
    "interp": {"api", "facts", "program"},
    "library/python": set(),
    "library/torch": {"module_names"},
    "trackers": {"catalogue", "events"},
}


@pytest.mark.parametrize("folder", DECLARED)
def test_each_module_has_a_test_file_of_its_own(folder: str) -> None:
    modules = {path.stem for path in (PACKAGE / folder).glob("*.py")} - {"__init__"}
    tested = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / folder).glob("test_*.py")}
    assert modules - tested == DECLARED[folder]


@pytest.mark.parametrize("tracker", BUILT_IN, ids=lambda tracker: tracker.__name__)
def test_a_tracker_that_serves_one_rule_is_in_the_file_of_the_rule(tracker) -> None:
    rules = RuleSet.load().select(["ALL"], target_torch=None)
    served = [rule.code for rule in rules.known if RuleSet([rule]).needs(tracker)]
    assert len(served) > 1, served
