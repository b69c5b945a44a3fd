"""What a run fails on besides findings: Functions that kill their process, and those that are not checked."""

import json

import pytest

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


@pytest.mark.parametrize(("fail_on", "status"), [("error", 1), ("crash", 1), ("unchecked", 1), ("never", 0)])
def test_a_function_that_kills_its_process_fails_the_run_unless_nothing_may(
    project, gradcheck, fail_on, status
):
    project("ops.py", KILLS)
    result = gradcheck("-j", 1, "--fail-on", fail_on, "--output-format", "json-report")
    assert result.exit_code == status, result.stderr
    (outcome,) = json.loads(result.stdout)["outcomes"]
    assert outcome["death"] == "crash"


def test_a_wrong_gradient_is_no_crash(ops, gradcheck):
    assert gradcheck("-j", 1, "--fail-on", "crash").exit_code == 0
    assert gradcheck("-j", 1).exit_code == 1


def test_an_abstract_base_class_is_told_with_the_classes_that_are_checked_in_its_place(project, gradcheck):
    project("ops.py", BASES)
    result = gradcheck("-j", 1, "--verbose")
    assert result.exit_code == 0, result.stderr
    assert "ops.Abstract[cpu]: defines no forward: a base class of others" in result.stderr
    assert "ops.Base[cpu]: a base class, checked by way of Heir" in result.stderr
    assert "ops.Heir[cpu]: ok" in result.stderr
