"""Functions that kill, hang or fill their process leave the run complete and correct."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import gradcheck_tool
from gradcheck_tool.harness.functions import FunctionRef, Rows
from gradcheck_tool.harness.process import Answer
from gradcheck_tool.harness.scheduler import outcome_of
from gradcheck_tool.harness.units import Unit
from tests.harness.conftest import DELAYED, ends

DEADLY = """\
import ctypes
import os
import sys

import torch
from torch.autograd import Function

import gradcheck_tool


class Right(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos()


class Segfault(Right):
    @staticmethod
    def backward(ctx, g):
        ctypes.string_at(0)


class Abort(Right):
    @staticmethod
    def backward(ctx, g):
        os.abort()


class Leaves(Right):
    @staticmethod
    def backward(ctx, g):
        os._exit(3)


class Exits(Right):
    @staticmethod
    def backward(ctx, g):
        sys.exit(5)


class Frees(Right):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        x.untyped_storage().resize_(0)
        return g


class Hungry(Right):
    @staticmethod
    def backward(ctx, g):
        kept = []
        while True:
            kept.append(torch.ones(10_000_000))


class Wrong(Right):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos() * 2


def points(device, dtype):
    yield gradcheck_tool.Sample(torch.linspace(0.5, 2, 6, device=device, dtype=dtype).requires_grad_())


for function in (Right, Segfault, Abort, Leaves, Exits, Frees, Hungry, Wrong):
    gradcheck_tool.samples(function)(points)
"""


def row(text, name):
    """The row of `backward` in a class of the program."""
    lines = text.splitlines()
    start = lines.index(next(line for line in lines if line.startswith(f"class {name}(")))
    return next(number for number, line in enumerate(lines[start:], start + 1) if "def backward" in line)


@pytest.fixture(scope="module")
def deadly(tmp_path_factory):
    """A run over Functions that do not survive, with two workers: its findings and its whole output."""
    from typer.testing import CliRunner

    from gradcheck_tool.cli.app import app

    folder = tmp_path_factory.mktemp("deadly")
    (folder / "pyproject.toml").write_text('[project]\nname = "deadly"\n')
    (folder / "ops.py").write_text(DEADLY)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        options = ["--jobs", "2", "--memory", "1500M", "--output-format", "json", "-v"]
        result = CliRunner().invoke(app, ["gradcheck", *options])
    return json.loads(result.stdout), result


class TestDeaths:
    def finding(self, deadly, name):
        (found,) = [finding for finding in deadly[0] if finding["function"] == f"ops.{name}"]
        return found

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "code", "message"),
        [
            ("Segfault", "GC304", "Segfault killed the process: SIGSEGV in backward"),
            ("Abort", "GC304", "Abort killed the process: SIGABRT in backward"),
            ("Leaves", "GC304", "Leaves ended the process with status 3 in backward"),
            ("Exits", "GC304", "Exits calls sys.exit(5)"),
            ("Frees", "GC304", "Frees killed the process: SIGSEGV"),
        ],
    )
    def test_a_death_is_a_finding_at_backward(self, deadly, name, code, message):
        found = self.finding(deadly, name)
        assert (found["code"], found["message"]) == (code, message)
        assert found["evidence"]["diagnosis"] == "crash"
        assert found["evidence"]["case"].startswith("declared input")
        assert found["location"] == {"row": row(DEADLY, name), "column": 5}

    def test_the_place_of_the_crash_is_told(self, deadly):
        stack = self.finding(deadly, "Segfault")["evidence"]["stack"]
        assert any(f"ops.py:{row(DEADLY, 'Segfault') + 1} in backward" in frame for frame in stack)

    def test_too_much_memory_is_a_finding(self, deadly):
        found = self.finding(deadly, "Hungry")
        assert found["code"] == "GC306"
        assert found["message"].endswith("the limit is 1500 MiB; it was in backward")

    def test_the_others_are_judged_as_if_nothing_had_happened(self, deadly):
        assert self.finding(deadly, "Wrong")["code"] == "GC101"
        assert not [finding for finding in deadly[0] if finding["function"] == "ops.Right"]
        assert "ops.Right[cpu]: ok" in deadly[1].stderr

    def test_findings_and_summary_are_complete(self, deadly):
        assert deadly[1].exit_code == 1
        told = [line.split(":")[0] for line in deadly[1].stderr.splitlines() if line.startswith("ops.")]
        names = ("Right", "Segfault", "Abort", "Leaves", "Exits", "Frees", "Hungry", "Wrong")
        assert told == [f"ops.{name}[cpu]" for name in names]
        rows = [finding["location"]["row"] for finding in deadly[0]]
        assert rows == sorted(rows)


@pytest.mark.slow
def test_a_mistake_that_units_of_two_dtypes_show_in_the_same_precision_is_listed_once(project, gradcheck):
    project("ops.py", project.ops)
    result = gradcheck(
        "-k", "Cube", "--dtype", "float32", "--dtype", "float64", "--output-format", "concise", "-v", "-j", 1
    )
    assert result.stdout.count("GC101") == 1
    assert "2 checks of 1 Function: 2 wrong." in result.stderr


def told(gradcheck, limits, *texts, options=()):
    """The result under the first limit in seconds under which the texts are told, else under the last.

    A machine that does much else may need longer than usual to come to what does not end.
    """
    for limit in limits:
        result = gradcheck("--timeout", limit, "-j", *options)
        if all(text.format(limit) in result.stdout + result.stderr for text in texts):
            return result
    return pytest.fail(result.stdout + result.stderr)


@pytest.mark.slow
def test_a_call_that_does_not_return_is_a_finding(project, gradcheck):
    project("ops.py", f"import time\n{DEADLY}".replace("os.abort()", "time.sleep(600)"))
    result = told(
        gradcheck,
        (8, 60),
        "GC305 [error] a call of Abort did not end within {} s; it was in backward",
        "ops.Right[cpu]: ok",
        options=(1, "-k", "Abort or Right", "--output-format", "concise", "-v"),
    )
    assert result.exit_code == 1


def test_a_compiler_that_takes_its_time_is_no_hang(project, gradcheck):
    project("_dynamo/__init__.py", "import time\ndef compiled():\n    time.sleep(600)")
    project("ops.py", f"from _dynamo import compiled\n{DEADLY}".replace("os.abort()", "compiled()"))
    text = "ops.Abort[cpu]: checking it did not end within {} s; it was compiling"
    result = told(gradcheck, (8, 60), text, options=(1, "-k", "abort"))
    assert (result.exit_code, result.stdout) == (0, "")


@pytest.mark.slow
def test_endless_imports_and_inputs_are_causes_and_no_findings(project, gradcheck):
    project(
        "slow.py",
        "import time, torch\nclass Mine(torch.autograd.Function): forward = backward = None\ntime.sleep(600)",
    )
    project(
        "inputs.py",
        """
        import time, torch, gradcheck_tool
        class Other(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x): return x
            @staticmethod
            def backward(ctx, g): return g
        @gradcheck_tool.samples(Other)
        def _(device, dtype):
            time.sleep(600)
        """,
    )
    result = told(
        gradcheck,
        (4, 60),
        "slow.Mine[cpu]: importing its module did not end within {} s",
        "inputs.Other[cpu]: looking for inputs did not end within {} s",
        options=(2,),
    )
    assert (result.exit_code, result.stdout) == (0, "")


def test_a_process_that_outlives_the_worker_neither_hides_its_death_nor_lives_on(project, gradcheck):
    fork = """child = os.fork()
        if child == 0:
            time.sleep(600)
        open("child", "w").write(str(child))
        os.abort()"""
    project("ops.py", f"import time\n{DEADLY}".replace("os.abort()", fork))
    result = gradcheck("-j", 1, "-k", "abort", "--output-format", "concise")
    assert "GC304 [error] Abort killed the process: SIGABRT in backward" in result.stdout
    assert ends(int((project.folder / "child").read_text()))


def test_deaths_while_inputs_are_looked_for_are_no_verdicts(project, gradcheck):
    project("ops.py", DEADLY.partition("def points")[0])
    deaths = {
        "Segfault": ("GC304", "killed the process: SIGSEGV"),
        "Leaves": ("GC304", "ended the process with status 3"),
        "Hungry": ("GC306", "the limit is 700 MiB"),
    }
    options = (
        "-j",
        1,
        "-k",
        " or ".join(["right", *deaths]),
        "--memory",
        "700M",
        "--output-format",
        "json",
        "-v",
    )
    result = gradcheck(*options)
    assert result.exit_code == 1
    assert "ops.Right[cpu]: ok" in result.stderr
    found = {finding["function"]: finding for finding in json.loads(result.stdout)}
    assert list(found) == [f"ops.{name}" for name in deaths]
    for name, (code, how) in deaths.items():
        finding = found[f"ops.{name}"]
        assert (finding["code"], finding["severity"]) == (code, "info")
        assert finding["message"].endswith("in backward, with arguments that were guessed")
        assert f"ops.{name}[cpu]: looking for inputs " in result.stderr
        assert f"{how}; it was in backward (ops.py:" in result.stderr
        assert f"@gradcheck_tool.samples({name})" in result.stderr


@pytest.mark.parametrize(("source", "severity"), [("synthesised", "warning"), ("recorded", "error")])
def test_a_crash_of_a_check_with_guessed_arguments_is_a_warning(source, severity):
    unit = Unit(FunctionRef("/x/ops.py", Rows(1, 9), "Cube", "ops", "/x"), "cpu", None)
    stage = {"stage": "case", "source": source, "note": "f(1)"}
    outcome = outcome_of(unit, Answer(stage=stage, death="crash", how="killed the process: SIGSEGV"))
    (found,) = outcome.findings
    assert (found.code, found.severity.value) == ("GC304", severity)
    assert found.evidence["case"] == f"{source} input f(1)"
    assert outcome.status == ("wrong" if severity == "error" else "crashed")


def test_the_one_that_corrupts_the_process_is_the_culprit(project, gradcheck):
    project("ops.py", DELAYED)
    result = gradcheck("-j", 1, "--output-format", "json", "-v")
    found = {finding["function"]: finding for finding in json.loads(result.stdout)}
    assert list(found) == ["ops.Corrupts"]
    assert found["ops.Corrupts"]["message"].startswith(
        "Corrupts corrupts the process: after it, checking Victim"
    )
    assert "ops.Victim[cpu]: ok" in result.stderr
    assert "note: after ops.Corrupts[cpu], checking it killed the process: SIGSEGV" in result.stderr


def test_a_crash_that_does_not_come_again_is_told(project, gradcheck):
    once = "if armed and not os.path.exists('mark'):\n            open('mark', 'w').close()"
    project("ops.py", f"import os\n{DELAYED}".replace("if armed:", f"{once}"))
    result = gradcheck("-j", 1, "-v")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "note: checking it killed the process: SIGSEGV once, after others, and not again" in result.stderr


def test_what_checked_code_prints_reads_and_sets_stays_in_its_process(project, gradcheck):
    project(
        "ops.py",
        """
        import os, sys, torch
        from torch.autograd import Function
        import gradcheck_tool
        print("printed by the module")

        class Noisy(Function):
            @staticmethod
            def forward(ctx, x):
                print("printed", flush=True)
                os.write(1, b"written")
                assert sys.stdin.read() == ""
                torch.set_default_dtype(torch.float64)
                torch.set_grad_enabled(False)
                os.chdir("/")
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2

        class After(Noisy):
            @staticmethod
            def forward(ctx, x):
                assert os.getcwd() != "/"
                return x * 2

        for function in (Noisy, After):
            @gradcheck_tool.samples(function)
            def _(device, dtype):
                assert dtype is torch.float32
                yield gradcheck_tool.Sample(torch.ones(3, device=device, dtype=dtype, requires_grad=True))
        """,
    )
    result = gradcheck("-j", 1, "-v")
    assert "printed" not in result.stdout
    assert "ops.After[cpu]: ok" in result.stderr
    assert "not checked" not in result.stderr


PARENT = """
import sys
from pathlib import Path
from gradcheck_tool.harness.process import Worker
from gradcheck_tool.harness.discovery import Discovery
from gradcheck_tool.harness.settings import Settings
from gradcheck_tool.harness.units import Unit

(ref,) = Discovery().functions([Path("hangs.py").absolute()])
worker = Worker("cpu", Settings(), None, 1)
worker.check(Unit(ref, "cpu", None))
"""

HANGS = """
import os, pathlib, time
import torch

class Hangs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        if not os.fork():
            time.sleep(600)
        pathlib.Path("pid").write_text(str(os.getpid()))
        time.sleep(600)

    @staticmethod
    def backward(ctx, g):
        return g
"""


def test_a_worker_does_not_outlive_a_parent_that_is_killed(project):
    project("hangs.py", HANGS)
    path = str(Path(gradcheck_tool.__file__).parents[1])
    parent = subprocess.Popen([sys.executable, "-c", PARENT], env={**os.environ, "PYTHONPATH": path})
    written = project.folder / "pid"
    while not (written.exists() and written.read_text()):
        assert parent.poll() is None
    worker = psutil.Process(int(written.read_text()))
    (forked,) = worker.children()
    parent.kill()
    parent.wait()
    assert ends(worker.pid)
    assert ends(forked.pid)


def test_what_called_the_code_is_no_compiler_that_it_waits_for(project, gradcheck):
    project("_dynamo/__init__.py", "def calls(function):\n    function()")
    hangs = "import time\ndef hangs():\n    time.sleep(600)"
    project("ops.py", f"from _dynamo import calls\n{hangs}\n{DEADLY}".replace("os.abort()", "calls(hangs)"))
    text = "GC305 [error] a call of Abort did not end within {} s; it was in backward"
    told(gradcheck, (8, 60), text, options=(1, "-k", "abort", "--output-format", "concise"))
