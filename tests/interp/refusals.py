"""Programs in the manner of PyTorch's own tests, one call that autograd refuses or allows each.

`# raises` marks the line where PyTorch raises, if any.
"""

REFUSALS: dict[str, str] = {
    "tensor hook returns wrong shape": """
import torch
x = torch.rand(3, requires_grad=True)
y = x * 2
y.register_hook(lambda g: g.sum())
y.sum().backward()  # raises
""",
    "post accumulate hook on nonleaf": """
import torch
x = torch.rand(3, requires_grad=True)
y = x * 2
y.register_post_accumulate_grad_hook(lambda p: None)  # raises
""",
    "post accumulate hook step on shared graph": """
import torch
w = torch.nn.Parameter(torch.rand(3))
opt = torch.optim.SGD([w], lr=0.1)

def apply_now(p):
    opt.step()

w.register_post_accumulate_grad_hook(apply_now)
a = (w ** 2).sum()
b = (w ** 3).sum()
a.backward()
b.backward()  # raises
""",
    "multi grad hook on constant": """
import torch
a = torch.rand(2, requires_grad=True)
b = torch.rand(2)
torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: None)  # raises
""",
    "real part of result edited": """
import torch
z = torch.randn(4, dtype=torch.cfloat, requires_grad=True)
y = z.exp()
y.real.mul_(2)
y.abs().sum().backward()  # raises
""",
    "numpy array function": """
import torch
import numpy as np
x = torch.rand(3, requires_grad=True)
values = np.asarray(x * 2)  # raises
""",
    "backward wrong gradient shape": """
import torch
x = torch.rand(3, requires_grad=True)
y = x * 2
y.backward(torch.ones(4))  # raises
""",
    "backward scalar gradient for vector": """
import torch
x = torch.rand(3, requires_grad=True)
y = x * 2
y.backward(torch.tensor(1.0))  # raises
""",
    "grad outputs wrong count": """
import torch
x = torch.rand(3, requires_grad=True)
y, z = x * 2, x * 3
torch.autograd.grad([y, z], x, grad_outputs=[torch.ones(3)])  # raises
""",
    "grad is grads batched": """
import torch
x = torch.rand(3, requires_grad=True)
y = x.exp()
rows = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
""",
    "functional jacobian strict independent": """
import torch
def f(x):
    return torch.ones(3)
J = torch.autograd.functional.jacobian(f, torch.rand(2), strict=True)  # raises
""",
    "functional jacobian lenient": """
import torch
def f(x):
    return torch.ones(3)
J = torch.autograd.functional.jacobian(f, torch.rand(2))
""",
    "functional hessian vector output": """
import torch
H = torch.autograd.functional.hessian(lambda x: x ** 3, torch.rand(3))  # raises
""",
    "functional vjp missing v": """
import torch
out, g = torch.autograd.functional.vjp(lambda x: x ** 2, torch.rand(3))  # raises
""",
    "functional vjp wrong v": """
import torch
out, g = torch.autograd.functional.vjp(lambda x: x ** 2, torch.rand(3), torch.ones(2))  # raises
""",
    "functional jacobian then backward": """
import torch
x = torch.rand(3, requires_grad=True)
J = torch.autograd.functional.jacobian(lambda t: t ** 2, x)
J.sum().backward()  # raises
""",
    "functional jacobian create graph": """
import torch
x = torch.rand(3, requires_grad=True)
J = torch.autograd.functional.jacobian(lambda t: t ** 2, x, create_graph=True)
J.sum().backward()
""",
    "func grad vector": """
import torch
g = torch.func.grad(lambda x: x ** 2)(torch.rand(3))  # raises
""",
    "func grad scalar": """
import torch
g = torch.func.grad(lambda x: (x ** 2).sum())(torch.rand(3))
""",
    "func grad int input": """
import torch
g = torch.func.grad(lambda x: (x ** 2).sum())(torch.arange(3))  # raises
""",
    "save on cpu second backward": """
import torch
x = torch.rand(3, requires_grad=True)
with torch.autograd.graph.save_on_cpu():
    y = x.sin().sum()
y.backward()
y.backward()  # raises
""",
    "saved hooks pack inplace": """
import torch
def pack(t):
    t.mul_(2)
    return t
x = torch.rand(3, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
    y = (x * 2).exp()  # raises
y.sum().backward()
""",
    "saved hooks registered on raw twice": """
import torch
x = torch.rand(3, requires_grad=True)
y = x.exp()
y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
y.sum().backward()
""",
    "checkpoint nonreentrant twice": """
import torch
from torch.utils.checkpoint import checkpoint
x = torch.rand(3, requires_grad=True)
y = checkpoint(torch.exp, x, use_reentrant=False).sum()
y.backward()
y.backward()  # raises
""",
    "checkpoint reentrant grad call": """
import torch
from torch.utils.checkpoint import checkpoint
x = torch.rand(3, requires_grad=True)
y = checkpoint(torch.exp, x, use_reentrant=True).sum()
torch.autograd.grad(y, x)  # raises
""",
    "checkpoint nonreentrant grad call": """
import torch
from torch.utils.checkpoint import checkpoint
x = torch.rand(3, requires_grad=True)
y = checkpoint(torch.exp, x, use_reentrant=False).sum()
torch.autograd.grad(y, x)
""",
    "checkpoint reentrant inputs argument": """
import torch
from torch.utils.checkpoint import checkpoint
x = torch.rand(3, requires_grad=True)
y = checkpoint(torch.exp, x, use_reentrant=True).sum()
y.backward(inputs=[x])  # raises
""",
    "grad assigned number": """
import torch
x = torch.rand(3, requires_grad=True)
x.grad = 0  # raises
""",
    "optimizer of nonleaf": """
import torch
w = torch.rand(3, requires_grad=True)
opt = torch.optim.Adam([w * 1.0])  # raises
""",
    "to double copy": """
import torch
x = torch.rand(3, requires_grad=True)
y = x.exp()
z = y.to(torch.float64)
z.zero_()
y.sum().backward()
""",
    "while retain condition": """
import torch
w = torch.rand(3, requires_grad=True)
y = w.sin().sum()
k = 0
while k < 3:
    y.backward(retain_graph=k < 1)  # raises
    k += 1
""",
    "for else second": """
import torch
w = torch.rand(3, requires_grad=True)
y = w.sin().sum()
for k in range(1):
    y.backward()
else:
    y.backward()  # raises
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
    "generator yields shared loss": """
import torch
w = torch.rand(3, requires_grad=True)
def losses():
    h = w.exp()
    yield h.sum()
    yield h.mean()
for loss in losses():
    loss.backward()  # raises
""",
    "generator fresh losses": """
import torch
w = torch.rand(3, requires_grad=True)
def losses():
    for _ in range(2):
        h = w.exp()
        yield h.sum()
for loss in losses():
    loss.backward()
""",
    "lambda loss cached": """
import torch
from functools import lru_cache
w = torch.rand(3, requires_grad=True)
@lru_cache(maxsize=None)
def features():
    return w.exp()
features().sum().backward()
features().mean().backward()  # raises
""",
    "cached property graph": """
import torch
from functools import cached_property
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(3, 3))
    @cached_property
    def cov(self):
        return self.w @ self.w.T
