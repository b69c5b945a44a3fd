"""`gradlint check --with-run`: what a run says of each finding."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gradcheck_tool.findings import Finding, Location, Position, Severity, TraceStep
from gradcheck_tool.observed.run import ObservedProcess, ObservedRun
from gradcheck_tool.observed.verdicts import judged

PROGRAM = """
import sys
import torch

weight = torch.randn(3, requires_grad=True)
hidden = weight.exp()
if len(sys.argv) > 1:
    hidden.add_(1)
hidden.sum().backward()
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "gradlint.toml").write_text("")
    return tmp_path


def gradlint(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "gradcheck_tool", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def checked(folder, *arguments):
    return gradlint(folder, "check", "--no-cache", "--with-run", "run.json", *arguments, "train.py")


@pytest.mark.slow
def test_what_was_not_reached_and_what_happened(project):
    assert gradlint(project, "run", "--save", "run.json", "train.py").returncode == 0
    assert "= in the run: not reached" in checked(project).stdout
    assert gradlint(project, "run", "--save", "run.json", "train.py", "more").returncode == 1
    assert "= in the run: confirmed" in checked(project).stdout


@pytest.mark.slow
def test_each_format_says_it(project):
    gradlint(project, "run", "--save", "run.json", "train.py", "more")
    assert checked(project, "--output-format", "concise").stdout.endswith(" [confirmed]\n")
    (finding,) = json.loads(checked(project, "--output-format", "json").stdout)
    assert finding["in_run"] == "confirmed"
    assert "in the run: confirmed" in checked(project, "--output-format", "github").stdout
    (issue,) = json.loads(checked(project, "--output-format", "gitlab").stdout)
    assert "\n\nin the run: confirmed\n" in issue["content"]["body"]
    sarif = json.loads(checked(project, "--output-format", "sarif").stdout)
    assert sarif["runs"][0]["results"][0]["properties"] == {"inRun": "confirmed"}
    junit = ET.fromstring(checked(project, "--output-format", "junit").stdout)
    assert "in the run: confirmed" in junit.find(".//failure").text


@pytest.mark.slow
def test_what_the_program_catches_happened_too(project):
    (project / "main.py").write_text(
        "import runpy, sys\ntry:\n    runpy.run_path('train.py')\nexcept RuntimeError:\n    print('caught')\n"
    )
    seen = gradlint(project, "run", "--save", "run.json", "main.py", "more")
    assert (seen.stdout, "No autograd mistakes seen" in seen.stderr) == ("caught\n", True)
    assert "= in the run: confirmed" in checked(project).stdout


@pytest.mark.slow
def test_another_folder_takes_the_place_of_that_of_the_run(project, tmp_path_factory):
    gradlint(project, "run", "--save", "run.json", "train.py", "more")
    other = tmp_path_factory.mktemp("laptop")
    for name in ("train.py", "gradlint.toml", "run.json"):
        (other / name).write_bytes((project / name).read_bytes())
    assert "= in the run: confirmed" in checked(other).stdout


@pytest.mark.slow
def test_files_that_have_changed_since_are_left_alone(project):
    gradlint(project, "run", "--save", "run.json", "train.py", "more")
    (project / "train.py").write_text("# changed\n" + PROGRAM)
    (finding,) = json.loads(checked(project, "--output-format", "json").stdout)
    assert "in_run" not in finding


@pytest.mark.parametrize("text", ["[]", "{}", "no JSON", '{"format": 2}'])
def test_a_file_that_is_no_run_is_refused_in_one_line(project, text):
    (project / "run.json").write_text(text)
    seen = checked(project)
    assert seen.returncode == 2
    assert seen.stderr == "gradlint: error: run.json: not a file that `gradlint run --save FILE` wrote\n"


FILE = "/project/train.py"
SAVES, WRITES, NEEDS = 4, 5, 6


def place(row):
    return Location(FILE, Position(row, 1), Position(row, 9))


def finding(*rows, predicts="modified by an inplace operation"):
    return Finding(
        "GL201",
        "inplace-on-saved",
        Severity.ERROR,
        "it",
        place(rows[-1]),
        predicts,
        tuple(TraceStep(place(row), "step") for row in rows),
    )


def verdict(one, process, effect="raises"):
    run = ObservedRun([], [process], {})
    return judged([one], run, {"GL201": effect})[0].in_run


def ran(*rows, needed=(), raised=None):
    lines = {}
    for time, row in enumerate(rows):
        lines.setdefault(row, []).append(time)
    return ObservedProcess({FILE: lines}, {FILE: raised or {}}, {FILE: dict(needed)})


def test_a_story_that_came_about_without_an_exception_contradicts_the_finding():
    one = finding(SAVES, WRITES, NEEDS)
    after = {SAVES: [3]}
    assert verdict(one, ran(SAVES, WRITES, NEEDS, needed=after)) == "contradicted"
    assert verdict(one, ran(SAVES, WRITES, NEEDS, needed=after), "silent") == "open"
    assert verdict(one, ran(SAVES, WRITES, NEEDS)) == "open"
    assert verdict(one, ran(WRITES, SAVES, NEEDS, needed=after)) == "not reached"
    assert verdict(one, ran(SAVES, NEEDS, needed=after)) == "not reached"
    failed = {NEEDS: ["ValueError: too few samples"]}
    assert verdict(one, ran(SAVES, WRITES, NEEDS, needed=after, raised=failed)) == "open"


def test_a_line_that_stands_twice_in_the_story_runs_twice():
    one = finding(SAVES, NEEDS, NEEDS, predicts="through the graph a second time")
    assert verdict(one, ran(SAVES, NEEDS, needed={SAVES: [2]})) == "not reached"
    assert verdict(one, ran(SAVES, NEEDS, NEEDS, needed={SAVES: [3]})) == "contradicted"


def test_what_is_refused_on_the_spot_depends_on_more_than_lines():
    assert verdict(finding(SAVES, WRITES, predicts="a leaf Variable"), ran(SAVES, WRITES)) == "open"
