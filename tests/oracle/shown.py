"""Programs that show what the documentation of rules says of errors, by code and sentence."""

from __future__ import annotations

HEAD = """import warnings
import numpy as np
import torch
from torch import nn
w = torch.ones(2, requires_grad=True)
"""

# Programs that show a sentence. `# raises` marks the line where PyTorch raises; without it, nothing is raised.
SHOWN = {
    ("GL101", "The first call frees what the forward pass saved, and the second raises."): (
        "loss = w.exp().sum()\nloss.backward()\nloss.backward()  # raises",
        "loss = w.exp().sum()\nloss.backward(retain_graph=True)\nloss.backward()",
    ),
    ("GL102", "The first iteration works; the second raises."): (
        "h = w.exp()\nh.sum().backward()\nh.sum().backward()  # raises",
    ),
    (
        "GL102",
        (
            "`retain_graph=True` only hides this: every iteration then goes back through all earlier ones, which costs more memory and time with each iteration, and once an optimizer steps in the loop it raises again, because "
            "the step changes weights that the old graph saved."
        ),
    ): (
        """h = torch.zeros(2)
for _ in range(3):
    h = torch.tanh(h * w + 1)
    h.sum().backward(retain_graph=True)""",
        """opt = torch.optim.SGD([w], lr=0.1)
h = torch.zeros(2)
for _ in range(3):
    h = torch.tanh(h * w + 1)
    h.sum().backward(retain_graph=True)  # raises
    opt.step()""",
    ),
    (
        "GL106",
        (
            "A state that keeps its graph leads the next backward into the graph of the last one, which has been "
            "freed, and PyTorch raises; with `retain_graph=True` each step goes back to the very beginning."
        ),
    ): (
        "h = w.exp()\nh.sum().backward()\nh = h.exp()\nh.sum().backward()  # raises",
        """h = w.exp()
h.sum().backward(retain_graph=True)
w.grad = None
h = h.exp()
h.sum().backward()
assert w.grad is not None""",
    ),
    (
        "GL202",
        (
            "The step writes them in place, so PyTorch raises; with a fused optimizer it does not even notice and the "
            "gradient is silently wrong."
        ),
    ): (
        """opt = torch.optim.SGD([w], lr=0.1)
a, b = (w**2).sum(), (w**3).sum()
a.backward()
opt.step()
b.backward()  # raises""",
        """opt = torch.optim.SGD([w], lr=0.1, fused=True)
a, b = (w**2).sum(), (w**3).sum()
a.backward()
opt.step()
w.grad = None
b.backward()
assert not torch.allclose(w.grad, torch.full((2,), 3.0))""",
    ),
    ("GL204", "PyTorch raises at the operation itself, even if no backward follows."): (
        "first, second = (w * 2).unbind()\nfirst += 1  # raises",
    ),
    (
        "GL205",
        (
            "The same write through `.detach()` or under `no_grad` raises in backward; this one gives a wrong "
            "gradient and says nothing."
        ),
    ): (
        "x = w * 1\ny = x.sin()\nx.detach().zero_()\ny.sum().backward()  # raises",
        "x = w * 1\ny = x.sin()\nwith torch.no_grad():\n    x.zero_()\ny.sum().backward()  # raises",
        "x = w * 1\ny = x.sin()\nx.data.zero_()\ny.sum().backward()\nassert torch.equal(w.grad, torch.ones(2))",
    ),
    ("GL206", "PyTorch raises, with or without gradients; `zero_` and `fill_` are allowed."): (
        "x = torch.ones(3, 1).expand(3, 4)\nx.add_(1)  # raises",
        "x = torch.ones(3, 1, requires_grad=True).exp().expand(3, 4)\nx.mul_(2)  # raises",
        "x = torch.ones(3, 1).expand(3, 4)\nx.zero_()\nx.fill_(2.0)",
    ),
    (
        "GL208",
        (
            "`out=` overwrites a tensor without recording history; PyTorch refuses it for anything that needs a "
            "gradient."
        ),
    ): (
        "torch.add(w, 1, out=torch.zeros(2))  # raises",
        "torch.add(torch.ones(2), 1, out=w)  # raises",
        "torch.add(torch.ones(2), 1, out=torch.zeros(2))",
    ),
    (
        "GL210",
        "What a graph has saved is the tensor itself, with its history; backward raises once that history is gone.",
    ): ("x = w * 1\ny = x.sin()\nx.detach_()\ny.sum().backward()  # raises",),
    (
        "GL211",
        (
            "`detach_()` returns the caller's tensor itself, which has lost its history: what the caller "
            "differentiates afterwards passes no gradient on, or raises."
        ),
    ): (
        "x = w * 1\nx.detach_()\n(x * w).sum().backward()\nassert torch.equal(w.grad, torch.ones(2))",
        "x = w * 1\nx.detach_()\nx.sum().backward()  # raises",
    ),
    ("GL325", "With DistributedDataParallel the second iteration raises."): (
        """import os
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
net = nn.Module()
net.used, net.unused = nn.Linear(2, 1), nn.Parameter(torch.ones(1))
net.forward = lambda x: net.used(x)
parallel = nn.parallel.DistributedDataParallel(net)
try:
    for _ in range(2):
        out = parallel(torch.ones(1, 2))  # raises
        out.sum().backward()
finally:
    torch.distributed.destroy_process_group()""",
    ),
    (
        "GL329",
        "A Parameter is not trained, a buffer is neither moved nor saved, and what computes with it raises.",
    ): (
        "net = nn.Module()\nnet.scale = net.register_parameter('weight', nn.Parameter(w.detach()))\nw * net.scale  # raises",
        "net = nn.Module()\nnet.mean = net.register_buffer('running', torch.ones(2))\nw - net.mean  # raises",
    ),
    ("GL330", "PyTorch only warns, where the optimizer is made."): (
        "opt = torch.optim.SGD([w, w], lr=0.1)\nw.sum().backward()\nopt.step()",
        "warnings.simplefilter('error')\ntorch.optim.SGD([w, w], lr=0.1)  # raises",
    ),
    (
        "GL331",
        "A module keeps its Parameters registered under their names, and refuses anything else but None there.",
    ): (
        "net = nn.Linear(2, 1)\nnet.weight = torch.ones(1, 2)  # raises",
        "net = nn.Linear(2, 1)\nnet.weight = None",
        "net = nn.Linear(2, 1)\nnet.weight = nn.Parameter(torch.ones(1, 2))",
    ),
    (
        "GL403",
        "`clip_grad_norm_` says nothing; `clip_grad_value_` raises where no parameter has a gradient.",
    ): (
        "nn.utils.clip_grad_norm_([w], 1.0)",
        "nn.utils.clip_grad_value_([w], 1.0)  # raises",
        "w.grad = torch.zeros(2)\nnn.utils.clip_grad_value_([w], 1.0)",
    ),
    ("GL510", "A class is not a context manager; Python raises."): (
        "with torch.no_grad:  # raises\n    w.sum()",
        "with torch.no_grad():\n    w.sum()",
    ),
    ("GL502", "numpy records no gradients, and PyTorch raises where one would be lost."): (
        "w.numpy()  # raises",
        "np.exp(w)  # raises",
        "w.detach().numpy()",
        "with torch.no_grad():\n    w.numpy()",
    ),
    ("GL502", "PyTorch raises, whether the tensor requires a gradient or not."): (
        "np.sum(w)  # raises",
        "np.sum(torch.ones(2))  # raises",
        "np.mean(torch.ones(2))  # raises",
        "np.max(torch.ones(2))  # raises",
        "np.sum(torch.ones(2).numpy())",
    ),
    (
        "GL504",
        (
            "A step of an optimizer some of whose parameters took part in the loss only through something that cuts "
            "history (`.detach()`, `.data`, `no_grad`, `.item()`, numpy, `argmax`, ...), while other parameters get "
            "gradients, so that backward does not raise."
        ),
    ): ("v = torch.ones(2, requires_grad=True)\n(w * v.detach()).sum().backward()\nassert v.grad is None",),
    (
        "GL506",
        (
            "If nothing else requires a gradient, backward raises; otherwise the distribution's parameters silently do "
            "not train."
        ),
    ): (
        "z = torch.distributions.Normal(w, 1.0).sample()\nz.sum().backward()  # raises",
        """scale = torch.ones(2, requires_grad=True)
z = torch.distributions.Normal(w, 1.0).sample()
(z * scale).sum().backward()
assert w.grad is None""",
    ),
    ("GL508", "PyTorch raises in backward, not at the operation."): (
        "loss = (w // 2).sum()\nloss.backward()  # raises",
    ),
    ("GL512", "A later backward raises, or silently trains less than it should."): (
        "torch.set_grad_enabled(False)\nloss = w.sum()\nloss.backward()  # raises",
        """v = torch.ones(2, requires_grad=True)
hidden = w * 2
torch.set_grad_enabled(False)
scale = v.exp()
torch.set_grad_enabled(True)
(hidden * scale).sum().backward()
assert v.grad is None""",
    ),
    ("GL515", "Nothing is raised, because the other terms have a graph."): (
        "(w.sum() + torch.tensor(w.sum().item())).backward()",
        "torch.tensor(w.sum().item()).backward()  # raises",
    ),
    ("GL517", "PyTorch warns for the losses and says nothing for a difference."): (
        """with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    ((torch.ones(4, 1) * w[:1] - torch.ones(4)) ** 2).mean()
assert not told
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    nn.functional.mse_loss(torch.ones(4, 1) * w[:1], torch.ones(4))
assert told""",
    ),
    (
        "GL604",
        (
            "The graph of every iteration holds that of the one before: memory grows, and a backward through the "
            "buffer reaches iterations that are over, where PyTorch raises because their graphs are freed."
        ),
    ): (
        """mean = torch.zeros(2)
for _ in range(2):
    mean = 0.9 * mean + 0.1 * w.exp()
    mean.sum().backward()  # raises""",
    ),
    (
        "GL705",
        "The call raises as it stands, but other parts of the class may be outdated as well, so the fix is unsafe.",
    ): (
        """class Old(torch.autograd.Function):
    def forward(self, x):
        self.kept = self.saved
        return x
    def backward(self, grad):
        return grad
Old()(w)  # raises""",
        """class Old(torch.autograd.Function):
    def forward(self, x):
        self.kept = self.saved
        return x
    def backward(self, grad):
        return grad
try:
    Old.apply(w)
except AttributeError as error:
    assert "saved" in str(error)
else:
    raise AssertionError""",
    ),
    (
        "GL710",
        (
            "With one input nothing is raised; with more, PyTorch misses the gradients of the others and raises "
            "(GL701)."
        ),
    ): (
        """class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        grad * 2
F.apply(w).sum().backward()
assert w.grad is None""",
        """class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        grad * 2
F.apply(w, w).sum().backward()  # raises""",
    ),
    (
        "GL714",
        (
            "A saved argument is the caller's own tensor (a weight, data that the next epoch uses again): it stays changed, and a second backward raises."
        ),
    ): (
        """class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, data):
        ctx.save_for_backward(data)
        return x * data
    @staticmethod
    def backward(ctx, grad):
        (data,) = ctx.saved_tensors  # raises
        return data.mul_(grad), None
data = torch.full((2,), 3.0)
y = F.apply(w, data).mean()
y.backward(retain_graph=True)
assert not torch.equal(data, torch.full((2,), 3.0))
y.backward()""",
    ),
    ("GL716", "With `once_differentiable` it raises instead."): (
        """class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.detach().cos()
(slope,) = torch.autograd.grad(F.apply(w).sum(), w, create_graph=True)
slope.sum().backward()  # raises""",
    ),
    (
        "GL717",
        "Making an object of the class warns that this will be an error, and calling one raises (GL705).",
    ): (
        """class F(torch.autograd.Function):
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2
F.apply(w).sum().backward()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    made = F()
assert "will raise an error in a future version" in str(told[0].message)
made(w)  # raises""",
    ),
    ("GL719", "PyTorch raises at the second."): (
        """class F(torch.autograd.Function):
    clear_saved_tensors_on_access = True
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        first = ctx.saved_tensors
        second = ctx.saved_tensors  # raises
        return grad * 2
F.apply(w).sum().backward()""",
    ),
    ("GL730", "Where forward took the other branch, backward raises an `AttributeError`."): (
        """class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scaled):
        if scaled:
            ctx.factor = 2.0
        return x * 2.0
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None  # raises
F.apply(w, True).sum().backward()
F.apply(w, False).sum().backward()""",
    ),
    (
        "GL732",
        (
            "What comes after the Function determines the memory layout of that gradient: after a sum over some "
            "dimensions, or a transposition, it is not contiguous, and `view` raises."
        ),
    ): tuple(
        f"""class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return (grad.view(-1) * 2).view(2, 3){mark}
F.apply(torch.ones(2, 3, requires_grad=True)){after}.backward()"""
        for after, mark in (
            (".sum(0).pow(2).sum()", "  # raises"),
            (".t().mul(torch.ones(3, 2)).sum()", "  # raises"),
            (".mul(torch.ones(2, 3)).sum()", ""),
        )
    ),
    ("GL733", "For more than one PyTorch raises; each element has to be decided by itself."): (
        "if w > 0:  # raises\n    pass",
        "if w[:1] > 0:\n    pass",
    ),
    (
        "GL802",
        "PyTorch raises; where the penalty is added to another loss, it silently has no effect (see GL803).",
    ): (
        "(slope,) = torch.autograd.grad((w**2).sum(), w)\nslope.sum().backward()  # raises",
        """(slope,) = torch.autograd.grad((w**2).sum(), w)
(w.sum() + slope.sum()).backward()
assert torch.equal(w.grad, torch.ones(2))""",
    ),
    ("GL805", "Python raises when None is used as a tensor."): (
        "(slope,) = torch.autograd.grad(w.sum(), w.clone(), allow_unused=True)\nslope.norm()  # raises",
        "(slope,) = torch.autograd.grad(w.sum(), w.clone(), allow_unused=True)\nw * slope  # raises",
    ),
    ("GL816", "Hooks for saved tensors refuse to save a tensor, or do not give it back."): (
        """with torch.autograd.graph.allow_mutation_on_saved_tensors():
    y = w.sin().sum()
y.backward()  # raises""",
    ),
    ("GL816", "PyTorch raises: for the pack hook when something is saved, else in the backward."): (
        """with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
    y = (w * 1).exp()  # raises""",
        """with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: None):
    y = w.exp().sum()
y.backward()  # raises""",
    ),
    ("GL907", "PyTorch warns, unless the module is a single operation on the result of another."): (
        """class Net(nn.Module):
    def forward(self, x):
        return (x * 2).exp()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for net in (nn.ReLU(), Net()):
        assert not told
        net.register_backward_hook(lambda *given: None)
        net(w * 1).sum().backward()
assert "multiple autograd Nodes" in str(told[0].message)""",
    ),
    ("GL912", "PyTorch raises; score-function gradients are written with `torch.distributions` now."): (
        "w.detach().reinforce(1.0)  # raises",
        """choice = torch.distributions.Categorical(logits=w)
(-choice.log_prob(choice.sample())).backward()
assert w.grad is not None""",
    ),
}
