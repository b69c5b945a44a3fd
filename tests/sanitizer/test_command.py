"""`gradlint run` as it is typed: the program's own output and status, and what is reported beside it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

BUG = """
import sys, torch
print(sys.argv, __name__, sys.path[0], flush=True)
x = torch.ones(3, requires_grad=True)
y = x.exp()
y.add_(1)
y.sum().backward()
"""
LOOP = """
import torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
"""
TESTS = """
import torch
def test_good():
    torch.ones(2, requires_grad=True).exp().sum().backward()
"""


@pytest.fixture
def project(tmp_path):
    for name, text in {"bug.py": BUG, "loop.py": LOOP, "test_it.py": TESTS, "gradlint.toml": ""}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def watched(folder, *arguments):
    return run(folder, "-m", "gradcheck_tool", "run", *arguments)


def test_the_program_runs_as_it_would_and_the_mistake_is_told_after_its_traceback(project):
    alone, seen = run(project, "bug.py", "--lr", "1"), watched(project, "bug.py", "--lr", "1")
    assert (seen.returncode, seen.stdout) == (alone.returncode, alone.stdout)
    assert seen.stderr.startswith(alone.stderr)
    report = seen.stderr.removeprefix(alone.stderr)
    assert report.startswith("error[GL201]: `x.exp()` saved its result")
    assert "gradlint: Found 1 problem in this run." in report


@pytest.mark.slow
def test_causes_of_the_exception_have_no_frame_of_ours(project):
    lines = BUG.replace("y.sum().backward()", "try:\n    y.sum().backward()\nexcept RuntimeError as error:")
    (project / "bug.py").write_text(f"{lines.rstrip()}\n    raise ValueError from error\n")
    alone, seen = run(project, "bug.py"), watched(project, "bug.py")
    assert seen.stderr.startswith(alone.stderr)
    assert "error[GL201]" in seen.stderr
    assert "happened: one of the variables needed for gradient computation" in seen.stderr
    assert "predicts:" not in seen.stderr


@pytest.mark.slow
def test_json_goes_to_its_file_and_says_where_findings_come_from(project):
    seen = watched(project, "--output-format", "json=found.json", "loop.py")
    assert (seen.returncode, seen.stdout, seen.stderr) == (0, "", "")
    (finding,) = json.loads((project / "found.json").read_text())
    assert (finding["code"], finding["source"]) == ("GL401", "run")
    assert finding["evidence"] == {"steps": "2 of 3"}
    assert [step["location"]["row"] for step in finding["trace"]] == [7, 6, 7]


@pytest.mark.slow
def test_comments_configuration_and_baseline_leave_findings_out(project):
    (project / "loop.py").write_text(LOOP.replace(".backward()", ".backward()  # gradlint: ignore[GL401]"))
    assert "No autograd mistakes seen" in watched(project, "loop.py").stderr
    (project / "loop.py").write_text(LOOP)
    (project / "gradlint.toml").write_text('ignore = ["GL4"]\n')
    assert "No autograd mistakes seen" in watched(project, "loop.py").stderr
    assert "GL401" in watched(project, "--isolated", "loop.py").stderr


@pytest.mark.slow
def test_findings_can_fail_a_run(project):
    assert watched(project, "--error-exitcode", "9", "loop.py").returncode == 9


@pytest.mark.slow
def test_a_run_can_go_on_after_what_pytorch_refuses(project):
    seen = watched(project, "--keep-going", "bug.py")
    assert seen.returncode == 0
    assert "error[GL201]" in seen.stderr
    assert "went on: yes" in seen.stderr


@pytest.mark.slow
def test_modules_and_installed_commands(project):
    seen = watched(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
    assert (seen.returncode, "1 passed" in seen.stdout) == (0, True)


def test_wrong_usage_is_one_line(project):
    seen = watched(project, "absent.py")
    assert seen.returncode == 2
    assert seen.stderr.count("\n") == 1
    assert seen.stderr.startswith("gradlint: error: absent.py: no such file")
    seen = watched(project, "--step", "3", "loop.py")
    assert seen.stderr == "gradlint: error: No such option: --step. See `gradlint run --help`.\n"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_signals_reach_the_program(project):
    (project / "wait.py").write_text(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    command = [sys.executable, "-m", "gradcheck_tool", "run", "wait.py"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        command, cwd=project, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 5


@pytest.mark.slow
def test_the_first_steps_alone_are_watched(project):
    longer = LOOP.replace("range(3)", "range(10)") + "assert torch._C._len_torch_dispatch_stack() == 0\n"
    (project / "loop.py").write_text(longer)
    assert "steps: 3 of 4" in watched(project, "--steps", "4", "loop.py").stderr


COMPILED = """
import torch
class Net(torch.nn.Module):
    def forward(self, x):
        return x.exp() * 2
@torch.compile(backend="eager")
def loss_of(x):
    y = x.sin()
    print("once")
    return y.sum()
net = torch.compile(Net(), backend="eager")
loss_of(net(torch.ones(3, requires_grad=True))).backward()
"""


@pytest.mark.slow
def test_what_is_compiled_is_named(project):
    (project / "compiled.py").write_text(COMPILED)
    seen = watched(project, "compiled.py")
    assert seen.returncode == 0
    *_, last = seen.stderr.splitlines()
    assert last.startswith("gradlint: not watched, as torch.compile has compiled it: ")
    assert sorted(last.partition("it: ")[2].split(", ")) == [
        f"`{'Net.' * (sys.version_info >= (3, 11))}forward` (compiled.py:4)",
        "`loss_of` (compiled.py:6)",
    ]


@pytest.mark.slow
def test_what_is_compiled_is_in_each_format_for_machines(project):
    (project / "compiled.py").write_text(COMPILED)
    formats = ("json", "sarif", "junit")
    wanted = [word for name in formats for word in ("--output-format", f"{name}={name}.txt")]
    assert watched(project, *wanted, "compiled.py").returncode == 0
    objects = json.loads((project / "json.txt").read_text())
    assert {one["code"] for one in objects} == {None}
    assert {one["source"] for one in objects} == {"run"}
    assert {one["severity"] for one in objects} == {"info"}
    assert {one["filename"] for one in objects} == {str(project / "compiled.py")}
    assert sorted(one["location"]["row"] for one in objects) == [4, 6]
    (sarif,) = json.loads((project / "sarif.txt").read_text())["runs"]
    assert sarif["results"] == []
    (invocation,) = sarif["invocations"]
    notes = invocation["toolExecutionNotifications"]
    assert {one["message"]["text"].rpartition("`")[2] for one in notes} == {
        " is compiled by torch.compile: what it does is not watched"
    }
    junit = ET.parse(project / "junit.txt")
    assert {one.get("name") for one in junit.iter("property")} == {"not-watched"}
    assert "loss_of (compiled.py:6)" in {one.get("value") for one in junit.iter("property")}
