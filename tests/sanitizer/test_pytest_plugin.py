"""`pytest --gradlint-run`, in runs of its own."""

import json
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import gradcheck_tool

pytest_plugins = "pytester"
PLUGIN = "gradcheck_tool.sanitizer.pytest_plugin"
LOADING = () if any(entry.value == PLUGIN for entry in entry_points(group="pytest11")) else ("-p", PLUGIN)

TESTS = """
import pytest, torch

@pytest.fixture
def model():
    return torch.nn.Linear(2, 1)

@pytest.mark.parametrize("rate", range(7))
def test_silent(model, rate):
    optimizer = torch.optim.SGD(model.parameters(), rate)
    for _ in range(3):
        model(torch.ones(4, 2)).sum().backward()
        optimizer.step()

def test_right(model):
    model(torch.ones(4, 2)).sum().backward()

def test_expected():
    y = torch.ones(3, requires_grad=True).exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
"""
RAISES = """
import torch

def test_raises():
    y = torch.ones(3, requires_grad=True).exp()
    y.add_(1)
    y.sum().backward()
"""


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(gradcheck_tool.__file__).parents[1]))
    pytester.makefile(".toml", gradlint="")

    def pytest_run(text, *arguments):
        pytester.makepyfile(test_it=text)
        return pytester.runpytest_subprocess(*LOADING, *arguments)

    return pytest_run


@pytest.mark.slow
@pytest.mark.parametrize("processes", [(), ("-n", "2")])
def test_findings_are_told_with_the_tests_that_showed_them(run, processes):
    result = run(TESTS, "--gradlint-run", *processes)
    result.assert_outcomes(passed=9)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*autograd mistakes seen by gradlint*",
            "error?GL401?: `model(torch.ones(4, 2)).sum().backward()` adds to gradients of SGD*",
            "*--> test_it.py:*:9 (never-cleared)",
            "*= steps: 2 of 3",
            "*= tests: test_it.py::test_silent?*?, *",
            "*= tests in all: 7",
        ]
    )
    assert "GL201" not in result.stdout.str()


@pytest.mark.slow
def test_a_failed_test_is_explained_and_its_traceback_has_no_frame_of_ours(run):
    result = run(RAISES, "--gradlint-run")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["error?GL201?: *", "*= tests: test_it.py::test_raises"])
    failures = result.stdout.str().partition("= FAILURES =")[2]
    assert "unpack" not in failures.partition("= warnings summary =")[0].partition("autograd mistakes")[0]


@pytest.mark.slow
def test_findings_go_to_files_and_can_fail_a_run_that_passed(run, pytester):
    result = run(
        TESTS,
        "--gradlint-run",
        "--gradlint-run-output=json=found.json",
        "--gradlint-run-error-exitcode=9",
        "--junitxml=junit.xml",
    )
    assert result.ret == 9
    (finding,) = json.loads((pytester.path / "found.json").read_text())
    assert (finding["code"], finding["source"]) == ("GL401", "run")
    assert finding["evidence"]["tests"][0] == "test_it.py::test_silent[0]"
    assert '<property name="gradlint" value="GL401 ' in (pytester.path / "junit.xml").read_text()
    assert run(TESTS, "--gradlint-run", "--gradlint-run-error-exitcode=9", "-k", "not silent").ret == 0


def test_without_the_option_nothing_is_watched_or_imported(run):
    text = "def test_it():\n    import sys\n    assert 'torch' not in sys.modules\n"
    run(text).assert_outcomes(passed=1)


def test_wrong_usage_is_told(run):
    result = run(TESTS, "--gradlint-run", "--gradlint-run-output=pdf")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--gradlint-run-output: pdf: give it FORMAT=FILE"])
