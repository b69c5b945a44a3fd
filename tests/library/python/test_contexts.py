"""Context managers of `contextlib` and of the program."""

from __future__ import annotations

from tests.cases import check_agreement, check_raises, check_runs, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a context manager of the program": """
import contextlib
import torch
@contextlib.contextmanager
def frozen(w):
    w.requires_grad_(False)
    yield w
    w.requires_grad_(True)
w = torch.ones(2, requires_grad=True)
with frozen(w) as v:
    loss = (v * 2).sum()
loss.backward()  # raises
""",
    "a method as a context manager": """
import contextlib
import torch
class Model:
    @contextlib.contextmanager
    def recording(self, mode):
        with torch.set_grad_enabled(mode):
            yield self
w = torch.ones(2, requires_grad=True)
with Model().recording(True):
    (w * 2).sum().backward()
with Model().recording(False) as model:
    loss = (w * 2).sum()
with model.recording(mode=True):
    loss.backward()  # raises
""",
    "exit stack no grad": """
import torch
from contextlib import ExitStack
w = torch.rand(3, requires_grad=True)
with ExitStack() as stack:
    stack.enter_context(torch.no_grad())
    y = (w * 2).sum()
y.backward()  # raises
""",
}

# Programs that raise.
RAISING = {
    "an exception leaves a generator of contextlib at its yield": """
from contextlib import contextmanager
@contextmanager
def quiet():
    torch.set_grad_enabled(False)
    yield
    torch.set_grad_enabled(True)
try:
    with quiet():
        s.exp().backward()
except RuntimeError:
    pass
s.exp().backward()
""",
    "a generator of contextlib swallows what it catches": """
from contextlib import contextmanager
@contextmanager
def tolerant():
    try:
        yield
    except RuntimeError:
        pass
with tolerant():
    w.backward()
w.backward()
""",
}

# Programs that run.
RUNNING = {
    "a generator of contextlib cleans up in finally": """
from contextlib import contextmanager
@contextmanager
def quiet():
    torch.set_grad_enabled(False)
    try:
        yield
    finally:
        torch.set_grad_enabled(True)
try:
    with quiet():
        raise ValueError
except ValueError:
    pass
s.exp().backward()
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)
