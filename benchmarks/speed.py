"""How fast `gradlint check` is, in ratios that hold on any machine.

usage: python benchmarks/speed.py FOLDER...

A FOLDER is a package unpacked from its wheel. For each one, in CPU time of one process unless said:

    cold       check without a cache, over libcst.parse_module of the same files
    warm       check with a warm cache, over cold
    processes  elapsed time of one process over that of two
    memory     peak of the cold check, in MB
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PARSE = """
import sys
from pathlib import Path
import libcst
for name in sys.stdin.read().splitlines():
    try:
        libcst.parse_module(Path(name).read_bytes())
    except Exception:
        pass
"""


def measure(command: list[str], folder: Path, stdin: str = "") -> tuple[float, float, float]:
    """CPU seconds, elapsed seconds and peak MB of a command; the peak is that of the largest child so far."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, input=stdin, text=True, capture_output=True, check=False)
    elapsed = time.perf_counter() - started
    if done.returncode not in (0, 1):
        sys.exit(f"{command}: status {done.returncode}: {done.stderr[-400:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, elapsed, after.ru_maxrss / 1024


def main(folders: list[Path]) -> None:
    """Print one line a folder."""
    check = [sys.executable, "-m", "gradcheck_tool", "check", "--isolated"]
    for folder in folders:
        files = "\n".join(sorted(str(path) for path in folder.rglob("*.py")))
        with tempfile.TemporaryDirectory() as name:
            # The cache of an isolated run lies where the command runs.
            place = Path(name)
            target = os.fspath(folder.resolve())
            cold, one, memory = measure([*check, "--no-cache", "--jobs", "1", target], place)
            parse, _, _ = measure([sys.executable, "-c", PARSE], place, files)
            _, two, _ = measure([*check, "--no-cache", "--jobs", "2", target], place)
            measure([*check, "--jobs", "1", target], place)
            warm, _, _ = measure([*check, "--jobs", "1", target], place)
        print(
            f"{folder.name}: cold {cold / parse:.2f}x parse ({cold:.1f} s), warm {warm / cold:.3f}x cold "
            f"({warm:.2f} s), two processes {one / two:.2f}x, {memory:.0f} MB"
        )


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]] or sys.exit(__doc__))
