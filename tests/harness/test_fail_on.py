"""What a run fails on besides findings: Functions that kill their process, and those that are not checked."""

import json

import pytest

from gradcheck_tool.cli.gradcheck import _status
from gradcheck_tool.harness.functions import FunctionRef, Rows
from gradcheck_tool.harness.outcomes import Outcome
from gradcheck_tool.harness.run import Verdicts
from gradcheck_tool.harness.units import Unit

KILLS = """
    import ctypes
    from torch.autograd import Function


    class Kills(Function):
        @staticmethod
        def forward(ctx, x):
            ctypes.string_at(0)
            return x

        @staticmethod
        def backward(ctx, g):
            return g
"""

BASES = """
    import torch
    from torch.autograd import Function


    class Abstract(Function):
        @staticmethod
        def backward(ctx, g):
            return 2 * g


    class Base(Function):
        @staticmethod
        def forward(ctx, x, how):
            raise NotImplementedError

        @staticmethod
        def backward(ctx, g):
            return 2 * g, None


    class Heir(Base):
        @staticmethod
        def forward(ctx, x, how=None):
            return x * 2
"""


@pytest.mark.slow
def test_a_function_that_kills_its_process_fails_the_run(project, gradcheck):
    project("ops.py", KILLS)
    result = gradcheck("-j", 1, "--fail-on", "crash", "--output-format", "json-report")
    assert result.exit_code == 1, result.stderr
    (outcome,) = json.loads(result.stdout)["outcomes"]
    assert outcome["death"] == "crash"


@pytest.mark.parametrize(
    ("fail_on", "statuses"),
    [
        ("error", {"crash": 1, "hang": 0, "memory": 0, None: 0}),
        ("crash", {"crash": 1, "hang": 1, "memory": 1, None: 0}),
        ("unchecked", {"crash": 1, "hang": 1, "memory": 1, None: 1}),
        ("never", {"crash": 0, "hang": 0, "memory": 0, None: 0}),
    ],
)
def test_what_a_run_without_findings_fails_on(fail_on, statuses):
    unit = Unit(FunctionRef("/x/ops.py", Rows(1, 9), "Cube", "ops", "/x"), "cpu", None)
    for death, status in statuses.items():
        unchecked = Outcome(unit, cause="it did not end well", death=death)
        assert _status(Verdicts([unchecked]), fail_on) == status, death
    assert _status(Verdicts(), fail_on) == 0


@pytest.mark.slow
def test_a_wrong_gradient_is_no_crash(ops, gradcheck):
    assert gradcheck("-j", 1, "--fail-on", "crash").exit_code == 0
    assert gradcheck("-j", 1).exit_code == 1


@pytest.mark.slow
def test_an_abstract_base_class_is_told_with_the_classes_that_are_checked_in_its_place(project, gradcheck):
    project("ops.py", BASES)
    result = gradcheck("-j", 1, "--verbose")
    assert result.exit_code == 0, result.stderr
    assert "ops.Abstract[cpu]: defines no forward: a base class of others" in result.stderr
    assert "ops.Base[cpu]: a base class, checked by way of Heir" in result.stderr
    assert "ops.Heir[cpu]: ok" in result.stderr
