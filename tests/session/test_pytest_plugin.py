"""`pytest --gradlint-check`."""

from importlib.metadata import entry_points

import pytest

pytest_plugins = ["pytester"]

PLUGIN = "gradcheck_tool.session.pytest_plugin"
BAD = """\
import torch
w = torch.ones(3, requires_grad=True)
loss = w.exp().sum()
loss.backward()
loss.backward()
"""


@pytest.fixture
def run(pytester):
    """Run pytest in a project of its own."""
    installed = any(one.value == PLUGIN for one in entry_points(group="pytest11"))
    pytester.makefile(".toml", gradlint="")
    pytester.makepyfile(test_fine="def test_fine(): pass")

    def pytest_with(*options):
        plugin = () if installed else ("-p", PLUGIN)
        return pytester.runpytest_subprocess(*plugin, "-p", "no:cacheprovider", *options)

    return pytest_with


def test_each_file_is_a_test_beside_those_in_it(run, pytester):
    pytester.makepyfile(train=BAD)
    result = run("--gradlint-check", "-v")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines_random(
        [
            "train.py::gradlint-check FAILED*",
            "test_fine.py::gradlint-check PASSED*",
            "test_fine.py::test_fine PASSED*",
        ]
    )
    result.stdout.fnmatch_lines(
        ["error[[]GL101]: *", "*--> train.py:5:1 (second-backward)", "*= help: gradlint rule GL101"]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_without_the_option_there_is_none(run, pytester):
    pytester.makepyfile(train=BAD)
    run().assert_outcomes(passed=1)


@pytest.mark.slow
def test_what_an_import_leads_to_fails_one_test(run, pytester):
    pytester.makepyfile(losses="def twice(l):\n    l.backward()\n    l.backward()\n")
    pytester.makepyfile(
        train="import torch\nfrom losses import twice\nw = torch.ones(3, requires_grad=True)\ntwice(w.exp().sum())\n"
    )
    run("--gradlint-check").assert_outcomes(passed=3, failed=1)
    # Where the file with the mistake is not asked for, the one that leads there fails.
    result = run("--gradlint-check", "train.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*losses.py:3:*"])


def test_a_file_that_is_not_python(run, pytester):
    pytester.makepyfile(train="x = = 1")
    result = run("--gradlint-check", "train.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["not checked: *train.py: does not parse as Python*"])


def test_what_the_configuration_excludes_has_no_test(run, pytester):
    pytester.makepyfile(train=BAD)
    pytester.makefile(".toml", gradlint='extend-exclude = ["train.py"]')
    run("--gradlint-check").assert_outcomes(passed=2)


def test_a_configuration_that_cannot_be_used(run, pytester):
    pytester.makefile(".toml", gradlint='selct = ["GL1"]')
    result = run("--gradlint-check")
    assert result.ret != 0
    assert "unknown key `selct`" in result.stdout.str() + result.stderr.str()
