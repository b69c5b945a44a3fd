"""Single mechanisms, each in a program of a few lines that PyTorch runs and the machine must judge alike."""

from __future__ import annotations

import inspect

import pytest
import torch

from tests.differential.judge import judge_source, predict
from tests.differential.oracle import run

HEADER = """import os
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint
flag = os.environ.get("FLAG") == "1"
w = torch.rand(3, requires_grad=True)
s = torch.rand((), requires_grad=True)
m = torch.rand(2, 3, requires_grad=True)
"""

# Programs that raise, by what they show.
RAISING = {
    "a list that is scaled under no_grad keeps its history": """
y = w.exp()
z = y.sum()
y = y * s
with torch.no_grad():
    torch._foreach_mul_([y], 0.5)
y.sum().backward()
y.sum().backward()
""",
    "a product with one number makes a tensor of it, which backward frees": """
h = w.clone()
for step in range(3):
    h.mul_(0.5)
    h.sum().backward()
""",
    "a view that requires grad because its base does is not used": """
c = torch.ones(2, 3)
v = c[0]
c.requires_grad = True
torch.autograd.grad(s * 2.0, v)
""",
    "what may raise in a helper goes to the handler around its call": """
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
    "a hidden state that is carried over windows of ten": """
h = torch.zeros(3)
loss = 0
for t in range(100):
    h = torch.tanh(h + w)
    loss = loss + h.sum()
    if (t + 1) % 10 == 0:
        loss.backward()
        loss = 0
""",
    "cycles of two lengths": """
x = (w * w).sum()
for i in range(12):
    if i % 6 == 0:
        x = (w * w).sum()
    elif i % 3 == 2:
        x.backward()
""",
    "a manager that is entered again forgets what was before": """
quiet = torch.no_grad()
with quiet:
    with quiet:
        pass
(w * 2.0).sum().backward()
""",
    "a generator's decorator holds while it runs, not between": """
@torch.no_grad()
def rows():
    yield s * 2.0
for row in rows():
    (s * 3.0).backward()
    row.backward()
""",
    "operators called by name write": """
import operator
h = w * 1.0
y = h.exp() * h
operator.iadd(h, 1.0)
y.sum().backward()
""",
    "methods of augmented assignment write": """
h = w * 1.0
y = h.exp() * h
h.__setitem__(0, 1.0)
y.sum().backward()
""",
    "a remainder that comes twice in the range": """
t = 0
for i in range(8):
    t = t + (w * i).exp().sum()
    if i % 3 == 2:
        t.backward()
""",
    "two rounds of an unknown number": """
t = 0
for i in range(len(os.listdir("/")) + 9):
    t = t + (w * i).exp().sum()
    if i > 6:
        t.backward()
""",
    "the last round of an inner loop comes again": """
t = 0
for epoch in range(10):
    for i in range(10):
        t = t + (w * i).exp().sum()
        if i == 9:
            t.backward()
""",
    "numpy() asks for requires_grad alone, not for the history of a view whose base was written to": """
y = w + 1.0
p, q, r = y.unbind(0)
y.zero_()
p.numpy()
""",
    "is_leaf asks for the history of a view": """
y = w + 1.0
p, q, r = y.unbind(0)
y.zero_()
p.detach()
p.is_leaf
""",
    "a write on one of two ways matters to a view": """
p, q, r = w
if flag:
    nn.init.constant_(w, 0.3)
p * 2.0
""",
    "what follows nested loops is run": """
net = nn.Linear(3, 3)
for i in range(4):
    for j in range(4):
        for p in net.parameters():
            p.data.mul_(0.9)
torch.tensor(0.0).cos().backward()
""",
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
    "the size that view() works out": """
with torch.no_grad():
    m.view(-1).backward()
""",
    "einsum tells its size": """
torch.einsum("ij,j->i", m, w).backward()
""",
    "movedim keeps the sizes": """
with torch.no_grad():
    m.movedim(0, 1)[0].backward()
""",
    "a gradient made in inference mode is added to in place": """
with torch.inference_mode():
    s.backward()
s.backward()
""",
    "nn.init checks before it writes": """
with torch.inference_mode():
    x = torch.zeros(3)
nn.init.constant_(x, 0.3)
""",
    "what detach() returns of an expanded tensor shares its elements' memory": """
with torch.no_grad():
    w.expand(2, 3).detach().add_(1.0)
""",
    ".data of an expanded tensor shares its elements' memory": """
w.expand(2, 3).data.exp_()
""",
    "a view made under no_grad borrows requires_grad and has no history": """
with torch.no_grad():
    v = s.view(1)
v.backward()
""",
    "numbers are asked for before histories": """
with torch.no_grad():
    w.view(3).backward()
""",
    "a view made in inference mode forbids writes to its base": """
with torch.inference_mode():
    v = w.view(3)
with torch.no_grad():
    w.add_(1.0)
v.exp()
""",
    "a write under no_grad through a view made there counts": """
with torch.no_grad():
    v = w.unsqueeze(0)[0]
    v.zero_()
v.diag()
""",
    "a checkpoint saves its inputs": """
h = w * 2.0
y = checkpoint(torch.exp, h, use_reentrant=False)
h.mul_(2.0)
y.sum().backward()
""",
    "mutation that was allowed needs its context in backward": """
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    for step in range(3):
        y = w.pow(w)
y.sum().backward()
""",
    "einsum saves an operand where another one requires grad": """
c = torch.rand(3)
y = torch.einsum("ij,j->i", m, c)
c.add_(1.0)
y.sum().backward()
""",
    "select leaves a dimension": "m.select(0, 1).backward()\n",
    "index_select gives as many as it is asked for": """
w.index_select(0, torch.tensor([1, 1])).backward()
""",
    "diagonal leaves a dimension": "(m[:, :2] @ m[:, :2].t()).diagonal().backward()\n",
    "a list as index keeps its length": "w[[0, 1]].backward()\n",
    "an expanded number is no number": "s.expand(3).backward()\n",
    "parts that are joined have a length": "torch.cat([w[:1], w[1:]]).backward()\n",
    "adding to .grad writes to the tensor it holds": """
u = torch.rand(3, requires_grad=True)
w.sum().backward()
loss = (w.grad * u).sum()
(w * 2.0).sum().backward()
loss.backward()
""",
    "tensors made by .data count their own writes": """
d = torch.rand(3).data
loss = (w * d).sum()
d.add_(1.0)
loss.backward()
""",
    "code after a loop over a generator runs": """
def doubled():
    for a in [w, m]:
        yield a * 2.0
for e in doubled():
    pass
torch.ones(3).sum().backward()
""",
    "code after a loop over a generator expression runs": """
for e in (a * 2.0 for a in [w, w]):
    pass
torch.ones(3).sum().backward()
""",
    "what only one branch writes is still known after it": """
loss = F.mse_loss(m[:1], torch.ones(1, 3))
if flag:
    with torch.no_grad():
        m.mul_(2.0)
loss.backward()
""",
    "flatten of one dimension is the tensor itself": """
v = w.flatten()
v[1:] += 1.0
""",
    "flatten of two dimensions is a view": """
v = m.flatten()
v += 1.0
""",
    "a loop ends in the round that its counter says, whatever is in it": """
n = 2
while n > 0:
    n -= 1
    h = w.clone()
    for step in range(3):
        h = h * h
else:
    torch.autograd.grad(w.sum(), [w, m])
""",
    "rows are a piece of memory": """
a = m[:1].reshape(-1)
a += 1.0
""",
    "an element of the last dimension is a strided view": """
a = m[:, 1]
a += 1.0
""",
    "writes through .data in nested loops do not use up what is after them": """
net = nn.Linear(3, 3)
for step in range(3):
    g = torch.ones_like(m)
    for inner in range(2):
        for p in net.parameters():
            p.data.mul_(0.9)
torch.ones(3).sum().backward()
""",
    "set_ has no derivative": """
h = w * 1.0
h.set_(torch.rand(3))
h.sum().backward()
""",
    "states of nested loops do not use up what is after them": """
t = m * m
for step in range(4):
    m.register_hook(lambda g: g * 2.0) if flag else None
    n = 4
    while n > 0:
        n -= 1
        m = 3.0 * t.narrow(0, 0, 2)
torch.ones(3).sum().backward()
""",
    "what was saved and is detached in place since": """
h = w * 1.0
y = (h * h).sum()
h.detach_()
y.backward()
""",
    "_foreach_copy_ has no derivative": """
c = torch.rand(3)
torch._foreach_copy_([c], [w])
c.sum().backward()
""",
    "_foreach_mul_ saves what it multiplies with": """
h, c = w * 1.0, torch.rand(3)
torch._foreach_addcmul_([h], [c], [w], value=0.5)
c.add_(1.0)
h.sum().backward()
""",
    "a reentrant checkpoint saves its inputs, whatever it computes": """
y = checkpoint(lambda a: a + 1.0, w, use_reentrant=True)
y.sum().backward()
y.exp().sum().backward()
""",
    "a view that a reentrant checkpoint returns forbids writes": """
h = w * 1.0
y = checkpoint(lambda a: a.view(3), h, use_reentrant=True)
y.mul_(2.0)
""",
    "a view that a reentrant checkpoint returns forbids writes to its base": """
h = w * 1.0
y = checkpoint(lambda a: a.view(3), h, use_reentrant=True)
h.mul_(2.0)
y.sum().backward()
""",
    "a checkpoint that is not reentrant saves inference tensors": """
with torch.inference_mode():
    x = torch.ones(3)
y = checkpoint(torch.exp, x, use_reentrant=False)
""",
    "a reentrant checkpoint saves inference tensors where another input trains": """
with torch.inference_mode():
    x = torch.ones(3)
y = checkpoint(torch.add, x, w, use_reentrant=True)
""",
    "what inference tensors alone give has no graph": """
with torch.inference_mode():
    m.data = m.data * 0.5
m[0].sum().backward()
""",
    "the gradient of a sum is one number expanded": """
g = torch.autograd.grad(m.t().sum(), m)[0]
g += 1.0
""",
    "a row of a gradient that is one number expanded is expanded, too": """
g = torch.autograd.grad(m.sum(), m)[0]
g[0].add_(1.0)
""",
    "retain_grad asks for the history of a view": """
a, b = m.unbind()
with torch.no_grad():
    m.mul_(2.0)
b.retain_grad()
""",
    "vector_norm leaves a dimension": "torch.linalg.vector_norm(m, dim=0).backward()\n",
    "what is written by out= does not share memory": """
v = torch.rand(3).expand(2, 3)
torch.add(v, 1.0, out=v)
""",
    "a loop over more names than are tried goes on": """
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3))
net.load_state_dict({k: v * 0.5 for k, v in net.state_dict().items()})
torch.ones(3).sum().backward()
""",
}

# Programs that run.
RUNNING = {
    "the gradient of a quotient of a number depends on what it is divided by": """