m = M()
for _ in range(2):
    m.cov.sum().backward()  # raises
""",
    "default argument graph": """
import torch
w = torch.rand(3, requires_grad=True)
def penalty(scale=w.exp()):
    return (scale * 2).sum()
penalty().backward()
penalty().backward()  # raises
""",
    "nonlocal counter": """
import torch
w = torch.rand(3, requires_grad=True)
def make():
    state = torch.zeros(3)
    def step():
        nonlocal state
        state = torch.tanh(state + w)
        return state.sum()
    return step
step = make()
step().backward()
step().backward()  # raises
""",
    "nonlocal detached": """
import torch
w = torch.rand(3, requires_grad=True)
def make():
    state = torch.zeros(3)
    def step():
        nonlocal state
        state = torch.tanh(state.detach() + w)
        return state.sum()
    return step
step = make()
step().backward()
step().backward()
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
    "view of detached write saved": """
import torch
x = torch.rand(3, requires_grad=True)
y = x.exp()
y.detach().view(-1)[0] = 0
y.sum().backward()  # raises
""",
    "buffer scale updated": """
import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(3))
        self.register_buffer("scale", torch.ones(3))
    def forward(self, x):
        out = self.w * self.scale
        self.scale.mul_(0.9)
        return out + x
M()(torch.rand(2, 3)).sum().backward()  # raises
""",
    "parametrized weight twice": """
import torch
from torch.nn.utils.parametrizations import weight_norm
lin = weight_norm(torch.nn.Linear(2, 2))
x = torch.rand(1, 2)
lin(x).sum().backward()
lin(x).sum().backward()
""",
    "lstm states detached both": """
import torch
lstm = torch.nn.LSTM(2, 3)
state = None
for _ in range(2):
    out, state = lstm(torch.rand(4, 1, 2), state)
    out.sum().backward()
    state = tuple(s.detach() for s in state)
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
    "yield from runs the inner generator": """
