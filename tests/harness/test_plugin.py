"""The pytest plugin, in runs of its own."""

import json
from importlib.metadata import entry_points

import pytest

from gradcheck_tool.cache import store
from tests.harness.conftest import DELAYED, OPS

pytest_plugins = "pytester"
PLUGIN = "gradcheck_tool.harness.pytest_plugin"


@pytest.fixture
def run(pytester, monkeypatch):
    """A project with a right and a wrong Function; runs pytest there in a process of its own."""
    from pathlib import Path

    import gradcheck_tool

    monkeypatch.setenv("PYTHONPATH", str(Path(gradcheck_tool.__file__).parents[1]))
    pytester.makepyprojecttoml('[project]\nname = "sample"\n')
    pytester.makepyfile(ops=OPS)
    # Where gradlint is installed, pytest has loaded the plugin by its entry point.
    installed = any(entry.value == PLUGIN for entry in entry_points(group="pytest11"))
    loading = () if installed else ("-p", PLUGIN)

    def pytest_run(*arguments):
        return pytester.runpytest_subprocess(*loading, *arguments)

    pytest_run.file = pytester.makepyfile
    return pytest_run


@pytest.mark.slow
@pytest.mark.parametrize("processes", [(), ("-n", "2")])
def test_every_function_is_a_test_with_the_report_as_its_failure(run, processes):
    result = run("--gradlint", "-ra", *processes)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*gradlint::Cube?cpu?*",
            "ops.Cube?cpu?: wrong",
            "*ops.py:26 GC101 error: the gradient of input `x` is 0.666667 times the right one",
            "*analytic * numeric *",
            "FAILED ops.py::gradlint::Cube?cpu? - GC101 the gradient of*",
        ]
    )


@pytest.mark.slow
def test_results_of_earlier_runs_are_used(run, pytester):
    run("--gradlint").assert_outcomes(passed=1, failed=1)
    cache = pytester.path / ".gradlint_cache"
    kept = list(cache.glob("gradcheck/*.json"))
    assert len(kept) == 2
    for path in kept:
        told = json.dumps(store.read_entries(path)).replace("the gradient of input `x` is", "as told before,")
        store.write(cache, path, json.loads(told))
    run("--gradlint").stdout.fnmatch_lines(["*GC101 error: as told before, 0.666667 times the right one"])
    anew = run("--gradlint", "--gradlint-no-cache")
    anew.stdout.fnmatch_lines(["*GC101 error: the gradient of input `x` is 0.666667 times the right one"])


def test_one_that_corrupts_the_process_fails_the_test_that_shows_it(run):
    run.file(ops=DELAYED)
    result = run("--gradlint", "-rA")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "ops.Corrupts?cpu?: wrong",
            "*GC304 error: Corrupts corrupts the process: after it, checking Victim killed the process: SIGSEGV",
            "FAILED ops.py::gradlint::Victim?cpu?*",
        ]
    )


def test_functions_that_cannot_be_checked_are_skipped_with_the_cause(run):
    run.file(
        other="import absent_package, torch\nabsent_package + 1\nclass Other(torch.autograd.Function): forward = None"
    )
    result = run("--gradlint", "--gradlint-target", "other.py", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*not checked: needs a module that is missing: absent_package"])


def test_devices_and_dtypes_are_items_of_their_own_that_k_and_m_select(run):
    result = run(
        "--gradlint", "--gradlint-dtype", "float64", "--gradlint-dtype", "float32", "--collect-only", "-q",
        "-k", "Sine", "-m", "gradlint",
    )  # fmt: skip
    result.stdout.fnmatch_lines(
        ["ops.py::gradlint::Sine?cpu-float64?", "ops.py::gradlint::Sine?cpu-float32?", "2/4 tests collected*"]
    )


def test_without_the_option_nothing_is_added(run):
    run.file(test_one="def test_one(): pass")
    run().assert_outcomes(passed=1)


def test_a_target_without_a_meaning_is_a_usage_error(run):
    result = run("--gradlint", "--gradlint-target", "absent.py")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: gradlint: absent.py: no such file, folder or module"])


def test_the_fixture_fails_with_the_report_and_the_marker_gives_options(run):
    run.file(
        test_ops="""
        import pytest, torch
        from ops import Cube, Sine

        def point():
            return torch.linspace(0.5, 2, 4, dtype=torch.float64).requires_grad_()

        def test_right(gradlint):
            report = gradlint(Sine, (point(),))
            assert report.ok and not report.notes

        @pytest.mark.gradlint(surrogates={"ops.Cube": "on purpose"})
        def test_options(gradlint):
            assert "as declared: on purpose" in gradlint(Cube, (point(),)).notes[0]

        def test_wrong(gradlint):
            gradlint(Cube, (point(),))
        """
    )
    result = run("--strict-markers")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*GC101 error: the gradient of input `x` is 0.666667 times the right one"])


def test_existing_tests_get_the_checker_in_the_place_of_gradcheck(run):
    run.file(
        test_ops="""
        import torch
        from torch.autograd import gradcheck
        from torch.autograd.gradcheck import gradcheck as other, GradcheckError
        from ops import Cube, Sine
        import pytest

        def point():
            return torch.linspace(0.5, 2, 4, dtype=torch.float32).requires_grad_()

        def test_right():
            assert gradcheck(Sine.apply, (point(),), eps=1e-6, atol=1e-4)
            assert other is gradcheck is torch.autograd.gradcheck

        def test_wrong():
            with pytest.raises(GradcheckError, match="GC101"):
                gradcheck(Cube.apply, point())
            assert not gradcheck(Cube.apply, point(), raise_exception=False)
        """
    )
    run("--gradlint-gradcheck").assert_outcomes(passed=2)