g, = torch.autograd.grad(1.0 / s, s, create_graph=True)
torch.autograd.grad(-g, s)
""",
    "a list that is copied into under no_grad keeps its history": """
y = w + 1.0
with torch.no_grad():
    torch._foreach_copy_([y], [torch.ones(3)])
y.sum().backward()
""",
    "a checkpoint does not ask for the history of what its function leaves alone": """
p, q, r = w.unbind()
with torch.no_grad():
    w.add_(1.0)
checkpoint(lambda x: torch.ones(3), p, use_reentrant=False)
""",
    "hooks keep the inputs of checkpoints": """
with torch.autograd.graph.save_on_cpu():
    y = checkpoint(torch.sin, w, use_reentrant=True) + checkpoint(torch.sin, w, use_reentrant=False)
    with torch.no_grad():
        w.add_(1.0)
    y.sum().backward()
""",
    "a view requires grad as soon as its base does, and may be unused": """
c = torch.ones(2, 3)
v = c[0]
c.requires_grad = True
torch.autograd.grad(s * 2.0, v, allow_unused=True)
""",
    "ctx is no reason to expect an exception": """
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
    "sum() is no reason to expect an exception": """
with torch.no_grad():
    try:
        total = sum(e.sum() for e in (w, m))
        torch.set_grad_enabled(True)
    finally:
        s.exp().backward()
""",
    "gradients depend on what hooks keep": """
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    g, = torch.autograd.grad((w * w).sum(), w, create_graph=True)
g.sum().backward()
""",
    "a function of the program raises what is called in it": """
def scaled(x):
    return torch.stack([e * 2.0 for e in (x, x)]).sum()
c = torch.ones(3)
try:
    c = scaled(w)
except RuntimeError:
    print("not reached")
c.backward()
""",
    "a number that float() makes is not saved": """
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    y = s * float(s.detach())
y.backward()
""",
    "a product with one number for a list keeps nothing that backward frees": """
h = w.clone()
for step in range(3):
    torch._foreach_mul_([h], 0.5)
    h.sum().backward()
""",
    "autograd does not see a call on inference tensors alone, parameters among them": """
with torch.inference_mode():
    w.data = w.data * 0.5
torch.clamp(w, 0, 1, out=w)
""",
    "a view that keeps its gradient already is not asked for its history": """
p, q, r = w.unbind()
p.retain_grad()
with torch.no_grad():
    w.add_(1.0)
p.retain_grad()
""",
    "rounds that are left out go the other way than those that are not": """
t = 0
for i in range(40):
    if i % 10 != 9:
        t = (w * w).sum()
        continue
    t.backward()
""",
    "a counter without an end": """
import itertools
y = (w * w).sum()
for i in itertools.count():
    if i == 3:
        y.backward()
    if i > 5:
        break
""",
    "a function under no_grad that calls itself restores what was before": """
@torch.no_grad()
def again(x, n):
    return x if n == 0 else again(x * 2.0, n - 1)
again(w, 2)
(w * 2.0).sum().backward()
""",
    "append is no reason to expect an exception": """
found = []
try:
    torch.set_grad_enabled(False)
    found.append(w * 2.0)
    torch.set_grad_enabled(True)
except RuntimeError:
    print("not reached")
s.exp().backward()
""",
    "a remainder that comes once in the range": """
t = 0
for i in range(5):
    t = t + (w * i).exp().sum()
    if i % 3 == 2:
        t.backward()
""",
    "a round that comes once": """
t = 0
for i in range(100):
    t = t + (w * i).exp().sum()
    if i == 50:
        t.backward()
""",
    "the last round of a known number": """
t = 0
for i in range(10):
    t = t + (w * i).exp().sum()
    if i == 10 - 1:
        t.backward()
""",
    "the last round of an unknown number": """
n = len(os.listdir("/"))
t = 0
for i in range(n):
    t = t + (w * i).exp().sum()
    if i + 1 == n:
        t.backward()
""",
    "the last of a list that is counted": """
xs = [torch.rand(3) for _ in range(6)]
t = 0
for i, x in enumerate(xs):
    t = t + (w * x).exp().sum()
    if i == len(xs) - 1:
        t.backward()
""",
    "a counter of its own that reaches a number once": """
t = 0
n = 0
for x in torch.rand(10, 3):
    n += 1
    t = t + (w * x).exp().sum()
    if n == 3:
        t.backward()
""",
    "rounds that take turns": """
a = (w * w).sum()
for i in range(6):
    if i % 2:
        a.backward()
    else:
        a = (w * w).sum()
""",
    "a range that counts down": """
t = 0
for i in range(9, -1, -1):
    t = t + (w * i).exp().sum()
    if i == 0:
        t.backward()
""",
    "nothing happens until a round that ends the loop": """
y = (w * w).sum()
for i in range(20):
    if i > 10:
        break
    if i == 10:
        y.backward()
""",
    "a while loop of two rounds has no third": """
left = 2
while left > 0:
    left -= 1
    w[0].backward()
    w = w.exp()
""",
    "range() is no reason to expect an exception": """
try:
    for step in range(2):
        s = s * 2.0
except RuntimeError:
    print("not reached")
s.zero_()
""",
    "a view is read without its history": """
y = w + 1.0
p, q, r = y.unbind(0)
y.zero_()
p.detach().exp()
p.requires_grad
""",
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
    "a number is asked for where it is certainly none": """
y = F.log_softmax(torch.addmm(torch.rand(3), m, torch.rand(3, 3)), dim=-1)
try:
    torch.autograd.grad([y[0]], [m])
except RuntimeError:
    pass
y.exp().mean().backward()
""",
    "grad modes and optimizers come to no handler": """
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
    "inference tensors among themselves are not saved": """
