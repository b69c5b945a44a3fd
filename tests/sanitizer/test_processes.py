"""Programs of several processes: one report for all of them, and the same result."""

import multiprocessing
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not torch.distributed.is_available() or sys.platform == "win32", reason="there is no process group"
    ),
]

TRAINING = """
import gc
import sys
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    model = DistributedDataParallel(model) if sys.argv[1] == "ddp" else fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        hidden = model(torch.randn(6, 4)).exp()
        if len(sys.argv) > 2 and dist.get_rank() == 1:
            hidden.add_(1)
        hidden.mean().backward()
        optimizer.step()
    total = sum(getattr(p, "full_tensor", p.detach)().sum().item() for p in model.parameters())
    if dist.get_rank() == 0:
        print(f"{total:.12f}", flush=True)
    # A reducer that is the last to hold the group waits for its threads with the interpreter's lock in hand,
    # and these may wait for the lock: the group outlives the model.
    del model, optimizer, hidden
    gc.collect()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
SPAWNED = """
import torch
import torch.multiprocessing as mp

def main(rank):
    y = torch.ones(3, requires_grad=True).exp()
    if rank == 1:
        y.add_(1)
    y.sum().backward()

if __name__ == "__main__":
    mp.spawn(main, nprocs=2)
"""
FORKED = """
import multiprocessing as mp
import torch

def main():
    y = torch.ones(3, requires_grad=True).exp()
    y.add_(1)
    y.sum().backward()

if __name__ == "__main__":
    process = mp.get_context("fork").Process(target=main)
    process.start()
    process.join()
    print(process.exitcode)
"""
LOADER = """
import torch
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(12, 3), torch.randn(12, 1))
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for x, y in DataLoader(data, 4, shuffle=True, num_workers=2):
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()
    print(model.weight.tolist())
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "gradlint.toml").write_text("")
    return tmp_path


def run(folder, *arguments):
    """Run a command; what it says goes to files, as a process that is left behind would keep a pipe open."""
    texts = [folder / "stdout.txt", folder / "stderr.txt"]
    with texts[0].open("w") as stdout, texts[1].open("w") as stderr:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"},
            stdout=stdout,
            stderr=stderr,
            check=False,
            timeout=300,
        )
    return subprocess.CompletedProcess(arguments, done.returncode, *[text.read_text() for text in texts])


def both(folder, text, *launcher):
    """A program without the watch, and with it."""
    (folder / "train.py").write_text(text)
    return run(folder, *launcher), run(folder, "-m", "gradcheck_tool", "run", *launcher)


def torchrun(*arguments):
    # The store chooses its port itself: one that is chosen before may be somebody else's by then.
    return "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "train.py", *arguments


@pytest.mark.parametrize("way", ["ddp", "fsdp"])
def test_each_finding_is_told_once_with_its_ranks(project, way):
    alone, seen = both(project, TRAINING, *torchrun(way))
    assert (alone.returncode, seen.returncode) == (0, 0), alone.stderr + seen.stderr
    assert seen.stdout == alone.stdout != ""
    assert seen.stderr.count("error[") == 1
    assert "error[GL401]: `hidden.mean().backward()` adds to gradients of SGD" in seen.stderr
    assert "= steps: 3 of 4" in seen.stderr
    assert "= ranks: 0-1" in seen.stderr


def test_one_rank_raises(project):
    _, seen = both(project, TRAINING, *torchrun("ddp", "raise"))
    assert seen.returncode != 0
    assert "error[GL201]: `model(torch.randn(6, 4)).exp()` saved its result" in seen.stderr
    assert "= ranks: 1\n" in seen.stderr


def test_processes_that_are_spawned_tell_what_they_raise(project):
    alone, seen = both(project, SPAWNED, "train.py")
    assert seen.returncode == alone.returncode == 1
    assert seen.stderr.count("error[") == 1
    assert "gradcheck_tool" not in seen.stderr
    assert "error[GL201]: `torch.ones(3, requires_grad=True).exp()` saved its result" in seen.stderr


def test_processes_that_are_forked_tell_what_they_raise(project):
    alone, seen = both(project, FORKED, "train.py")
    assert seen.stdout == alone.stdout == "1\n"
    assert seen.stderr.startswith(alone.stderr)
    assert "error[GL201]: `torch.ones(3, requires_grad=True).exp()` saved its result" in seen.stderr


def test_workers_of_a_data_loader_change_nothing(project):
    alone, seen = both(project, LOADER, "train.py")
    assert (seen.returncode, seen.stdout) == (0, alone.stdout)
    assert "No autograd mistakes seen" in seen.stderr


