"""What code that is checked can get at: few environment variables, and no life after the run."""

import os
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from gradcheck_tool.harness.environment import MARK, worker_environment

OPS = """\
import os
import subprocess
import sys

import torch
from torch.autograd import Function

import gradcheck_tool


class Sine(Function):
    @staticmethod
    def forward(ctx, x):
        {body}
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos()


@gradcheck_tool.samples(Sine)
def _(device, dtype):
    yield gradcheck_tool.Sample(torch.rand(2, device=device, dtype=dtype))
"""


class TestEnvironment:
    def test_the_usual_variables_and_no_others(self, monkeypatch):
        for name in (
            "SECRET",
            "AWS_ACCESS_KEY_ID",
            "HF_TOKEN",
            "GITHUB_TOKEN",
            "TORCH_API_TOKEN",
            "PYTHON_KEY_KEY",
        ):
            monkeypatch.setenv(name, "x")
        for name in ("CUDA_VISIBLE_DEVICES", "PYTORCH_CUDA_ALLOC_CONF", "LC_ALL", "OMP_PLACES", "TMPDIR"):
            monkeypatch.setenv(name, "y")
        found = worker_environment("cpu", 3, (), "mark")
        assert {name for name, value in found.items() if value == "x"} == set()
        assert sum(value == "y" for value in found.values()) == 5
        assert found["PATH"] == os.environ["PATH"]
        assert (found["OMP_NUM_THREADS"], found["TRITON_INTERPRET"], found[MARK]) == ("3", "1", "mark")

    def test_what_is_asked_for_by_name_or_pattern(self, monkeypatch):
        for name in ("SECRET", "MY_ONE", "MY_TOKEN", "OTHER"):
            monkeypatch.setenv(name, "x")
        found = worker_environment("cuda", 1, ("SECRET", "MY_*"), "mark")
        assert {name for name, value in found.items() if value == "x"} == {"SECRET", "MY_ONE", "MY_TOKEN"}
        assert "TRITON_INTERPRET" not in found or "TRITON_INTERPRET" in os.environ

    def test_what_the_user_has_set_stays(self, monkeypatch):
        monkeypatch.setenv("OMP_NUM_THREADS", "7")
        assert worker_environment("cpu", 1, (), "mark")["OMP_NUM_THREADS"] == "7"

    @pytest.mark.parametrize(("options", "seen"), [((), "None"), (("--pass-env", "SECRET"), "of mine")])
    def test_a_function_sees_what_it_may(self, project, gradcheck, monkeypatch, options, seen):
        monkeypatch.setenv("SECRET", "of mine")
        path = project.folder / "seen"
        body = f"open({str(path)!r}, 'w').write(str(os.environ.get('SECRET')))"
        project("ops.py", OPS.format(body=body))
        result = gradcheck("-j", 1, "--no-cache", *options)
        assert "1 ok" in result.stderr
        assert path.read_text() == seen

    def test_a_configuration_cannot_ask_for_any(self, project, gradcheck):
        project("pyproject.toml", "[tool.gradlint.gradcheck]\npass-env = ['SECRET']\n")
        project("ops.py", OPS.format(body="pass"))
        assert gradcheck("--list").exit_code == 2


# How a program starts another that is to live on; each writes down its number.
SLEEPS = "import os, sys, time; open({path!r}, 'a').write(str(os.getpid()) + chr(10)); time.sleep(600)"
STARTS = {
    "a session of its own": "subprocess.Popen([sys.executable, '-c', {code!r}], start_new_session=True)",
    "no environment": "subprocess.Popen([sys.executable, '-c', {code!r}], start_new_session=True, env={{}})",
    "a daemon": (
        "subprocess.run([sys.executable, '-c', 'import subprocess, sys; "
        'subprocess.Popen([sys.executable, "-c", sys.argv[1]], start_new_session=True)\', {code!r}])'
    ),
    "a daemon without an environment": (
        "subprocess.run([sys.executable, '-c', 'import subprocess, sys; "
        'subprocess.Popen([sys.executable, "-c", sys.argv[1]], start_new_session=True, env=dict())\', {code!r}])'
    ),
}


def living(path):
    """Those of the processes that wrote down their numbers which are alive."""
    found = []
    for number in path.read_text().split():
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(int(number))
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="other systems give orphans to nobody in particular")
@pytest.mark.parametrize("how", STARTS)
@pytest.mark.parametrize("end", ["ends", "is interrupted"])
def test_nothing_outlives_the_run(project, how, end):
    path = project.folder / "pids"
    start = STARTS[how].format(code=SLEEPS.format(path=str(path)))
    wait = "import time; time.sleep(60 if os.path.exists('wait') else 0)"
    project("ops.py", OPS.format(body=f"{start}\n        {wait}"))
    if end != "ends":
        project("wait")
    command = [sys.executable, "-m", "gradcheck_tool", "gradcheck", "-j", "1", "--no-cache"]
    process = subprocess.Popen(command, cwd=project.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if end != "ends":
        until = time.monotonic() + 120
        while not (path.exists() and path.read_text()) and time.monotonic() < until:
            time.sleep(0.1)
        process.terminate()
    _, err = process.communicate(timeout=200)
    try:
        assert path.read_text(), err
        for _ in range(600):
            if not living(path):
                break
            time.sleep(0.1)
        assert living(path) == []
    finally:
        for left in living(path):
            left.kill()


@pytest.mark.skipif(os.name != "posix", reason="sessions are a matter of POSIX")
def test_nothing_outlives_a_worker_that_crashes(project, gradcheck):
    path = project.folder / "pids"
    start = STARTS["a daemon"].format(code=SLEEPS.format(path=str(path)))
    wait = f"while not (os.path.exists({str(path)!r}) and os.path.getsize({str(path)!r})): pass"
    project("ops.py", OPS.format(body=f"{start}\n        {wait}\n        os.abort()"))
    result = gradcheck("-j", 1, "--no-cache")
    assert "GC304" in result.stdout
    try:
        assert path.read_text()
        assert living(path) == []
    finally:
        for left in living(path):
            left.kill()


@pytest.mark.parametrize("command", ["gradcheck", "run", "record"])
def test_the_help_says_that_code_is_run(command):
    from typer.testing import CliRunner

    from gradcheck_tool.cli.app import app

    text = " ".join(CliRunner().invoke(app, [command, "--help"]).stdout.split())
    assert "runs your code" in text or "runs the code that it checks" in text
