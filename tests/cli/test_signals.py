"""Signals that end the command, whenever they come: it ends at once and silently, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gradcheck_tool.cli.progress import SHOW_CURSOR

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

ROOT = Path(__file__).parents[2]
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
BAD = "import torch\n\nw = torch.zeros(3, requires_grad=True)\nloss = w.exp().sum()\nloss.backward(retain_variables=True)\n"
GOOD = BAD.replace("retain_variables", "retain_graph")
# Where the tests run in the background, interrupts are ignored, and a child would inherit that. One that comes
# while Python looks for the command is not the command's to answer. (`signal` would have to be imported first.)
COMMAND = """
import _signal, posix
_signal.signal(_signal.SIGINT, lambda number, _: posix._exit(128 + number))
_signal.signal(_signal.SIGHUP, _signal.SIG_DFL)
{patch}
from gradcheck_tool.__main__ import run
_signal.signal(_signal.SIGINT, _signal.default_int_handler)
run()
"""
FUNCTION = """
import os, torch

class Slow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with open("new", "w") as file:
            file.write(str(os.getpid()))
        os.replace("new", "begun")
        while True:
            pass

    @staticmethod
    def backward(ctx, g):
        return g
"""


def start(folder, *arguments, patch="", **environment):
    """Start the command, in whose process something else than usual happens."""
    return subprocess.Popen(
        [sys.executable, "-u", "-c", COMMAND.format(patch=patch), *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        # Standard input stays open: what reads it waits.
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process, number):
    """Send a signal. What is printed ends only when the last process that could print something has ended."""
    process.send_signal(number)
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired as expired:
        # `site` turns an interrupt in a line of a `.pth` file into an error that it prints, and goes on.
        if number != signal.SIGINT or b"Error processing line" not in (expired.stderr or b""):
            raise
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def wait_for(path):
    while not path.exists():
        time.sleep(0.01)


def write_many(folder, count):
    for number in range(count):
        (folder / f"f{number:02}.py").write_text(BAD)


def is_pythons_own(status, err, number):
    """Whether Python itself was still starting, and nothing of ours could answer the signal."""
    if number != signal.SIGINT:
        return status == -number
    ours = err.replace("gradcheck_tool/__init__.py", "").replace("gradcheck_tool/__main__.py", "")
    if not err:  # before Python answers it at all
        return status == -number
    # An interrupt that nothing handles is an exit status while `site` is imported, and a signal afterwards.
    return status in (1, -number) and "Traceback" in err and "gradcheck_tool/" not in ours


@pytest.mark.parametrize(
    ("milliseconds", "jobs"), zip([*range(20, 100, 10), *range(100, 1000, 90)], [1, 2] * 9, strict=True)
)
def test_at_any_time(tmp_path, milliseconds, jobs):
    write_many(tmp_path, 20)
    process = start(tmp_path, "check", "--fix", "--jobs", jobs, "--output-format", "sarif=out/r.sarif", ".")
    time.sleep(milliseconds / 1000)
    number = ENDING[milliseconds // 10 % 3]
    status, _, err = ended(process, number)
    if not is_pythons_own(status, err, number):
        assert (status, err.count("error")) in ((128 + number, 0), (0, 0))
    left = {path.name for path in tmp_path.rglob("*") if ".tmp" in path.name}
    assert left == set()
    assert {path.read_text() for path in tmp_path.glob("*.py")} <= {BAD, GOOD}


@pytest.mark.parametrize("milliseconds", [30, 80, 130, 210, 550])
@pytest.mark.parametrize(
    "arguments", [("gradcheck", "slow.py"), ("run", "sleep.py"), ("check", "--watch"), ("check", "-")]
)
def test_every_command_at_any_time(tmp_path, arguments, milliseconds):
    (tmp_path / "slow.py").write_text(FUNCTION)
    (tmp_path / "sleep.py").write_text("import time\ntime.sleep(1000)\n")
    (tmp_path / "temporary").mkdir()
    process = start(tmp_path, *arguments, TMPDIR=str(tmp_path / "temporary"))
    time.sleep(milliseconds / 1000)
    number = ENDING[milliseconds // 10 % 3]
    status, _, err = ended(process, number)
    if not is_pythons_own(status, err, number):
        # What is printed of an interrupt is that of the program that `run` runs.
        assert (status, "gradcheck_tool/cli" in err) == (128 + number, False)
    assert not list((tmp_path / "temporary").iterdir())


# In the place of what checks a file: something that does not end.
HANGS = """
import os, time
from gradcheck_tool.session import files
def check_source(*_, **__):
    os.write(2, b"x")
    time.sleep(1000)
files.check_source = check_source
"""


@pytest.mark.parametrize("number", [*ENDING, signal.SIGKILL])
def test_workers_end_with_the_command(tmp_path, number):
    write_many(tmp_path, 20)
    process = start(tmp_path, "check", "--jobs", "2", ".", patch=HANGS)
    assert process.stderr.read(2) == "xx"
    status = -number if number == signal.SIGKILL else 128 + number
    assert ended(process, number) == (status, "", "")


# Sends a signal before or after a file takes the place of another.
STAGED = """
import os, pathlib
reached, replace = 0, pathlib.Path.replace
def stage():
    global reached
    reached += 1
    if reached == {stage}:
        os.kill(os.getpid(), {number})
