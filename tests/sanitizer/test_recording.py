"""`gradlint run` keeps inputs for `gradlint gradcheck` in the same run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import torch

class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * x
        result = y * x
        ctx.save_for_backward(x, result)
        return result

    @staticmethod
    def backward(ctx, gradient):
        x, result = ctx.saved_tensors
        return 3 * x * x * gradient

if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(4, requires_grad=True)
    y = Cube.apply(x)
    y.sum().backward()
    print(x.grad.tolist(), torch.rand(2).tolist())
"""
WRITTEN = PROGRAM.replace("y.sum()", "y.add_(1).sum()")


@pytest.fixture
def project(tmp_path):
    (tmp_path / "gradlint.toml").write_text("")
    (tmp_path / "ops.py").write_text(PROGRAM)
    return tmp_path


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def gradlint(folder, *arguments):
    return run(folder, "-m", "gradcheck_tool", *arguments)


@pytest.mark.slow
def test_what_the_run_was_given_is_checked(project):
    alone, seen = run(project, "ops.py"), gradlint(project, "run", "ops.py")
    assert (seen.returncode, seen.stdout) == (0, alone.stdout)
    assert seen.stderr == (
        "gradlint: No autograd mistakes seen in this run.\ngradlint: recorded 1 call of 1 autograd.Function\n"
    )
    assert "1 by recorded inputs" in gradlint(project, "gradcheck", "ops.py").stderr


@pytest.mark.slow
def test_both_watch_at_once(project):
    (project / "ops.py").write_text(WRITTEN)
    alone, seen = run(project, "ops.py"), gradlint(project, "run", "ops.py")
    assert seen.returncode == 1
    assert seen.stderr.startswith(alone.stderr)
    assert "error[GL201]: `Cube.apply(x)` saved its result" in seen.stderr
    assert "recorded 1 call of 1 autograd.Function" in seen.stderr


@pytest.mark.slow
def test_nothing_is_written_where_it_is_not_wanted(project):
    seen = gradlint(project, "run", "--no-record", "ops.py")
    assert (seen.returncode, "recorded" in seen.stderr) == (0, False)
    assert not (project / ".gradlint_cache").exists()
