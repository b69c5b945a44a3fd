"""How fast `gradlint check` is, in ratios that hold on any machine.

usage: python benchmarks/speed.py [--torchfix PYTHON] FOLDER...

A FOLDER is a package unpacked from its wheel. For each one, in CPU time of one process unless said:

    cold       check without a cache, over libcst.parse_module of the same files
    warm       check with a warm cache, over cold
    processes  elapsed time of one process over that of two (of use on a machine that is idle)
    memory     peak of the cold check, in MB
    torchfix   TorchFix on the same files over cold, where PYTHON is one that has it

Then, in CPU time of the quickest of five runs:

    script     `gradlint check` of one clean training script of 500 lines, over `import libcst`
    version    `gradlint version`, over `import typer`
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
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
CHECK = (sys.executable, "-m", "gradcheck_tool", "check", "--isolated", "--jobs")
QUICKEST_OF = 5
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.fspath(Path(__file__).resolve().parent.parent)}
# Without byte code, every run of a checkout would compile it, which an installation never does.
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)

HEAD = """
import torch
from torch import nn


"""
EPOCH = """
def epoch_{number}(model, loader, optimizer, loss_fn, device):
    model.train()
    total = 0.0
    for inputs, targets in loader:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


"""
MAIN = """
def main():
    device = torch.device("cpu")
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = [(torch.randn(4, 8), torch.randn(4, 1))]
    print(epoch_0(model, loader, optimizer, nn.MSELoss(), device))


if __name__ == "__main__":
    main()
"""


@dataclass(frozen=True)
class Cost:
    """What a command took: CPU seconds, elapsed seconds, and the peak MB of the largest child so far."""

    cpu: float
    elapsed: float
    memory: float


def measure(command: list[str], folder: Path, stdin: str = "") -> Cost:
    """Run a command to its end; one that fails ends the benchmark."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, input=stdin, text=True, capture_output=True, check=False, env=ENVIRONMENT
    )
    elapsed = time.perf_counter() - started
    if done.returncode not in (0, 1) or "Traceback" in done.stderr or "No module named" in done.stderr:
        sys.exit(f"{command}: status {done.returncode}: {done.stderr[-400:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, elapsed, after.ru_maxrss / 1024)


def package(folder: Path, torchfix: str | None) -> str:
    """One line on a package."""
    files = "\n".join(sorted(str(path) for path in folder.rglob("*.py")))
    target = os.fspath(folder.resolve())
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)  # the cache of an isolated run lies where the command runs
        cold = measure([*CHECK, "1", "--no-cache", target], place)
        parse = measure([sys.executable, "-c", PARSE], place, files)
        two = measure([*CHECK, "2", "--no-cache", target], place)
        measure([*CHECK, "1", target], place)
        warm = measure([*CHECK, "1", target], place)
        line = (
            f"{folder.name}: cold {cold.cpu / parse.cpu:.2f}x parse ({cold.cpu:.1f} s), "
            f"warm {warm.cpu / cold.cpu:.3f}x cold ({warm.cpu:.2f} s), "
            f"two processes {cold.elapsed / two.elapsed:.2f}x, {cold.memory:.0f} MB"
        )
        if torchfix is not None:
            other = measure([torchfix, "-m", "torchfix", "--select=ALL", target], place)
            line += f", TorchFix {other.cpu / cold.cpu:.0f}x cold ({other.cpu:.1f} s)"
    return line


def quickest(command: list[str], folder: Path) -> float:
    """CPU seconds of the quickest of several runs."""
    return min(measure(command, folder).cpu for _ in range(QUICKEST_OF))


def small_tasks() -> str:
    """One line on what people wait for most often."""
    python = sys.executable
    epochs = [EPOCH.format(number=number).lstrip("\n") for number in range(34)]
    script = HEAD.lstrip("\n") + "".join(epochs) + MAIN.lstrip("\n")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        path = place / "train.py"
        path.write_text(script, encoding="utf-8")
        check = quickest([*CHECK, "1", "--no-cache", str(path)], place)
        libcst = quickest([python, "-c", "import libcst"], place)
        version = quickest([python, "-m", "gradcheck_tool", "version"], place)
        typer = quickest([python, "-c", "import typer"], place)
    rows = script.count("\n")
    return (
        f"one script of {rows} lines: {check / libcst:.2f}x import libcst ({check:.2f} s); "
        f"version: {version / typer:.2f}x import typer ({version:.2f} s)"
    )


def compile_checkout() -> None:
    """Have Python keep the byte code of this checkout, as it does of what is installed."""
    fixtures = Path(__file__).resolve().parent.parent / "fixtures"
    measure([*CHECK, "1", "--no-cache", os.fspath(fixtures)], fixtures)


def main(arguments: list[str]) -> None:
    """Print one line a folder, and one on small tasks."""
    torchfix = None
    if arguments[:1] == ["--torchfix"]:
        torchfix, arguments = arguments[1], arguments[2:]
    if not arguments:
        sys.exit(__doc__)
    compile_checkout()
    for folder in map(Path, arguments):
        print(package(folder, torchfix), flush=True)
    print(small_tasks())


if __name__ == "__main__":
    main(sys.argv[1:])