def staged(path, target):
    stage()
    replace(path, target)
    stage()
    pathlib.Path({log!r}).write_text(str(reached))
pathlib.Path.replace = staged
"""


@pytest.mark.slow
def test_at_every_file_that_is_written(tmp_path):
    folder, log = tmp_path / "tree", tmp_path / "log"
    old = json.dumps({"old": "report"})

    def run(stage, number):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write_many(folder, 1)
        (folder / "r.sarif").write_text(old)
        patch = STAGED.format(stage=stage, number=int(number), log=str(log))
        process = start(folder, "check", "--fix", "--output-format", "sarif=r.sarif", ".", patch=patch)
        _, err = process.communicate(timeout=300)
        for path in filter(Path.is_file, folder.rglob("*")):
            text = path.read_text()
            assert path.suffix != ".tmp"
            assert text in (BAD, GOOD) if path.suffix == ".py" else text
            # The cache has a line about itself before the entries.
            assert path.suffix not in (".json", ".sarif") or json.loads(text[text.index("{") :])
        return process.returncode, err

    for _ in range(2):  # the first run of a user makes the key of the caches, too
        assert run(0, signal.SIGTERM)[0] == 0
    stages = int(log.read_text())
    assert stages >= 10  # the fix, the report, the cache and its two marks, before and after each
    for stage in range(1, stages + 1):
        number = ENDING[stage % 3]
        status, err = run(stage, number)
        assert (status, err.replace("Fixed 1 problem.\n", "")) == (128 + number, ""), stage


def gone(number):
    """Whether a process has ended, or has nothing left but its status."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("number", ENDING)
def test_gradcheck(tmp_path, number):
    (tmp_path / "slow.py").write_text(FUNCTION)
    process = start(tmp_path, "gradcheck", "slow.py")
    wait_for(tmp_path / "begun")
    worker = int((tmp_path / "begun").read_text())
    status, out, err = ended(process, number)
    # A machine that is busy says before how far it is.
    assert (status, out, err.splitlines()[-1]) == (128 + number, "", "Interrupted: 0 of 1 check done.")
    while not gone(worker):
        time.sleep(0.01)


@pytest.mark.parametrize("number", ENDING)
def test_run_lets_the_command_end_and_tells_what_it_saw(tmp_path, number):
    (tmp_path / "train.py").write_text(
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\nopen('begun', 'w').close()\n"
        "time.sleep(1000)\n"
    )
    (tmp_path / "temporary").mkdir()
    process = start(tmp_path, "run", "train.py", TMPDIR=str(tmp_path / "temporary"))
    wait_for(tmp_path / "begun")
    said = "gradlint: No autograd mistakes seen in this run.\n"
    assert ended(process, number) == (128 + number, "", said)
    assert not list((tmp_path / "temporary").iterdir())


RUNS = {
    # The command gets a signal that came before it was there.
    "before the command": """
import os, subprocess
begin = subprocess.Popen.__init__
def init(*args, **kwargs):
    os.kill(os.getpid(), {number})
    begin(*args, **kwargs)
subprocess.Popen.__init__ = init
""",
    "after the command": """
import os
from gradcheck_tool.sanitizer import command
command.delivered = lambda _: os.kill(os.getpid(), {number})
""",
}


@pytest.mark.parametrize("when", RUNS)
def test_run_around_the_command(tmp_path, when):
    seconds = 1000 if when == "before the command" else 0
    (tmp_path / "train.py").write_text(f"import time\ntime.sleep({seconds})\n")
    (tmp_path / "temporary").mkdir()
    patch = RUNS[when].format(number=int(signal.SIGTERM))
    process = start(tmp_path, "run", "train.py", patch=patch, TMPDIR=str(tmp_path / "temporary"))
    process.communicate(timeout=300)
    assert process.returncode == 128 + signal.SIGTERM
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("number", ENDING)
def test_watch(tmp_path, number):
    process = start(tmp_path, "check", "--watch", ".")
    while not process.stderr.readline().startswith("Watching"):
        assert process.poll() is None
    assert ended(process, number) == (128 + number, "", "")


def test_the_cursor_is_shown_again():
    program = """
import os, signal, sys
from gradcheck_tool.ending import end_on_signals
from gradcheck_tool.cli.progress import progress_bar
end_on_signals()
sys.stderr.isatty = lambda: True
with progress_bar(patience=0) as progress:
    progress(1, 2)
    os.kill(os.getpid(), signal.SIGINT)
"""
    arguments = [sys.executable, "-c", program]
    process = subprocess.run(arguments, cwd=ROOT, stderr=subprocess.PIPE, check=False)
    assert (process.returncode, process.stderr[-len(SHOW_CURSOR) :]) == (130, SHOW_CURSOR)
