"""Programs that are larger or deeper than any that people write: they are checked, in bounded memory."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

START = "import torch\nx = torch.ones(1, requires_grad=True)\n"
END = "x.sum().backward()\n"
# What a run may take. Time has the bound of every file, behind which it is said not to have been checked.
MEGABYTES = 1000
# Linux counts the memory of who starts a process as that of the process: a small one starts it here.
MEASURE = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, file=sys.stderr)
sys.exit(status)
"""


def nested(depth: int, head: str) -> str:
    return "".join(" " * i + head.format(i) + ":\n" for i in range(depth)) + " " * depth + "x = x * 2\n"


LARGE = {
    "conditions": "".join(f"if c{i}: x = x * 0\n" for i in range(2000)),
    "managers": "".join(f"with u{i}():\n    x = u(x)\n" for i in range(500)),
    "handlers": "".join(f"try:\n    x = u(x)\nexcept E{i}:\n    x = x * {i}\n" for i in range(500)),
    "nested loops": nested(95, "for i{} in u"),
    "nested loops of two rounds": nested(19, "for i{} in range(2)"),
    "nested loops with conditions": nested(30, "while u{}()"),
    "a comprehension of many loops": "y = [x" + "".join(f" for i{i} in range(3)" for i in range(20)) + "]\n",
    "chained calls": "y = x" + ".add(1)" * 2000 + "\n",
    "nested lambdas": "y = " + "lambda: " * 900 + "x\n",
    "functions": "".join(f"def f{i}(y):\n    (y * 2).sum().backward()\n" for i in range(500)),
    "functions that double": "def f0(y): return y * 2\n"
    + "".join(f"def f{i}(y): return f{i - 1}(y) + f{i - 1}(y)\n" for i in range(1, 60))
    + "x = f59(x)\n",
    "a table": "t = {" + ", ".join(f'"k{i}": [{i}, "v{i}"]' for i in range(30_000)) + "}\n",
}


@pytest.mark.parametrize("body", LARGE.values(), ids=LARGE)
def test_work_and_memory_are_bounded(tmp_path: Path, body: str) -> None:
    (tmp_path / "a.py").write_text(START + body + END)
    command = [sys.executable, "-m", "gradcheck_tool", "check", "--isolated", "--no-cache", "a.py"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    # It may say besides that the analysis ended at the work limit.
    assert done.stderr.startswith("No autograd mistakes found in 1 file.")
    assert int(done.stderr.split()[-1]) < MEGABYTES
