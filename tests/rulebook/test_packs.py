"""Rule packs are loaded by path, and a mistake in one names the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcheck_tool import when
from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.report import sarif
from gradcheck_tool.report.context import ReportContext
from gradcheck_tool.rulebook.builtin import builtin_pack
from gradcheck_tool.rulebook.documentation import read_doc, render, render_catalogue
from gradcheck_tool.rulebook.handlers import judged_events, public_events
from gradcheck_tool.rulebook.pack import RulePackError, load_pack
from gradcheck_tool.rulebook.ruleset import RuleSet
from gradcheck_tool.rulebook.triggers import triggers_of

THREE = Path(__file__).parents[1] / "rules" / "pack_of_three"

GOOD = '''
from gradcheck_tool import BackwardCall, Rule, Severity


class TeamRule(Rule):
    """Every backward is reported."""

    code = "TEAM001"
    name = "no-backward"
    severity = Severity.INFO

    def on_backward_call(self, event: BackwardCall):
        yield self.finding(event, f"backward of {event.root}")
'''

NAME_USE = """
    def on_name_use(self, event):
        yield self.finding(event, "used")
"""
OWN_EVENT = (
    GOOD.replace("import ", "import Event, ", 1).replace("backward_call", "overslept")
    + """

class Overslept(Event):
    pass
