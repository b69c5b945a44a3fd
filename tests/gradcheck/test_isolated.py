"""Nothing that a Function does to its process reaches the caller, and what dies once is tried again."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.autograd import Function

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck import check_function, isolated
from tests.gradcheck.zoo import r

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


class _Double(Function):
    """2 x; what else it does is up to its subclasses."""

    @staticmethod
    def backward(ctx, g):
        return 2 * g


class DiesOfOtherSizes(_Double):
    """Reads the address 0 where it is not given 3 rows."""

    @staticmethod
    def forward(ctx, x):
        if len(x) != 3:
            ctypes.string_at(0)
        return torch.from_numpy(x.detach().numpy() * 2)


class DiesAlways(_Double):
    @staticmethod
    def forward(ctx, x):
        ctypes.string_at(0)
        return x * 2


class DiesOnce(_Double):
    """Ends the first process that runs it, and leaves a file that tells the next one not to."""

    mark = ""

    @staticmethod
    def forward(ctx, x):
        if not Path(DiesOnce.mark).exists():
            Path(DiesOnce.mark).touch()
            os._exit(7)
        return x * 2


def test_a_function_that_dies_of_a_derived_input_is_warned_of_and_judged_without():
    report = check_function(DiesOfOtherSizes, (r(3, 4),), isolate=True)
    (finding,) = report.findings
    assert (finding.code, finding.severity) == ("GC304", Severity.WARNING)
    assert "kills the process: SIGSEGV for derived inputs" in finding.message
    assert any(__file__ in frame and "in forward" in frame for frame in finding.evidence["stack"])
    assert [v.verdict for v in report.inputs] == ["ok"]


def test_a_function_that_dies_at_the_given_inputs_is_an_error():
    report = check_function(DiesAlways, (r(3, 4),), isolate=True)
    (finding,) = report.findings
    assert (finding.code, finding.severity) == ("GC304", Severity.ERROR)
    assert "kills the process: SIGSEGV at the given inputs" in finding.message
    assert not report.ok


@pytest.mark.skipif(not isolated.can_fork(), reason="what is set here reaches a fork only")
def test_a_death_that_does_not_come_again_is_a_note(tmp_path, monkeypatch):
    monkeypatch.setattr(DiesOnce, "mark", str(tmp_path / "died"))
    report = check_function(DiesOnce, (r(3, 4),), isolate=True)
    assert report.findings == ()
    assert any("ends the process with status 7" in note for note in report.notes)


def test_without_isolation_native_code_gets_nothing_that_may_end_the_process():
    report = check_function(DiesOfOtherSizes, (r(3, 4),))
    assert report.ok
    assert any("isolate=True" in note for note in report.notes)


def test_native_code_that_forward_imports_itself_is_seen():
    class Hidden(_Double):
        @staticmethod
        def forward(ctx, x):
            import ctypes as c

            if len(x) != 3:
                c.string_at(0)
            return torch.from_numpy(x.detach().numpy() * 2)

    assert check_function(Hidden, (r(3, 4),)).ok


def test_what_the_check_raises_is_raised_to_the_caller():
    with pytest.raises(TypeError, match="no_such_option"):
        check_function(DiesAlways, (r(3, 4),), isolate=True, no_such_option=1)
    with pytest.raises(KeyError):
        check_function(DiesOfOtherSizes, (r(3, 4),), isolate=True, manifold={0: "no such surface"})


@pytest.fixture
def no_fork(monkeypatch):
    """As on a machine with a device."""
    monkeypatch.setattr(isolated, "can_fork", lambda: False)


@pytest.mark.usefixtures("no_fork")
class TestWithoutFork:
    @pytest.mark.slow
    def test_a_fresh_process_dies_in_the_place_of_the_caller(self):
        report = check_function(DiesOfOtherSizes, (r(3, 4),), isolate=True)
        (finding,) = report.findings
        assert (finding.code, finding.severity) == ("GC304", Severity.WARNING)
        assert any(__file__ in frame and "in forward" in frame for frame in finding.evidence["stack"])
        assert [v.verdict for v in report.inputs] == ["ok"]

    @pytest.mark.slow
    def test_what_the_check_raises_is_raised_to_the_caller(self):
        with pytest.raises(KeyError):
            check_function(DiesOfOtherSizes, (r(3, 4),), isolate=True, manifold={0: "no such surface"})

    def test_a_function_that_only_this_process_has_is_refused(self):
        class Local(_Double):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

        with pytest.raises(RuntimeError, match=r"isolate=True cannot be used here.*Local"):
            check_function(Local, (r(3, 4),), isolate=True)


_PROGRAM = """
import torch
from gradcheck_tool.gradcheck import check_function, isolated

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return 3 * g

def main():
    isolated.can_fork = lambda: False
    x = torch.ones(3, dtype=torch.double, requires_grad=True)
    print(check_function(Twice, (x,), isolate=True).findings[0].code)
"""


def _run_program(tmp_path, end):
    path = tmp_path / "program.py"
    path.write_text(_PROGRAM + end)
    return subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_fresh_process_finds_what_a_program_defines(tmp_path):
    ran = _run_program(tmp_path, "\nif __name__ == '__main__':\n    main()\n")
    assert ran.stdout == "GC101\n", ran.stderr


@pytest.mark.slow
def test_a_program_that_checks_whenever_it_is_imported_is_told_what_to_do(tmp_path):
    ran = _run_program(tmp_path, "\nmain()\n")
    assert "put what starts checks under" in ran.stderr