import torch
w = torch.ones(2, requires_grad=True)
def losses():
    h = w.exp()
    yield h.sum()
    yield h.mean()
def both():
    yield from losses()
for loss in both():
    loss.backward()  # raises
""",
    "a module dict is looked up by its keys": """
import torch
from torch import nn
parts = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)})
wanted = [p for part in parts.values() for p in part.parameters()]
torch.autograd.grad(parts["a"](torch.ones(1, 2)).sum(), wanted)  # raises
""",
    "a module dict that is added to": """
import torch
from torch import nn
parts = nn.ModuleDict()
parts.update({"a": nn.Linear(2, 2)})
parts["b"] = nn.Linear(2, 2)
parts["b"](parts.pop("a")(torch.ones(1, 2))).sum().backward()
""",
    "a complex root": """
import torch
z = torch.randn(3, dtype=torch.complex64, requires_grad=True)
total = (z * z)[0]
total.real.backward(retain_graph=True)
total.backward()  # raises
""",
    "grad with an empty list of inputs": """
import torch
a = torch.rand(2, requires_grad=True)
trainable = [p for p in (a,) if not p.requires_grad]
torch.autograd.grad((a * 2).sum(), trainable)  # raises
""",
    "an embedding of given vectors is frozen": """
import torch
from torch import nn
vectors = torch.rand(5, 3)
tuned = nn.Embedding.from_pretrained(vectors.clone(), freeze=False)
tuned(torch.tensor([0, 2])).sum().backward()
kept = nn.Embedding.from_pretrained(vectors)
kept(torch.tensor([0, 2])).sum().backward()  # raises
""",
    "zero_grad writes into gradients that a graph saved": """
import torch
net = torch.nn.Linear(2, 1, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scale = torch.ones(1, 2, requires_grad=True)
net(torch.ones(4, 2)).sum().backward()
cleared = (net.weight.grad * scale).sum()
opt.zero_grad()
cleared.backward()
net(torch.ones(4, 2)).sum().backward()
penalty = (net.weight.grad * scale).sum()
opt.zero_grad(set_to_none=False)
penalty.backward()  # raises
""",
    "a state that is carried over through packed sequences": """
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
embed, rnn = nn.Linear(3, 4), nn.LSTM(4, 4, batch_first=True)
for cut in (True, False):
    state = None
    for _ in range(2):
        packed = pack_padded_sequence(embed(torch.rand(2, 5, 3)), torch.tensor([5, 3]), batch_first=True)
        out, state = rnn(packed, state)
        if cut:
            state = [part.detach() for part in state]
        padded, lengths = pad_packed_sequence(out, batch_first=True)
        padded.sum().backward()  # raises
""",
    "an optimizer of numbers": """
import torch
weight = torch.ones(2, requires_grad=True)
torch.optim.SGD([{"params": [weight], "lr": 0.1}], lr=0.2)
torch.optim.SGD([weight, 2.0], lr=0.1)  # raises
""",
}

REFUSALS |= {
    "gradient edge of a freed graph": """
import torch
from torch.autograd.graph import get_gradient_edge
x = torch.rand(3, requires_grad=True)
y = x.exp()
edge = get_gradient_edge(y)
loss = y.pow(3).sum()
loss.backward()
torch.autograd.grad(loss, edge)  # raises
""",
    "gradient edge of what is written later": """
import torch
from torch.autograd.graph import get_gradient_edge
x = torch.rand(3, requires_grad=True)
y = x * 2
edges = [get_gradient_edge(y), get_gradient_edge(x)]
y.mul_(3)
loss = y.pow(3).sum()
torch.autograd.grad(loss, edges, retain_graph=True)
torch.autograd.grad(loss, edges)
torch.autograd.grad(loss, edges)  # raises
""",
    "the layout of what is transposed in place": """
import torch
w = torch.rand(2, 3, requires_grad=True)
y = w * 2
y.t_()
z = y.reshape(6)
s = z.pow(2)
y.add_(1)
s.sum().backward()
""",
}

REFUSALS |= {
    "activations in place, once and twice": """
import torch
import torch.nn.functional as F
x = torch.randn(3, requires_grad=True)
F.relu(x * 2, inplace=True).sum().backward()
torch.nn.ReLU(inplace=True)((x * 2).relu_()).sum().backward()
y = x.exp()
y.relu_()
y.sum().backward()  # raises
""",
}
