"""The worker process and what it makes of a report."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import gradcheck_tool
from gradcheck_tool.harness import worker
from gradcheck_tool.harness.functions import FunctionRef, Rows
from gradcheck_tool.harness.heat import LARGEST, small_heat
from gradcheck_tool.harness.inputs.case import Case, CasesFound
from gradcheck_tool.harness.process import Answer, Worker, _compiles, _ending, _stack
from gradcheck_tool.harness.scheduler import outcome_of
from gradcheck_tool.harness.units import Unit


class Blind(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * y

    @staticmethod
    def backward(ctx, g):
        return None, None


class OneEyed(Blind):
    @staticmethod
    def backward(ctx, g):
        return None, (g if g.any() else None)


def test_a_backward_without_any_gradient_is_not_searched_for():
    assert "there is no gradient to check" in worker._gap(Blind)
    assert worker._gap(OneEyed) is None


def test_what_took_long_is_said(monkeypatch):
    stages = worker._Stages()
    assert stages.remarks() == []
    stages.begin("arguments")
    monkeypatch.setattr(worker, "_LONG_S", -1.0)
    assert stages.remarks() == ["took 0 s: importing 0 s, arguments 0 s"]


HOME = str(Path(gradcheck_tool.__file__).parents[1])


def command(folder, **environment):
    return subprocess.run(
        [sys.executable, "-m", "gradcheck_tool", "gradcheck", "-j", "1"],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip


class TestStart:
    def test_without_a_pytorch_that_can_be_imported_the_status_is_2(self, ops, project):
        project("broken/torch/__init__.py", "raise ImportError('libcudart is absent')")
        path = os.pathsep.join([HOME, str(project.folder / "broken")])
        result = command(ops.parent, PYTHONPATH=path)
        why = "a worker process cannot import torch: ImportError: libcudart is absent"
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr == f"gradlint: error: {why}\n"

    def test_a_limit_below_what_pytorch_takes_is_no_finding(self, ops, gradcheck):
        result = gradcheck("-j", 1, "--memory", "50M")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "MiB before anything is checked; the memory limit is 50 MiB" in result.stderr

    def test_without_psutil_the_extra_is_named(self, ops, project):
        project("broken/psutil.py", "raise ModuleNotFoundError('no', name='psutil')")
        path = os.pathsep.join([HOME, str(project.folder / "broken")])
        result = command(ops.parent, PYTHONPATH=path)
        assert result.returncode == 2
        assert "psutil is missing; gradcheck needs `pip install 'gradcheck-tool[torch]'`" in result.stderr

    def test_modules_of_the_project_do_not_hide_those_of_python(self, ops, project):
        project("random.py", "raise RuntimeError('the wrong module')")
        project("types.py", "raise RuntimeError('the wrong module')")
        code = f"import sys; sys.path[0] = {HOME!r}; from gradcheck_tool.cli import main; main()"
        result = subprocess.run(
            [sys.executable, "-c", code, "gradcheck", "-j", "1", "-k", "sine", "ops.py"],
            cwd=ops.parent, capture_output=True, text=True, check=False, timeout=200,
        )  # fmt: skip
        assert "1 Function: 1 ok." in result.stderr


class TestDeath:
    @pytest.mark.parametrize(
        "place", ["triton/compiler/compiler.py", "triton/runtime/autotuner.py", "_dynamo/x.py"]
    )
    def test_a_compiler_and_a_tuner_take_their_time(self, place):
        printed = f"""
Timeout (0:00:05)!
Thread 0x1 (most recent call first):
  File "/x/{place}", line 3 in bench
  File "/x/ops.py", line 9 in forward
"""
        assert _compiles(printed, "/x/ops.py")
        assert not _compiles(printed.replace(place, "ops.py"), "/x/ops.py")

    def test_endings_in_words(self):
        assert _ending(3) == "ended the process with status 3"
        assert _ending(-11) == "killed the process: SIGSEGV"
        assert _ending(-250) == "killed the process: signal 250"

    def test_the_stack_is_the_last_one_without_frames_of_gradlint_and_pytorch(self):
        site = f"{os.sep}site-packages{os.sep}torch{os.sep}"
        printed = f"""
Timeout (0:00:05)!
Thread 0x1 (most recent call first):
  File "/x/old.py", line 1 in forward
something printed
Fatal Python error: Segmentation fault

Current thread 0x2 (most recent call first):
  File "/usr{site}autograd/function.py", line 300 in apply
  File "/x/ops.py", line 12 in backward
Thread 0x1 (most recent call first):
  File "{Path(gradcheck_tool.__file__).parent}/harness/worker.py", line 9 in main
  File "<string>", line 1 in <module>
"""
        assert _stack(printed) == ["/x/ops.py:12 in backward"]
        assert _stack("nothing was written") == []


class TestHeat:
    @pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (5,), (), (300, 200)])
    def test_rows_from_0_to_1_of_bounded_size(self, shape):
        rows = small_heat(torch.rand(shape) * 1e6)
        assert 1 <= len(rows) <= LARGEST
        assert all(len(row) == len(rows[0]) <= LARGEST for row in rows)
        assert max(max(row) for row in rows) == 1.0

    def test_the_wrong_entry_stays_where_it_is(self):
        values = torch.zeros(2, 3)
        values[1, 2] = -5.0
        assert small_heat(values) == [[0, 0, 0], [0, 0, 1]]
        values[0, 0] = float("nan")
        assert small_heat(values) == [[1, 0, 0], [0, 0, 1]]

    def test_nothing_and_no_error(self):
        assert small_heat(torch.zeros(0, 3)) == []
        assert small_heat(torch.zeros(2, 2)) == [[0, 0], [0, 0]]


class Native(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.width = ctypes.sizeof(ctypes.c_int)
        return torch.from_numpy(x.detach().numpy() * ctx.width)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.width


def _unit():
    ref = FunctionRef("native.py", Rows(1, 9), "Native", "native", str(Path.cwd()))
    return Unit(ref, "cpu", None)


def _told_of_native():
    told = []
    channel = SimpleNamespace(tell=lambda event, **facts: told.append((event, facts)), beat=lambda: None)
    case = Case((torch.rand(3, 4, requires_grad=True),), note="f(x)")
    settings = {"timeout": 120, "seed": 0, "modes": (), "surrogates": {}, "plots": None}
    worker._check_cases(channel, Native, _unit(), CasesFound((case,)), settings)
    return told


def test_what_is_known_of_native_code_is_told_before_it_gets_derived_arguments():
    told = _told_of_native()
    assert [event for event, _ in told] == ["stage", "case", "stage", "case"]
    assert [facts.get("derived", False) for event, facts in told if event == "stage"] == [False, True]
    assert [facts["number"] for event, facts in told if event == "case"] == [0, 0]


def test_a_derived_call_that_does_not_come_back_leaves_what_is_known():
    (_, first), (_, case), (_, derived), _ = _told_of_native()
    answer = Answer(stage=derived, cases=[case])
    assert not Worker._is_stuck(SimpleNamespace(_work=lambda: 99.0), Answer(stage=first), 1.0)
    assert not Worker._is_stuck(SimpleNamespace(_work=lambda: 30.0), answer, 1.0)
    assert Worker._is_stuck(SimpleNamespace(_work=lambda: 32.0), answer, 1.0)
    outcome = outcome_of(_unit(), answer)
    assert (outcome.status, outcome.cause) == ("warned", None)
    (finding,) = [f for f in outcome.findings if f.code == "GC305"]
    assert "did not end within 30 s of work, with arguments derived from those given" in finding.message
    assert "1 inputs were checked before the process ended" in outcome.notes
