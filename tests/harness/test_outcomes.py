"""What a run tells: outcomes, the summary, formats, exit status, and what is kept for later runs."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
import xmlschema

from gradcheck_tool.codes import CODES
from gradcheck_tool.findings import Finding, Location, Position, Severity
from gradcheck_tool.harness.functions import FunctionRef, Rows
from gradcheck_tool.harness.outcomes import (
    CaseResult,
    InputResult,
    Outcome,
    merged,
    pack_case,
    pack_finding,
    unpack_case,
    unpack_finding,
)
from gradcheck_tool.harness.summary import summarise
from gradcheck_tool.harness.units import Unit
from tests.harness.conftest import OPS

SCHEMA = Path(__file__).parents[1] / "report" / "schemas" / "junit-10.xsd"
UNIT = Unit(FunctionRef("/x/ops.py", Rows(1, 9), "Cube", "ops", "/x"), "cpu", None)


def finding(code="GC101", **changes):
    place = Location("/x/ops.py", Position(3, 5), Position(3, 20))
    entry = CODES[code]
    made = Finding(code, entry.name, entry.severity, "message", place, function="ops.Cube", device="cpu",
                   dtype="float32", evidence={"diagnosis": "factor", "input": 0, "ratio": 2.0})  # fmt: skip
    return replace(made, **changes)


def case(verdict="ok", **changes):
    made = CaseResult(
        "declared", "samples of ops", (InputResult(0, verdict, "forward body"),), 40, "forward body"
    )
    return replace(made, **changes)


class TestOutcome:
    def test_findings_and_cases_survive_being_json(self):
        heat = {0: [[0.0, 1.0]]}
        assert unpack_finding(json.loads(json.dumps(pack_finding(finding())))) == finding()
        result = case(notes=("a",), text="ops.Cube: ok", heat=heat)
        assert unpack_case(json.loads(json.dumps(pack_case(result)))) == result

    def test_a_mistake_that_several_inputs_show_is_reported_once(self):
        other = finding(evidence={"diagnosis": "factor", "input": 1})
        again = finding(message="the same, of another case")
        assert merged([finding(), again, other]) == (finding(), other)
        assert len(merged([finding(), finding(dtype="bfloat16")])) == 2
        assert len(merged([finding(), finding(function="ops.Square")])) == 2

    def test_a_mistake_that_one_case_names_is_not_listed_as_unknown(self):
        unknown = finding(evidence={"diagnosis": "unknown", "input": 0})
        assert merged([unknown, finding()]) == (finding(),)
        elsewhere = finding(evidence={"diagnosis": "unknown", "input": 1})
        assert merged([elsewhere, finding()]) == (elsewhere, finding())

    @pytest.mark.parametrize(
        ("outcome", "status"),
        [
            (Outcome(UNIT, cases=(case(),)), "ok"),
            (Outcome(UNIT, cases=(case("wrong"),), findings=(finding(),)), "wrong"),
            (Outcome(UNIT, cases=(case(),), findings=(finding("GC209"),)), "ok"),
            (Outcome(UNIT, cases=(case("surrogate"),), findings=(finding("GC190"),)), "intended"),
            (Outcome(UNIT, cases=(case(), case("inconclusive"))), "inconclusive"),
            (Outcome(UNIT, cause="needs CUDA"), "not checked"),
            (Outcome(UNIT, cause="killed", findings=(finding("GC304"),)), "wrong"),
        ],
    )
    def test_status(self, outcome, status):
        assert outcome.status == status
        assert outcome.text().startswith(f"ops.Cube[cpu]: {status}")

    def test_text_tells_every_finding_once(self):
        told = Outcome(UNIT, cases=(case(text="GC101 error: message"),), findings=(finding(),))
        assert told.text().count("message") == 1
        crash = replace(told, findings=(finding(), finding("GC304", message="died")))
        assert "/x/ops.py:3 GC304 error: died" in crash.text()


class TestSummary:
    def test_what_was_not_checked_is_never_hidden(self):
        outcomes = [
            Outcome(UNIT, cases=(case(),)),
            Outcome(UNIT, cases=(case(source="recorded"),), cached=True),
            Outcome(UNIT, cause="needs CUDA"),
            Outcome(UNIT, cause="no inputs", stub="@samples(Cube)"),
            Outcome(UNIT, cause="no inputs either", stub="@samples(Other)"),
        ]
        assert summarise(outcomes, verbose=False) == [
            "5 checks of 1 Function: 2 ok, 3 not checked (1 from the cache).",
            "Checked: 1 by declared inputs, 1 by recorded inputs.",
            "Not checked:",
            "  ops.Cube[cpu]: needs CUDA",
            "  ops.Cube[cpu]: no inputs",
            "  ops.Cube[cpu]: no inputs either",
            "To check them, put samples into a file gradcheck_samples.py (2 of them with --verbose):",
            "",
            "@samples(Cube)",
        ]

    def test_verbose_tells_everything(self):
        lines = summarise([Outcome(UNIT, cause="none", tried=("declared: no",), stub="stub")], verbose=True)
        assert lines[:5] == ["ops.Cube[cpu]: not checked", "  none", "  declared: no", "", "stub"]
        assert lines.count("stub") == 1

    def test_what_was_checked_alone_is_told_in_full(self):
        outcome = Outcome(UNIT, cases=(case(),))
        assert summarise([outcome], verbose=False)[: len(outcome.text().splitlines())] == (
            outcome.text().splitlines()
        )

    def test_nothing_to_check(self):
        assert summarise([], verbose=False) == ["No autograd Functions found."]


@pytest.fixture(scope="module")
def checked_folder(tmp_path_factory):
    """A project of the module `ops` whose results are kept: later runs start no worker."""
    folder = tmp_path_factory.mktemp("checked")
    (folder / "pyproject.toml").write_text('[project]\nname = "sample"\n')
    (folder / "ops.py").write_text(OPS)
    return folder


@pytest.fixture
def checked(checked_folder, project, monkeypatch):
    """The path of `ops` in that project, to run in."""
    monkeypatch.setattr("gradcheck_tool.harness.results.stamp", lambda folders: "this version")
    monkeypatch.chdir(checked_folder)
    return checked_folder / "ops.py"


class TestRun:
    def test_a_wrong_function_is_reported_at_backward(self, checked, gradcheck):
        result = gradcheck("--output-format", "json", "-j", 1)
        assert result.exit_code == 1
        (found,) = json.loads(result.stdout)
        assert (found["code"], found["function"], found["device"]) == ("GC101", "ops.Cube", "cpu")
        assert (found["filename"], found["location"]["row"]) == (str(checked), 26)
        assert found["evidence"]["diagnosis"] == "factor"
        assert found["url"].endswith("/rules/gc101/")
        assert "2 Functions: 1 ok, 1 wrong." in result.stderr
        assert "Checked: 2 by declared inputs." in result.stderr

    def test_results_are_kept_until_source_inputs_or_settings_change(
        self, ops, project, gradcheck, monkeypatch
    ):
        # Results depend on gradlint's own files, too, which may be edited while its tests run.
        monkeypatch.setattr("gradcheck_tool.harness.results.stamp", lambda folders: "this version")

        def cached(*arguments):
            result = gradcheck("-j", 1, "--output-format", "json", *arguments)
            assert [found["code"] for found in json.loads(result.stdout)] == ["GC101"]
            return "from the cache" in result.stderr

        assert not cached()
        assert cached()
        assert cached("--timeout", "100")
        assert not cached("--seed", "1")
        assert not cached("--no-cache")
        ops.write_text(ops.read_text() + "\n# changed\n")
        assert not cached()
        project("conftest.py", "import gradcheck_tool")
        assert not cached()
        assert cached()

    def test_every_format_has_the_finding(self, checked, gradcheck):
        formats = ("full", "concise", "json", "sarif", "github", "gitlab", "junit")
        gradcheck("-j", 1, *(word for name in formats for word in ("--output-format", f"{name}=out/{name}")))
        for name in formats:
            assert "GC101" in (checked.parent / "out" / name).read_text(), name
        sarif = json.loads((checked.parent / "out" / "sarif").read_text())
        (result,) = sarif["runs"][0]["results"]
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 26

    def test_junit_has_every_function(self, ops, project, gradcheck):
        project(
            "zz.py",
            "import absent_dependency, torch\nabsent_dependency + 1\nclass Mine(torch.autograd.Function): forward = None\n",
        )
        text = gradcheck("-j", 1, "--output-format", "junit").stdout
        cases = {case.get("name"): case for case in ET.fromstring(text).iter("testcase")}
        xmlschema.XMLSchema(SCHEMA).validate(ET.fromstring(text))
        assert list(cases) == ["ops.Sine[cpu]", "ops.Cube[cpu]", "zz.Mine[cpu]"]
        assert list(cases["ops.Sine[cpu]"]) == []
        (failure,) = cases["ops.Cube[cpu]"]
        assert (failure.tag, failure.get("type")) == ("failure", "GC101")
        assert "analytic" in failure.text
        (skipped,) = cases["zz.Mine[cpu]"]
        assert skipped.get("message") == "needs a module that is missing: absent_dependency"

    @pytest.mark.parametrize(
        ("options", "status", "findings"),
        [
            (["--fail-on", "error"], 1, 1),
            (["--fail-on", "never"], 0, 1),
            (["--ignore", "GC101"], 0, 0),
            (["--select", "GC2"], 0, 0),
            (["-k", "sine"], 0, 0),
            (["--shard", "1/2"], 0, 0),
            (["--shard", "2/2"], 1, 1),
        ],
    )
    def test_exit_status_and_selection(self, checked, gradcheck, options, status, findings):
        result = gradcheck("-j", 1, "--output-format", "json", *options)
        assert (result.exit_code, len(json.loads(result.stdout))) == (status, findings)

    def test_comments_and_per_file_ignores_suppress(self, ops, project, gradcheck):
        lines = ops.read_text().splitlines()
        lines[25] += "  # noqa: GC101"
        project("more.py", "\n".join(lines))
        project("pyproject.toml", '[tool.gradlint.per-file-ignores]\n"ops.py" = ["GC1"]\n')
        assert gradcheck("-j", 1).exit_code == 0

    def test_unchecked_functions_fail_where_that_is_asked_for(self, project, gradcheck):
        project(
            "ops.py",
            "import absent_dependency, torch\nabsent_dependency + 1\nclass Mine(torch.autograd.Function): forward = None\n",
        )
        result = gradcheck("-j", 1, "--fail-on", "unchecked")
        assert result.exit_code == 1
        assert "ops.Mine[cpu]: needs a module that is missing: absent_dependency" in result.stderr

    def test_one_worker_or_two_tell_the_same(self, ops, project, gradcheck):
        project("more.py", ops.read_text())
        runs = [gradcheck("-n", "-j", jobs, "--output-format", "json", "-v") for jobs in (1, 2)]
        assert json.loads(runs[0].stdout) == json.loads(runs[1].stdout)
        names = [[line for line in run.stderr.splitlines() if "[cpu]: " in line] for run in runs]
        assert names[0] == names[1]
        assert len(names[0]) == 4

    def test_pictures_need_matplotlib(self, ops, gradcheck, monkeypatch):
        monkeypatch.setattr("gradcheck_tool.cli.gradcheck.find_spec", lambda name: None)
        result = gradcheck("--plots", "heat")
        assert result.exit_code == 2
        assert (
            result.stderr
            == "gradlint: error: heat maps need matplotlib: `pip install 'gradcheck-tool[plots]'`\n"
        )

    def test_a_dtype_reaches_the_samples_and_the_lines_of_the_report(self, ops, gradcheck):
        words = ("-j", 1, "--dtype", "float64", "--output-format", "json", "--output-format", "concise=out")
        (found,) = json.loads(gradcheck(*words).stdout)
        assert (found["severity"], found["dtype"]) == (Severity.ERROR.value, "float64")
        line = (ops.parent / "out").read_text()
        assert line.startswith("ops.py:26:5: GC101 ")
        assert line.endswith(" (ops.Cube[cpu-float64])\n")

    def test_a_device_that_is_not_there_is_a_cause(self, ops, gradcheck):
        result = gradcheck("-j", 1, "--device", "xpu")
        assert result.exit_code == 0
        assert "ops.Cube[xpu]: device 'xpu' cannot be used here" in result.stderr