"""
)


def pack(folder: Path, **files: str) -> Path:
    for name, source in files.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    return folder


def test_a_pack_of_a_project_is_loaded_beside_the_built_in_one(tmp_path: Path) -> None:
    rules = RuleSet.load([pack(tmp_path, team=GOOD)])
    assert rules.rule("TEAM001").name == "no-backward"
    assert "GL101" in {rule.code for rule in rules.known}


def test_files_in_subfolders_count_and_may_share_a_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    pack(tmp_path / "a", rule=GOOD)
    pack(tmp_path / "b", rule=GOOD.replace("TEAM001", "TEAM002").replace("no-backward", "other"))
    assert [rule.code for rule in load_pack(tmp_path)] == ["TEAM001", "TEAM002"]


def test_imported_rules_are_not_defined_twice(tmp_path: Path) -> None:
    extended = GOOD + "\n\nclass Second(TeamRule):\n    code = 'TEAM002'\n    name = 'second'\n"
    assert [rule.code for rule in load_pack(pack(tmp_path, team=extended))] == ["TEAM001", "TEAM002"]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("def (", "SyntaxError"),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        (GOOD.replace('"TEAM001"', '"T1"'), "letters and three digits"),
        (GOOD.replace("no-backward", "No Backward"), "kebab-case"),
        (GOOD.replace("on_backward_call", "on_backwards"), "did you mean `on_backward_call`?"),
        (GOOD.replace("    severity = Severity.INFO\n", ""), "has no `severity`"),
        (GOOD.replace("    severity", '    effect = "loud"\n    severity'), "not one of"),
        (GOOD + NAME_USE, "TeamRule.on_name_use needs `names`"),
        (GOOD + '\n    names = ("torch.load",)\n', "has `names`, but no `on_name_use`"),
        (GOOD + NAME_USE + '\n    names = ("torch load",)\n', "'torch load', which is no name"),
        (GOOD + NAME_USE + '\n    names = ("torch.*",)\n', "needs `triggers`"),
        (
            GOOD.replace("BackwardCall", "MethodUse").replace("backward_call", "method_use"),
            "declare `triggers`",
        ),
        (OWN_EVENT.replace("on_overslept", "on_oversleep"), "did you mean `on_overslept`?"),
        (OWN_EVENT, "judges Overslept, which may happen in any code: declare `triggers`"),
    ],
)
def test_a_mistake_names_the_file(tmp_path: Path, broken: str, message: str) -> None:
    with pytest.raises(RulePackError) as caught:
        load_pack(pack(tmp_path, team=broken))
    assert str(tmp_path / "team.py") in str(caught.value)
    assert message in str(caught.value)


def test_a_missing_or_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RulePackError, match="no such folder"):
        load_pack(tmp_path / "missing")
    with pytest.raises(RulePackError, match="no rules"):
        load_pack(pack(tmp_path, helper="x = 1"))


def test_two_rules_of_one_code_or_name_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(RulePackError, match="two rules are called GL101"):
        RuleSet.load([pack(tmp_path, team=GOOD.replace("TEAM001", "GL101"))])
    with pytest.raises(RulePackError, match="two rules are called second-backward"):
        RuleSet.load([pack(tmp_path, team=GOOD.replace("no-backward", "second-backward"))])


@pytest.mark.parametrize("folder", [builtin_pack(), THREE], ids=["built-in", "three"])
def test_rules_of_a_pack_import_the_public_api_only(folder: Path) -> None:
    for path in folder.rglob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        imports = [line for line in lines if line.startswith(("import ", "from "))]
        allowed = (
            "from gradcheck_tool import ",
            "from collections.abc ",
            "from dataclasses ",
            "import math",
            "import re",
            "from typing ",
        )
        assert all(line.startswith(allowed) for line in imports), path


def test_a_rule_file_is_named_after_its_code_and_holds_one_rule() -> None:
    for path in builtin_pack().rglob("*.py"):
        (rule,) = load_pack_file(path)
        assert path.stem.startswith(rule + "_"), path


def load_pack_file(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return [line.split('"')[1].lower() for line in text.splitlines() if line.startswith("    code = ")]


def test_a_brief_docstring_is_the_documentation(tmp_path: Path) -> None:
    rules = RuleSet.load([pack(tmp_path, team=GOOD)])
    assert render(rules.rule("TEAM001")).startswith("# TEAM001\n")
    assert "Every backward is reported." in render_catalogue(list(rules.known))
    report = sarif.render([], ReportContext(tmp_path, lambda *_: (), lambda: rules.known))
    assert '"id": "TEAM001"' in report


@pytest.mark.parametrize("handler", ["on_engine_error", "on_event", "on_file"])
def test_a_rule_on_many_events_has_the_triggers_of_all(tmp_path: Path, handler: str) -> None:
    many = GOOD.replace("on_backward_call(self, event: BackwardCall)", f"{handler}(self, event)")
    rules = RuleSet.load([pack(tmp_path, team=many)])
    triggers = set(triggers_of(type(rules.rule("TEAM001"))))
    assert {when.BACKWARD, when.SHARED_WRITE, when.FUNCTION_CLASS} <= triggers


def test_every_event_says_where_it_may_happen_or_has_rules_that_do() -> None:
    anywhere = {"Event", "EngineError", "PythonError", "NameUse", "MethodUse"}
    for kind in public_events():
        assert bool(kind.triggers) == (kind.__name__ not in anywhere), kind


def test_a_rule_on_an_event_of_its_own_has_to_name_the_tracker(tmp_path: Path) -> None:
    text = (THREE / "team003_steps_twice.py").read_text(encoding="utf-8")
    assert "    trackers = (Steps,)\n" in text
    with pytest.raises(RulePackError, match="name Steps, which derives it, in `trackers`"):
        load_pack(pack(tmp_path, team=text.replace("    trackers = (Steps,)\n", "")))


def test_events_of_two_packs_may_share_a_name(tmp_path: Path) -> None:
    text = (THREE / "team003_steps_twice.py").read_text(encoding="utf-8")
    for name, code in (("mine", "MINE001"), ("yours", "YOURS001")):
        (tmp_path / name).mkdir()
        pack(tmp_path / name, rule=text.replace("TEAM003", code).replace('"steps-twice"', f'"{name}"'))
    rules = RuleSet.load([tmp_path / "mine", tmp_path / "yours"])
    (program,) = read_doc(type(rules.rule("mine"))).wrong
    for selected in (["MINE001"], ["YOURS001"], ["MINE001", "YOURS001"]):
        found = check_source(program.source, "train.py", rules.select(selected))
        assert [finding.code for finding in found] == selected
    assert judged_events(type(rules.rule("mine"))) != judged_events(type(rules.rule("yours")))