with torch.inference_mode():
    m.data = m.data * 0.5
y = m[0].gather(0, torch.tensor([0, 0, 1])) + m.sum(0)
""",
    "inference mode knows of no gradients that out= would lose": """
with torch.inference_mode():
    with torch.enable_grad():
        torch.mul(s, s, out=torch.rand(()))
""",
    "a part of each row is no piece of memory": """
a = m[:, :2].reshape(-1)
a += 1.0
b = torch.rand(3, 3, requires_grad=True).T.reshape(-1)
b += 1.0
""",
    "threshold asks nothing of the memory": """
F.threshold(torch.rand(3).expand(2, 3), 0.1, 0.2, inplace=True)
""",
    "layers come to no handler": """
net = nn.Linear(3, 3)
try:
    m = torch.sigmoid(net(m))
except Exception:
    pass
m[0].add_(1.0)
""",
    "several operations on inference tensors may be seen by autograd": """
with torch.inference_mode():
    w.data = w.data * 0.5
for step in range(2):
    (F.cosine_similarity(w, w, dim=0) + w.sum()).backward()
""",
    "resize_ to the same size writes nothing": """
c = torch.rand(3)
y = (w * c).sum()
c.resize_(3)
y.backward()
""",
    "inference mode resizes what requires grad": """
