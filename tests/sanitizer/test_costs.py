"""What watching leaves behind, and the memory that it takes, from the command on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TRAINING = """
import json
import sys
import threading
import torch

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
optimizer = torch.optim.Adam(model.parameters())


def step():
    optimizer.zero_grad()
    loss = model(torch.ones(3, 4)).square().mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def count(frame, event, argument):
    calls[event] = calls.get(event, 0) + 1


for _ in range(8):
    step()
calls = {}
sys.setprofile(count)
step()
sys.setprofile(None)
functions = (
    torch.autograd._engine_run_backward, torch.Tensor.register_hook, torch.Tensor.numpy, torch.from_numpy,
    torch.nn.Module.train, torch.nn.Module.register_full_backward_hook, torch.optim.Optimizer.add_param_group,
    torch.nn.utils.clip_grad_norm_, threading.Thread._bootstrap_inner,
)
json.dump([
    calls,
    torch._C._len_torch_dispatch_stack(),
    str(torch._C._autograd._top_saved_tensors_default_hooks(True)),
    "data" in vars(torch.Tensor),
    [getattr(function, "__module__", "") for function in functions],
    [function.__code__.co_filename for function in functions if hasattr(function, "__code__")],
], sys.stdout)
"""

WRITING = """
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(4)))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
kept = [torch.zeros(1 << 20) for _ in range(40)]
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(64, 256)).square().mean()
    weights = torch.ones(1 << 20, requires_grad=True)
    for values in kept:
        loss = loss + (weights * values).mean()
        values.data.add_(1)
    loss.backward()
    optimizer.step()
peak = open("/proc/self/status").read().split("VmHWM:")[1].split()[0]
print(int(peak) / 1024)
"""


def _output(folder, text, *options):
    (folder / "program.py").write_text(text)
    watched = ["-m", "gradcheck_tool", "run", "--quiet", *options] if options else []
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *watched, "program.py"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=True,
    ).stdout


@pytest.mark.slow
def test_after_the_first_steps_a_step_calls_what_it_calls_without_the_watch(tmp_path):
    alone = json.loads(_output(tmp_path, TRAINING))
    assert json.loads(_output(tmp_path, TRAINING, "--no-record", "--steps", "3")) == alone
    assert json.loads(_output(tmp_path, TRAINING, "--no-record"))[0] != alone[0]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell the most memory of a process")
def test_memory_beside_that_of_the_program_is_limited(tmp_path):
    alone = float(_output(tmp_path, WRITING))
    watched = float(_output(tmp_path, WRITING, "--no-record"))
    assert watched <= 1.1 * alone + 100
