"""`gradlint check --watch`: the real watcher, on real files."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer

import pytest

ROOT = Path(__file__).parents[2]

# Where the tests run in the background, interrupts are ignored, and a child would inherit that.
COMMAND = """
import signal
from gradcheck_tool.__main__ import run
signal.signal(signal.SIGINT, signal.default_int_handler)
run()
"""
WRONG = "import torch\n\nw = torch.zeros(3, requires_grad=True)\nw += 1\n"
RIGHT = WRONG.replace("w += 1", "w = w + 1")


@pytest.fixture
def watching(tmp_path):
    """Start the command in the folder; a run that says nothing any more is ended, and so fails its test."""
    processes, timers = [], []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", COMMAND, "check", "--watch", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        timer = Timer(120, process.kill)
        timer.start()
        processes.append(process)
        timers.append(timer)
        return process

    yield start
    for process, timer in zip(processes, timers, strict=True):
        timer.cancel()
        process.kill()
        process.wait()
        process.stdout.close()


def one_round(process):
    """What is printed until the command waits for changes."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("Watching for changes"):
            return "".join(lines)
    raise AssertionError(f"the command ended: {lines}")


def test_changes_are_checked_until_interrupted(watching, tmp_path):
    program = tmp_path / "train.py"
    program.write_text(WRONG)
    process = watching("--output-format", "concise")
    assert "train.py:4:1: GL301" in one_round(process)
    program.write_text(RIGHT)
    assert "No autograd mistakes found in " in one_round(process)
    (tmp_path / "other.py").write_text(WRONG)
    assert "other.py:4:1: GL301" in one_round(process)
    (tmp_path / "gradlint.toml").write_text('ignore = ["GL30l"]\n')
    assert "did you mean" in one_round(process)
    (tmp_path / "gradlint.toml").write_text('ignore = ["GL301"]\n')
    assert "No autograd mistakes found in " in one_round(process)
    (tmp_path / "gradlint.toml").unlink()
    assert "other.py:4:1: GL301" in one_round(process)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("other.py\n")
    assert "No autograd mistakes found in " in one_round(process)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate()
    assert (process.returncode, rest) == (130, "")


def test_a_path_that_is_not_there_is_an_error(gradlint):
    result = gradlint("check", "--watch", "none")
    assert (result.exit_code, result.stderr) == (2, "gradlint: error: none: no such file or folder\n")


def test_without_the_watcher_the_way_to_get_it_is_said(gradlint, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    result = gradlint("check", "--watch")
    assert result.exit_code == 2
    assert "pip install 'gradcheck-tool[watch]'" in result.stderr