with torch.inference_mode():
    w.resize_(w.shape)
""",
    "a row of what is expanded along another dimension is its own": """
v = torch.rand(3).expand(2, 3)
v[0].add_(1.0)
""",
    "a checkpoint comes to no handler": """
try:
    torch.set_grad_enabled(False)
    y = checkpoint(torch.exp, w, use_reentrant=False)
    torch.set_grad_enabled(True)
except RuntimeError:
    pass
w.sum().backward()
""",
    "a result that was saved is no longer the tensor that is detached": """
h = (w * 1.0).exp()
y = h.sum()
h.detach_()
y.backward()
""",
    "_foreach_add_ takes over a history": """
c = torch.rand(3)
torch._foreach_add_([c], [w])
c.sum().backward()
""",
    "the old parameters stay what the graph holds": """
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
y = net(net(m)).sum()
net.load_state_dict({k: v * 0.5 for k, v in net.state_dict().items()}, assign=True)
y.backward(retain_graph=True)
opt.step()
net(m).sum().backward()
""",
    "inference mode knows of no histories to detach": """
with torch.inference_mode():
    w.detach_()
w.sum().backward()
""",
    "with create_graph a gradient is added out of place": """
with torch.inference_mode():
    s.backward()
s.backward(create_graph=True)
s.backward()
""",
    "set_grad_enabled as a decorator leaves the mode of the program": """
