"""`gradlint record` as it is typed: the user's command in a child, its output and its exit status."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradcheck_tool.harness.record import store
from gradcheck_tool.harness.record.calls import arguments_of

OPS = """
import torch

class Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, how):
        return how(x)

    @staticmethod
    def backward(ctx, g):
        return g, None
"""

TRAIN = """
import os, subprocess, sys, threading, torch
from ops import Through
class Half:
    def __call__(self, x):
        return x / 2
class Locked(Half):
    def __init__(self):
        self.lock = threading.Lock()
def third(x):
    return x / 3
if __name__ == "__main__":
    print(sys.argv, sys.path, __name__, os.environ["SEEN"])
    torch.manual_seed(0)
    x = torch.ones(2, requires_grad=True)
    for how in (Half(), third, Locked()):
        Through.apply(x, how)
    print(torch.rand(2).tolist(), flush=True)
    code = "import torch, ops; ops.Through.apply(torch.ones(3, 3, requires_grad=True), torch.neg)"
    subprocess.run([sys.executable, "-c", code], check=True)
    sys.exit(7)
"""

TESTS = """
import torch, ops
def test_good():
    ops.Through.apply(torch.ones(2, requires_grad=True), torch.neg).sum().backward()
def test_bad():
    assert False
"""


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import os; os.environ['SEEN'] = 'yes'")
    for name, text in {"ops.py": OPS, "train.py": TRAIN, "test_it.py": TESTS, "gradlint.toml": ""}.items():
        (folder / name).write_text(text)
    return folder


def run(folder, *arguments, **variables):
    path = os.pathsep.join([str(Path(__file__).parents[3]), str(folder.parent / "own")])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def record(folder, *arguments, **variables):
    return run(folder, "-m", "gradcheck_tool", "record", *arguments, **variables)


def calls(folder):
    return store.load(folder / ".gradlint_cache", "Through")


@pytest.mark.slow
def test_a_script(project, monkeypatch):
    monkeypatch.syspath_prepend(project)
    before = {path.name for path in project.iterdir()}
    recorded = record(project, "train.py", "--lr", "0.1", "-m", "x")
    alone = run(project, "train.py", "--lr", "0.1", "-m", "x")
    assert recorded.returncode == alone.returncode == 7, recorded.stderr
    assert recorded.stdout == alone.stdout
    assert {path.name for path in project.iterdir()} - before == {".gradlint_cache"}
    assert (project / ".gradlint_cache" / ".gitignore").read_text() == "*\n"
    assert "recorded 3 calls of 1 autograd.Function in" in recorded.stderr
    assert "not recorded: a call of ops.Through" in recorded.stderr
    hows = [arguments_of(call)[0][1] for call in calls(project) if call.problem is None]
    assert sorted(getattr(how, "__name__", type(how).__name__) for how in hows) == ["Half", "neg", "third"]


@pytest.mark.slow
def test_a_test_suite(project):
    done = record(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    (call,) = calls(project)
    assert call.cotangents is not None
    assert Path(call.filename) == (project / "ops.py").resolve()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [("train.py",), ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:benchmark", "test_it.py")],
)
def test_nothing_outside_the_cache_is_written(project, command):
    home, temporary = project.parent / "home", project.parent / "temporary"
    home.mkdir()
    temporary.mkdir()
    before = set(project.parent.rglob("*"))
    record(project, *command, HOME=str(home), TMPDIR=str(temporary), XDG_CACHE_HOME=str(home))
    cache = project / ".gradlint_cache"
    new = set(project.parent.rglob("*")) - before
    assert cache in new
    driver = home / ".nv"  # CUDA's driver makes it, where there is one
    assert [path for path in new if not {cache, driver} & {path, *path.parents}] == []


def test_a_command_without_functions(project):
    (project / "nothing.py").write_text("import torch")
    assert record(project, "nothing.py").stderr == (
        "gradlint: recorded nothing: no autograd.Function was called\n"
    )


@pytest.mark.parametrize("arguments", [["missing.py"], ["-m"], []])
def test_usage_that_cannot_run(project, arguments):
    assert record(project, *arguments).returncode == 2
    assert not (project / ".gradlint_cache").exists()
