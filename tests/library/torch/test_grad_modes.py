"""Grad modes: `no_grad`, `enable_grad`, `set_grad_enabled` and `inference_mode`."""

from __future__ import annotations

from tests.cases import check_agreement, check_raises, check_runs, each
from tests.open_programs import told

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a generator suspended inside no_grad leaks it": """
import torch
def batches():
    with torch.no_grad():
        for _ in range(2):
            yield torch.ones(2)
w = torch.ones(2, requires_grad=True)
for x in batches():
    (w * x).sum().backward()  # raises
""",
    "a decorated generator does not leak its mode": """
import torch
@torch.no_grad()
def batches():
    for _ in range(2):
        yield torch.ones(2)
w = torch.ones(2, requires_grad=True)
for x in batches():
    (w * x).sum().backward()
""",
    "yield from inside no_grad leaks it": """
import torch
def inner(xs):
    with torch.no_grad():
        yield from xs
w = torch.ones(2, requires_grad=True)
for x in inner([torch.ones(2), torch.ones(2)]):
    (w * x).sum().backward()  # raises
""",
}

# Programs that raise.
RAISING = {
    "a manager that is entered again forgets what was before": """
quiet = torch.no_grad()
with quiet:
    with quiet:
        pass
(w * 2.0).sum().backward()
""",
    "a method that no_grad decorates in the call has no graph": """
class Model:
    def loss(self, x):
        return (x * 2.0).sum()
torch.no_grad()(Model().loss)(w).backward()
""",
    "a generator's decorator holds while it runs, not between": """
@torch.no_grad()
def rows():
    yield s * 2.0
for row in rows():
    (s * 3.0).backward()
    row.backward()
""",
}

# Programs that run.
RUNNING = {
    "the decorator of the optimizers' steps": """
from torch.optim.optimizer import _use_grad_for_differentiable
from tests.open_programs import told
class Sign(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"differentiable": False})
    @_use_grad_for_differentiable
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(torch.sign(p.grad), alpha=-0.1)
optimizer = Sign([w])
w.exp().sum().backward()
optimizer.step()
""",
    "a function under no_grad that calls itself restores what was before": """
@torch.no_grad()
def again(x, n):
    return x if n == 0 else again(x * 2.0, n - 1)
again(w, 2)
(w * 2.0).sum().backward()
""",
    "a method that a manager decorates in the call runs in its mode": """
class Model:
    def loss(self, x):
        return (x * 2.0).sum()
with torch.no_grad():
    value = torch.enable_grad()(Model().loss)(w)
value.backward()
""",
    "a partial call that a manager decorates runs in its mode": """
import functools
def loss(x, factor):
    return (x * factor).sum()
with torch.no_grad():
    value = torch.enable_grad()(functools.partial(loss, factor=2.0))(w)
value.backward()
""",
    "set_grad_enabled as a decorator leaves the mode of the program": """
@torch.set_grad_enabled(False)
def helper(a):
    return a * 2.0
helper(w)
w.exp().sum().backward()
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


def test_what_scripted_code_does_is_not_done_by_python() -> None:
    source = (
        "import torch\n\nweight = torch.ones(2, requires_grad=True)\n"
        "if torch.jit.is_scripting():\n    weight.add_(1)\n"
    )
    assert told(source) == []
    assert [finding.code for finding in told(source.replace("if torch", "if not torch"))] == ["GL301"]
