"""What a run says of Functions that were not checked, of files that cannot be read, and of itself while it runs."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from gradcheck_tool.cli import gradcheck as command
from gradcheck_tool.cli.progress import progress_bar

SLOW = """
import time, torch
from torch.autograd import Function
import gradcheck_tool


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x * x


class Slow(Cube):
    @staticmethod
    def forward(ctx, x):
        open("begun", "w").close()
        time.sleep(60)
        return x * 1


@gradcheck_tool.samples(Cube)
def points(device, dtype):
    yield gradcheck_tool.Sample(torch.rand(4, dtype=dtype, requires_grad=True))


gradcheck_tool.samples(Slow)(points)
"""

UNCHECKED = """
import torch
from torch.autograd import Function


class Needs(Function):
    @staticmethod
    def forward(ctx, x):
        raise RuntimeError("no")

    @staticmethod
    def backward(ctx, g):
        return g
"""


def test_what_was_not_checked_is_in_the_json_report(project, gradcheck):
    project("ops.py", UNCHECKED)
    result = gradcheck("-j", 1, "--output-format", "json-report")
    report = json.loads(result.stdout)
    assert report["findings"] == []
    (outcome,) = report["outcomes"]
    assert (outcome["function"], outcome["status"]) == ("ops.Needs", "not checked")
    assert outcome["cause"]
    assert result.exit_code == 0


def test_a_named_file_that_cannot_be_parsed_ends_with_status_2(project, gradcheck):
    project("bad.py", "from torch.autograd import Function\nclass (\n")
    project("ops.py", project.ops)
    assert gradcheck("bad.py").exit_code == 2
    assert gradcheck("-j", 1, ".", "-k", "sine").exit_code == 0


def test_lines_say_how_far_a_run_is_where_there_is_no_terminal(capsys):
    with progress_bar(every=0.02) as told:
        told(2, 5)
        deadline = time.monotonic() + 120
        printed = ""
        while not printed and time.monotonic() < deadline:
            printed = capsys.readouterr().err
            time.sleep(0.02)
    assert "gradlint: 2 of 5 done" in printed
    assert command.LINE_S == 10


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_what_was_found_before_an_interrupt_is_printed(project):
    project("ops.py", SLOW)
    arguments = [sys.executable, "-m", "gradcheck_tool", "gradcheck", "-j", "1", "-v"]
    with subprocess.Popen(
        [*arguments, "--output-format", "concise"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not (project.folder / "begun").exists():
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "GC101" in out
    assert "Interrupted: 1 of 2 checks done." in err
