"""Every format on the same findings: a snapshot each, and the schemas of those who read them."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
import xmlschema

from gradcheck_tool.findings import Severity
from gradcheck_tool.links import HOME
from gradcheck_tool.report import FORMATS, render
from gradcheck_tool.report.context import ReportContext
from gradcheck_tool.sources.problem import Problem
from tests.fakes import finding, replacement, span, step

SCHEMAS = Path(__file__).parent / "schemas"
REPO = Path("/repo")
TEXTS = {
    ("/repo/train.py", None): [
        "import torch",
        "",
        "\ty = torch.sigmoid(x)",
        "\tz = y * 2",
        "",
        "",
        "\ty.add_(1)",
        "",
        "\tz.sum().backward()  # 損失",
    ],
    ("/repo/my models/net.py", None): ["def forward(self, x):", "    return self.act(x)"],
    ("/repo/nb.ipynb", 2): ["%matplotlib inline", "loss.backward()"],
}


def lines(filename, cell):
    return TEXTS.get((filename, cell), [])


CONTEXT = ReportContext(REPO, lines)

IN_PLACE = finding(
    "/repo/train.py",
    9,
    2,
    end_column=20,
    predicts="one of the variables needed for gradient computation has been modified by an inplace operation",
    trace=(
        step("/repo/train.py", 3, 6, 22, "`sigmoid` saves its result here"),
        step("/repo/my models/net.py", 2, 12, 23, "called from here"),
        step("/repo/train.py", 7, 2, 11, "`add_` changes it here"),
        step("/repo/train.py", 9, 2, 20, "backward raises here"),
    ),
    fix=replacement(7, 2, 11, "y = y + 1", safe=False),
)
IN_CELL = finding(
    "/repo/nb.ipynb",
    code="GL101",
    name="second-backward",
    severity=Severity.WARNING,
    message="a second backward, 100% <certain> & sure",
    location=span("/repo/nb.ipynb", 2, 1, end_column=16, cell=2),
)
AT_RUN_TIME = finding(
    "/repo/train.py",
    1,
    1,
    code="GC101",
    name="wrong-gradient",
    severity=Severity.INFO,
    message="the gradient is wrong by a factor",
    function="ops.Scale",
    device="cpu",
    dtype="float32",
    evidence={
        "diagnosis": "factor",
        "input": 0,
        "index": [2, 1],
        "analytic": 12.150000001,
        "numeric": 6.075,
        "numeric_error": 2.2e-11,
        "ratio": 2.0,
        "sample": None,
    },
)
FINDINGS = [AT_RUN_TIME, IN_PLACE, IN_CELL]


@pytest.mark.parametrize("name", FORMATS)
def test_format_looks_as_it_did(name, snapshot):
    assert without_style(render(name, FINDINGS, CONTEXT)) == snapshot


@pytest.mark.parametrize("name", FORMATS)
def test_no_findings_look_as_they_did(name, snapshot):
    assert without_style(render(name, [], CONTEXT)) == snapshot


def without_style(report):
    """The report; of a page, what it says and not how that looks."""
    return re.sub(r"(<style>).*(</style>)", r"\1\2", report, flags=re.DOTALL)


def test_full_report_with_colour_says_the_same_words():
    colored = render("full", FINDINGS, ReportContext(REPO, lines, color=True))
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render("full", FINDINGS, CONTEXT)


def test_full_report_of_a_file_that_is_gone_still_names_the_place():
    text = render("full", [IN_PLACE], ReportContext(REPO, lambda *_: ()))
    assert "train.py:9:2" in text
    assert "inplace operation" in text


def test_a_place_that_the_story_names_is_underlined_once():
    story = (step("/repo/train.py", 9, 2, 20, "adds"), step("/repo/train.py", 3, 2, 3, "applies"))
    report = render("full", [finding("/repo/train.py", 9, 2, end_column=20, trace=story)], CONTEXT)
    assert report.count("^" * 18) == 1
    assert "^ 1: adds" in report
    assert "- 2: applies" in report


def test_of_a_very_long_line_the_part_that_matters_is_shown():
    text = f"x = [{'1, ' * 5000}y.add_(1), {'2, ' * 5000}]"
    column = text.index("y.add_") + 1
    context = ReportContext(REPO, lambda *_: [text])
    report = render("full", [finding(row=1, column=column, end_column=column + 9)], context)
    source, underline = report.splitlines()[3:5]
    assert len(source) < 250
    assert source.startswith("1 | ...")
    assert source.endswith("...")
    assert source[underline.index("^") : underline.rindex("^") + 1] == "y.add_(1)"


def test_control_characters_in_source_do_not_reach_the_terminal():
    context = ReportContext(REPO, lambda *_: ["", "", "x = '\x1b[31m'"])
    assert "\x1b" not in render("full", [finding(end_column=3)], context)


def test_concise_lines_match_an_editors_problem_matcher():
    import re

    first = render("concise", [IN_PLACE], CONTEXT).splitlines()[0]
    assert re.fullmatch(r"(.+?):(\d+):(\d+): ([A-Z]+\d+) (.+)", first).groups()[:4] == (
        "train.py",
        "9",
        "2",
        "GL201",
    )


def test_json_has_the_contracts_fields():
    data = json.loads(render("json", FINDINGS, CONTEXT))
    static = {
        "code", "name", "severity", "message", "filename", "cell", "location", "end_location", "predicts",
        "trace", "assumes", "source", "fix", "url", "noqa_row",
    }  # fmt: skip
    assert set(data[1]) == static
    assert set(data[0]) == static | {"function", "device", "dtype", "evidence"}
    assert set(data[1]["trace"][0]) == {"filename", "cell", "location", "end_location", "message",
        "kind", "tensor", "storage", "version",
    }  # fmt: skip
    assert data[1]["fix"] == {
        "applicability": "unsafe",
        "message": "replace it",
        "edits": [
            {
                "content": "y = y + 1",
                "location": {"row": 7, "column": 2},
                "end_location": {"row": 7, "column": 11},
            }
        ],
    }
    assert data[2]["cell"] == 2


@pytest.mark.parametrize("findings", [FINDINGS, []])
def test_sarif_is_valid(findings):
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
    report = json.loads(render("sarif", findings, CONTEXT))
    jsonschema.Draft4Validator(schema).validate(report)


def test_sarif_describes_the_rules_that_were_in_force():
    from gradcheck_tool.rulebook.ruleset import RuleSet

    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
    rules = RuleSet.load().active
    report = json.loads(render("sarif", FINDINGS, ReportContext(REPO, lines, lambda: rules)))
    jsonschema.Draft4Validator(schema).validate(report)
    described = report["runs"][0]["tool"]["driver"]["rules"]
    assert {rule.code for rule in rules} < {rule["id"] for rule in described}
    for result in report["runs"][0]["results"]:
        assert described[result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_links_to_the_documentation_of_built_in_rules():
    from gradcheck_tool.rulebook.ruleset import RuleSet

    rules = RuleSet.load().active
    context = ReportContext(REPO, lines, lambda: rules)

    report = json.loads(render("sarif", [finding(code="TEAM001")], context))
    links = {rule["id"]: rule.get("helpUri") for rule in report["runs"][0]["tool"]["driver"]["rules"]}
    assert links["GL201"] == f"{HOME}rules/gl201/"
    assert links["TEAM001"] is None


def test_sarif_gives_the_story_as_a_code_flow_that_ends_at_the_finding():
    result = json.loads(render("sarif", [IN_PLACE], CONTEXT))["runs"][0]["results"][0]
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    regions = [step["location"]["physicalLocation"]["region"]["startLine"] for step in flow]
    assert regions == [3, 2, 7, 9]
    assert [related["id"] for related in result["relatedLocations"]] == [1, 2, 3, 4]


def test_sarif_says_what_could_not_be_checked():
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
    problems = [
        Problem("/repo/my models/old.py", "does not parse as Python (row 3, column 4)", fatal=False),
        Problem("/repo/none.py", "no such file or folder", fatal=True),
    ]

    def invocation(told):
        report = json.loads(render("sarif", [], replace(CONTEXT, problems=told)))
        jsonschema.Draft4Validator(schema).validate(report)
        (found,) = report["runs"][0]["invocations"]
        return found

    found = invocation(problems)
    assert not found["executionSuccessful"]
    assert invocation(problems[:1])["executionSuccessful"]
    notes = found["toolExecutionNotifications"]
    assert [(note["level"], note["message"]["text"]) for note in notes] == [
        ("warning", "my models/old.py: does not parse as Python (row 3, column 4)"),
        ("error", "none.py: no such file or folder"),
    ]
    (place,) = notes[0]["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "my%20models/old.py"


def test_json_has_the_row_of_the_comment_that_suppresses_a_finding():
    texts = ["y = f(", "    x.add_(1),", ")", "z = 1"]
    context = ReportContext(REPO, lambda filename, cell: [] if cell == 9 else texts)
    unread = finding("/repo/nb.ipynb", location=span("/repo/nb.ipynb", 1, 1, cell=9))
    found = [finding(row=2), finding(row=4), unread]
    data = json.loads(render("json", found, context))
    assert [item["noqa_row"] for item in data] == [3, 4, None]


def test_fingerprints_survive_moved_lines_and_tell_twins_apart():
    def prints(shift, copies):
        moved = {("/repo/train.py", None): [*[""] * shift, *["loss.backward()"] * copies]}
        findings = [finding(row=shift + copy + 1) for copy in range(copies)]
        context = ReportContext(REPO, lambda *key: moved[key])
        results = json.loads(render("sarif", findings, context))["runs"][0]["results"]
        return [result["partialFingerprints"]["primaryLocationLineHash"] for result in results]

    assert prints(0, 2) == prints(5, 2)
    assert len(set(prints(0, 3))) == 3


# What GitLab's documentation requires of a code quality report.
CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]+$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "positions"],
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!\\./|/)"},
                    "positions": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {
                            "begin": {
                                "type": "object",
                                "required": ["line"],
                                "properties": {"line": {"type": "integer", "minimum": 1}},
                            }
                        },
                    },
                },
            },
        },
    },
}


@pytest.mark.parametrize("findings", [FINDINGS, []])
def test_gitlab_report_is_valid(findings):
    jsonschema.Draft7Validator(CODE_QUALITY).validate(json.loads(render("gitlab", findings, CONTEXT)))


@pytest.mark.parametrize("findings", [FINDINGS, []])
def test_junit_report_is_valid(findings):
    text = render("junit", findings, CONTEXT)
    xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate(ET.fromstring(text))
    assert len(list(ET.fromstring(text).iter("failure"))) == len(findings)


def test_junit_survives_characters_that_xml_cannot_hold():
    text = render("junit", [finding(message="a\x00b\x1b")], CONTEXT)
    assert r"a\x00b\x1b" in next(ET.fromstring(text).iter("failure")).attrib["message"]


def test_github_command_keeps_its_shape_whatever_the_text():
    command = render("github", [IN_CELL], CONTEXT)
    assert command.count("\n") == 1
    assert command.startswith("::warning title=gradlint (GL101),file=nb.ipynb::")
    assert "100%25 <certain>" in command


def test_names_outside_the_folder_stay_absolute():
    assert render("concise", [finding("/else/a.py")], CONTEXT).startswith("/else/a.py:3:1: ")


@pytest.mark.parametrize("variable", ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"])
def test_ci_finds_files_from_the_root_of_its_checkout_wherever_the_command_runs(monkeypatch, variable):
    monkeypatch.setenv(variable, "/repo")
    context = ReportContext(REPO / "pkg", lines)
    found = [finding("/repo/pkg/a.py")]
    assert ",file=pkg/a.py," in render("github", found, context)
    assert json.loads(render("gitlab", found, context))[0]["location"]["path"] == "pkg/a.py"
    place = json.loads(render("sarif", found, context))["runs"][0]["results"][0]["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "pkg/a.py"
    assert render("concise", found, context).startswith("a.py:3:1: ")
    monkeypatch.setenv(variable, "/elsewhere")
    assert ",file=a.py," in render("github", found, context)


def test_rdjson_counts_columns_in_bytes_and_offers_whole_fixes():
    text = 'print("損失"); y.add_(1)'
    column = text.index("y.add_") + 1
    replaced = replacement(1, column, column + 9, "y = y + 1")
    found = finding(row=1, column=column, end_column=column + 9, fix=replaced)
    report = json.loads(render("rdjson", [found], ReportContext(REPO, lambda *_: [text])))
    (diagnostic,) = report["diagnostics"]
    place = diagnostic["location"]["range"]
    encoded = text.encode()
    assert encoded[place["start"]["column"] - 1 : place["end"]["column"] - 1] == b"y.add_(1)"
    assert diagnostic["suggestions"] == [{"range": place, "text": "y = y + 1"}]
    half = replace(replaced, edits=replaced.edits * 2)
    (diagnostic,) = json.loads(render("rdjson", [replace(found, fix=half)], CONTEXT))["diagnostics"]
    assert "suggestions" not in diagnostic


def test_azure_reads_back_what_was_written():
    message = "50% of `x[0]`; 100% sure"
    (line,) = render("azure", [finding("/repo/a;b]c%d.py", message=message)], CONTEXT).splitlines()
    command, _, rest = line.partition("]")
    properties = dict(pair.split("=", 1) for pair in command.split(" ", 1)[1].split(";") if pair)

    def read_back(text):
        for written, character in (("%5D", "]"), ("%3B", ";"), ("%0A", "\n"), ("%0D", "\r"), ("%AZP25", "%")):
            text = text.replace(written, character)
        return text

    assert read_back(rest) == message
    assert read_back(properties["sourcepath"]) == "a;b]c%d.py"
    assert properties["code"] == "GL201"