@torch.set_grad_enabled(False)
def helper(a):
    return a * 2.0
helper(w)
w.exp().sum().backward()
""",
    "operations that do not raise come to no handler": """
c = torch.ones(())
try:
    c = torch.atan2(s, c)
except Exception:
    pass
c.backward()
""",
    "a checkpoint computes with the weights of its backward": """
net = nn.Linear(3, 3)
y = checkpoint(lambda a: net(torch.tanh(net(a))), m, use_reentrant=False)
with torch.no_grad():
    net.weight.mul_(0.5)
y.sum().backward()
""",
    "LBFGS ends after one call where nothing has a gradient": """
total = w.max()
opt = torch.optim.LBFGS([m], max_iter=2)
def closure():
    loss = total * 2.0
    loss.backward()
    return loss
opt.step(closure)
""",
    "backward to inputs gives nothing to those it does not reach": """
with torch.inference_mode():
    s.backward(inputs=[m, s])
m.sum().backward()
""",
    "what only borrows requires_grad asks for no gradient": """
with torch.no_grad():
    v = w.view(3)
h = v
for step in range(2):
    h = h * 0.9 + w
    loss = h.exp().mean()
    loss.backward()
""",
    "einsum saves no operand that alone requires grad": """
c = torch.rand(3)
h = m * 1.0
y = torch.einsum("ij,j->i", h, c)
h.add_(1.0)
y.sum().backward()
""",
    "parts that count their own writes": """
h = w * 2.0
a, b, c = h.unsafe_chunk(3)
y = (a * w[:1]).sum()
h.add_(1.0)
y.backward()
""",
    "a tensor with the memory of an inference tensor can be written": """
c = torch.rand(3)
with torch.inference_mode():
    c.data = c.detach().clone()
F.relu(c, inplace=True)
""",
    "a view that was saved keeps its memory": """
net = nn.Linear(3, 3)
y = net(m).sum()
net.weight.data = torch.rand(3, 3)
y.backward()
""",
    "copying a tensor onto itself asks nothing of its memory": """
v = w.expand(2, 3)
with torch.no_grad():
    v[...] = v
""",
    "filling asks nothing of the memory": """
with torch.no_grad():
    v = w.expand(2, 3)
    v.zero_()
    v.index_fill_(0, torch.tensor([1]), 0.0)
    v[v > 0.5] = 1.0
    nn.init.ones_(v)
""",
    "writes to a tensor are not counted for what .data returned": """
c = torch.rand(3)
loss = (w * c.data).sum()
c.add_(1.0)
loss.backward()
""",
    "index_select of one gives one": """
w.index_select(0, torch.tensor([1])).backward()
""",
    "a view that requires grad by itself is a leaf": """
with torch.no_grad():
    v = w[:2]
