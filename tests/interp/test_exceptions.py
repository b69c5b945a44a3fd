"""Exceptions: what may raise, which handler catches it, what `finally` does."""

from __future__ import annotations

from tests.cases import check_agreement, check_raises, check_right, check_runs, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a clause catches its own class of exceptions": """
import torch
w = torch.ones(2, requires_grad=True)
loss = w.exp().sum()
loss.backward()
try:
    loss.backward()
except (ValueError, RuntimeError):
    loss = w.exp().sum()
loss.backward()
try:
    loss.backward()  # raises
except ValueError:
    pass
""",
    "finally runs": """
import torch
w = torch.ones(2, requires_grad=True)
def run():
    torch.set_grad_enabled(False)
    try:
        return (w * 2).sum()
    finally:
        torch.set_grad_enabled(True)
run().backward()  # raises
""",
    "an error that is caught is no finding": """
import torch
w = torch.ones(2, requires_grad=True)
try:
    w.add_(1)
except RuntimeError:
    pass
""",
    "try except swallows": """
import torch
w = torch.rand(3, requires_grad=True)
y = w.sin().sum()
y.backward()
try:
    y.backward()
except RuntimeError:
    print("freed")
""",
    "try finally reraises": """
import torch
w = torch.rand(3, requires_grad=True)
y = w.sin().sum()
try:
    y.backward()
finally:
    y.backward()  # raises
""",
}

# Programs that raise.
RAISING = {
    "what may raise in a helper reaches the handler around its call": """
import json
def read(path):
    torch.set_grad_enabled(False)
    json.load(open(path))
    torch.set_grad_enabled(True)
try:
    read("no such file")
except OSError:
    pass
s.exp().backward()
""",
}

# Programs that run.
RUNNING = {
    "methods of ctx do not raise": """
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        y = x.exp()
        ctx.save_for_backward(y)
        return y
try:
    w = Exp.apply(w)
    os.stat("no such file")
except OSError:
    w *= 2.0
""",
    "sum() does not raise": """
with torch.no_grad():
    try:
        total = sum(e.sum() for e in (w, m))
        torch.set_grad_enabled(True)
    finally:
        s.exp().backward()
""",
    "a function of the program raises only what its calls raise": """
def scaled(x):
    return torch.stack([e * 2.0 for e in (x, x)]).sum()
c = torch.ones(3)
try:
    c = scaled(w)
except RuntimeError:
    print("not reached")
c.backward()
""",
    "append does not raise": """
found = []
try:
    torch.set_grad_enabled(False)
    found.append(w * 2.0)
    torch.set_grad_enabled(True)
except RuntimeError:
    print("not reached")
s.exp().backward()
""",
    "range() does not raise": """
try:
    for step in range(2):
        s = s * 2.0
except RuntimeError:
    print("not reached")
s.zero_()
""",
    "grad modes and optimizers do not raise": """
c = torch.ones(())
opt = torch.optim.SGD([w], lr=0.1)
try:
    with torch.no_grad():
        nn.init.ones_(w)
    opt.step()
    c = torch.exp(s)
except Exception:
    pass
c.backward()
""",
    "layers do not raise": """
net = nn.Linear(3, 3)
try:
    m = torch.sigmoid(net(m))
except Exception:
    pass
m[0].add_(1.0)
""",
    "making a layer does not raise": """
c = torch.ones(())
with torch.set_grad_enabled(flag):
    try:
        w.numpy()
        net = nn.Embedding(3, 3)
    except RuntimeError:
        (c + w.sum()).backward()
""",
    "what a network of the program inherits does not raise": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
net = Net()
try:
    torch.set_grad_enabled(False)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    torch.set_grad_enabled(True)
except Exception:
    pass
s.exp().backward()
""",
    "a checkpoint does not raise": """
try:
    torch.set_grad_enabled(False)
    y = checkpoint(torch.exp, w, use_reentrant=False)
    torch.set_grad_enabled(True)
except RuntimeError:
    pass
w.sum().backward()
""",
    "operations that do not raise reach no handler": """
c = torch.ones(())
try:
    c = torch.atan2(s, c)
except Exception:
    pass
c.backward()
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


def test_next_raises_where_nothing_is_left_and_nothing_else() -> None:
    check_right("""
import torch
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
def clear(optimizers):
    left = iter(optimizers)
    while True:
        try:
            one = next(left)
        except StopIteration:
            return
        one.zero_grad()
for step in range(3):
    clear([opt])
    w.exp().sum().backward()
    opt.step()
""")