STEPS = """
import multiprocessing as mp
import os
import signal
import torch

def train(clears, parameters=None, steps=9):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD([*model.parameters(), *(parameters or ())], lr=0.1)
    for _ in range(steps):
        if clears:
            optimizer.zero_grad()
        model(torch.ones(4, 2)).sum().backward()
        optimizer.step()
    return optimizer

def forked(*arguments):
    process = mp.get_context("fork").Process(target=train, args=arguments)
    process.start()
    process.join()
    print(process.exitcode)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no such signals")
def test_a_killed_process_tells_what_its_steps_showed(project):
    alone, seen = both(project, STEPS + "train(False)\nos.kill(os.getpid(), signal.SIGKILL)\n", "train.py")
    assert alone.returncode == -signal.SIGKILL
    assert "error[GL401]: `model(torch.ones(4, 2)).sum().backward()` adds to gradients" in seen.stderr
    assert "= steps: 7 of 8" in seen.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no such signals")
def test_a_process_that_is_killed_after_the_watch_tells_what_that_showed(project):
    (project / "train.py").write_text(STEPS + "train(False)\nos.kill(os.getpid(), signal.SIGKILL)\n")
    seen = run(project, "-m", "gradcheck_tool", "run", "--steps", "3", "train.py")
    assert "= steps: 2 of 3" in seen.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no such processes")
def test_a_forked_process_that_trains_tells_what_its_steps_showed(project):
    alone, seen = both(project, STEPS + "forked(False)\n", "train.py")
    assert (seen.returncode, seen.stdout) == (alone.returncode, alone.stdout) == (0, "0\n")
    assert "= steps: 8 of 9" in seen.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no such processes")
def test_half_of_a_training_is_told_by_nobody(project):
    warm_up = """
spare = torch.ones(1, requires_grad=True)
optimizer = train(True, [spare], 3)
forked(True)
for _ in range(3):
    optimizer.zero_grad()
    spare.square().sum().backward()
    optimizer.step()
"""
    alone, seen = both(project, STEPS + warm_up, "train.py")
    assert (seen.returncode, seen.stdout) == (alone.returncode, alone.stdout)
    assert "No autograd mistakes seen" in seen.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no such processes")
@pytest.mark.parametrize("before", ["", "train(True)\n"])
def test_a_process_that_is_forked_off_and_exits_at_once_tells_what_its_steps_showed(project, before):
    text = (
        STEPS
        + before
        + """
child = os.fork()
if not child:
    train(False, steps=3)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    )
    alone, seen = both(project, text, "train.py")
    assert (seen.returncode, seen.stdout) == (alone.returncode, alone.stdout) == (0, "7\n")
    assert "= steps: 2 of 3" in seen.stderr
    assert seen.stderr.count("error[") == 1


@pytest.mark.parametrize("way", multiprocessing.get_all_start_methods())
def test_processes_of_each_kind_tell_what_their_steps_showed(project, way):
    text = f"""
if __name__ == "__main__":
    train(True, steps=3)
    process = mp.get_context("{way}").Process(target=train, args=(False, None, 3))
    process.start()
    process.join()
    print(process.exitcode)
"""
    alone, seen = both(project, STEPS + text, "train.py")
    assert (seen.returncode, seen.stdout) == (alone.returncode, alone.stdout) == (0, "0\n")
    assert "= steps: 2 of 3" in seen.stderr
    assert seen.stderr.count("error[") == 1


WAITING = """
train(False, steps=3)
print("ready", flush=True)
import time
for _ in range(600):
    time.sleep(0.1)
"""


@contextmanager
def _signals_heeded():
    """What is started here ignores no signal, as programs under `nohup` or in the background of a shell do."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGHUP, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _sent(project, number, *command):
    (project / "train.py").write_text(STEPS + WAITING)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with (
        _signals_heeded(),
        subprocess.Popen(
            [sys.executable, *command, "train.py"],
            cwd=project,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        return process.communicate(timeout=300)[1], process.returncode


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_program_and_what_its_few_steps_showed_is_told(project, number):
    seen, status = _sent(project, number, "-m", "gradcheck_tool", "run", "--no-record")
    assert status == 128 + number
    assert "= steps: 2 of 3" in seen
    assert ("KeyboardInterrupt" in seen) == (number == signal.SIGINT)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no such processes")
def test_a_process_that_is_forked_off_ends_at_once_with_a_signal(project):
    alone, seen = both(
        project,
        STEPS
        + """
import time
process = mp.get_context("fork").Process(target=time.sleep, args=(60,))
process.start()
print(signal.getsignal(signal.SIGTERM) is not None)
process.terminate()
process.join(30)
print(process.exitcode)
""",
        "train.py",
    )
    assert (seen.returncode, seen.stdout) == (alone.returncode, alone.stdout) == (0, "True\n-15\n")


@pytest.mark.skipif(sys.platform == "win32", reason="there another process begins")
def test_what_was_seen_before_another_program_takes_the_place_is_told(project):
    program = (
        STEPS
        + """
import sys
if len(sys.argv) == 1:
    train(False, steps=3)
    os.execv(sys.executable, [sys.executable, __file__, "again"])
train(True, steps=3)
print(len(sys.argv))
"""
    )
    alone, seen = both(project, program, "train.py")
    assert (seen.returncode, seen.stdout) == (alone.returncode, alone.stdout) == (0, "2\n")
    assert "= steps: 2 of 3" in seen.stderr
    bare = "os.execve(sys.executable, [sys.executable, __file__, 'again'], {})"
    program = program.replace('os.execv(sys.executable, [sys.executable, __file__, "again"])', bare)
    _, seen = both(project, program, "train.py")
    assert "= steps: 2 of 3" in seen.stderr
    assert "it starts Python outside of the watch: `os.execve(" in seen.stderr