v.requires_grad_()
v.sum().backward()
""",
}


@pytest.mark.parametrize("body", RAISING.values(), ids=RAISING.keys())
def test_the_machine_predicts_what_raises(body):
    verdict = judge_source(HEADER + body.lstrip("\n"))
    assert verdict.raises
    assert not verdict.invalid
    assert not verdict.misses
    assert not verdict.false_alarms


@pytest.mark.parametrize("body", RUNNING.values(), ids=RUNNING.keys())
def test_the_machine_is_silent_on_what_runs(body):
    verdict = judge_source(HEADER + body.lstrip("\n"))
    assert not verdict.raises
    assert not verdict.predicted


# Programs that run and compute wrong gradients.
SILENTLY_WRONG = {
    "a copy of what was there before takes the place of other values": """
kept = w.detach().clone()
w.data.add_(1.0)
y = (w * w).sum()
w.data = kept
y.backward()
""",
    "a part of the values takes the place of all": """
y = (m * m).sum()
m.data = m.detach()[:1].clone().expand(2, 3)
y.backward()
""",
    ".data writes": "y = (w * w).sum()\nw.data.add_(1.0)\ny.backward()\n",
    ".data is replaced": "y = (w * w).sum()\nw.data = torch.rand(3)\ny.backward()\n",
    "an array that shares memory": "y = (w * w).sum()\nw.detach().numpy()[...] += 1.0\ny.backward()\n",
    "a vector becomes the parameters of a module": """
net = nn.LayerNorm(3)
y = (net(m) ** 2).sum()
nn.utils.vector_to_parameters(torch.rand(6), net.parameters())
y.backward()
""",
    "the base of a power is replaced": "y = (w**2).sum()\nw.data = torch.rand(3)\ny.backward()\n",
    "only one branch writes unseen": """
y = (w * w).sum()
if flag:
    w.data.add_(1.0)
y.backward()
""",
    "a vector becomes the parameters": """
y = (w * w).sum()
nn.utils.vector_to_parameters(torch.rand(3), [w])
y.backward()
""",
}


class Scaled(torch.nn.Module):
    """A module whose parameter itself is saved, not a view of it."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.rand(3))

    def forward(self, x):
        return x * self.scale


SILENTLY_WRONG["parameters are rounded to half precision"] = (
    f"{inspect.getsource(Scaled).replace('torch.nn.', 'nn.')}"
    """
net = Scaled()
y = net(m).pow(2).sum()
net.bfloat16()
y.backward()
"""
)


@pytest.mark.parametrize("body", SILENTLY_WRONG.values(), ids=SILENTLY_WRONG.keys())
def test_the_machine_tells_where_gradients_are_silently_wrong(body):
    verdict = judge_source(HEADER + body.lstrip("\n"))
    assert verdict.silent
    assert not verdict.silent_misses
    assert not verdict.predicted


# Values that are other ones now, but not where anything would notice; or that are the same.
NOT_WRONG = {
    "a copy of the same values takes their place": """
y = (w * w).sum()
w.data = w.detach().clone()
y.backward()
""",
    "a step along a gradient that is zero": """
opt = torch.optim.Adam([w], fused=True)
y = F.smooth_l1_loss(w, w) * w.sum()
y.backward(retain_graph=True)
opt.step()
y.backward()
""",
    "set_() gives other memory to what .data returned, not to the tensor": """
h = w * 1.0
y = h.exp() * h
h.data.set_(torch.ones(3))
y.sum().backward()
""",
    "copying values onto themselves": "y = (w * w).sum()\nw.data.copy_(w.detach())\ny.backward()\n",
    "a gradient that the sign alone decides": "y = w.abs().sum()\nw.data.add_(1.0)\ny.backward()\n",
}


@pytest.mark.parametrize("body", NOT_WRONG.values(), ids=NOT_WRONG.keys())
def test_a_value_that_is_used_is_no_alarm_and_one_that_is_the_same_is_not_told(body):
    verdict = judge_source(HEADER + body)
    assert not verdict.silent
    assert not verdict.silent_alarms


def test_a_checkpoint_computes_again_with_what_an_optimizer_has_changed():
    step = "opt.step()\n"
    source = f"""{HEADER}
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
opt = torch.optim.SGD(net.parameters(), lr=1.0)
net(m).sum().backward()
y = checkpoint(net, m, use_reentrant=False)
opt.zero_grad(set_to_none=False)
y.sum().backward()
"""
    changed = source.replace("opt.zero_grad", f"{step}opt.zero_grad")
    right, wrong = (run(text).gradients[-1][1]["net.0.weight"] for text in (source, changed))
    assert not torch.allclose(right, wrong)
    assert predict(changed).silent == {len(changed.splitlines())}
    assert not predict(source).silent
