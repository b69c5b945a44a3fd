"""Programs that try the machine, one idea each. `# raises` marks the line where PyTorch raises, if any."""

PROGRAMS: dict[str, str] = {
    "a flag that is asked for in two ways": """
import os
import torch
class Agent:
    def __init__(self, learned):
        self.learned = learned
        if self.learned is True:
            self.log_alpha = torch.zeros(1, requires_grad=True)
    def update(self, entropy):
        if self.learned:
            loss = (self.log_alpha * entropy.detach()).mean()
            loss.backward()
Agent(bool(os.environ.get("LEARNED"))).update(torch.ones(3))
""",
    "arguments that a generator gives one by one": """
import random
from collections import namedtuple
import torch
Step = namedtuple("Step", "obs reward")
memory = [Step(torch.ones(2), torch.zeros(1)) for _ in range(8)]
batch = random.sample(memory, 4)
rows = Step(*(torch.stack(column) for column in zip(*batch)))
w = torch.ones(2, requires_grad=True)
loss = (rows.obs * w * w).sum()
loss.backward()
loss.backward()  # raises
""",
    "a list of inputs that a test may leave empty": """
import torch
w = torch.ones(2, requires_grad=True)
def gradients(output, inputs, without=set()):
    chosen = []
    for number, each in enumerate(list(inputs)):
        if number not in without:
            chosen.append(each)
    return torch.autograd.grad(output, chosen)
""",
    "the output of a layer with a backward hook is a view of what the layer returns": """
import torch
from torch import nn
entry = nn.Identity()
entry.register_full_backward_hook(lambda module, grad_input, grad_output: None)
features = nn.Linear(2, 2)(torch.ones(1, 2))
seen = entry(features)
(seen.sum() + features.sum()).backward()
seen += 1  # raises
""",
    "a Function that is applied raises what its forward raises": """
import torch
class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, grad):
        return grad
w = torch.ones(2, requires_grad=True)
x = w
try:
    copy = Copy.apply(w)
    x = w * 2
except RuntimeError:
    pass
x.neg_()
""",
    "a result that an in-place projection leaves and saves": """
import torch
w = torch.ones(3, requires_grad=True)
x = w * 2
x.relu_()
torch.nn.functional.leaky_relu(x, 0.2, inplace=True)
x.sum().backward()
y = w * 2
y.relu_()
y.clamp_(0, 1)
y.relu_()
y.sum().backward()  # raises
""",
    "what is a tensor, and what has the kind of numbers of another": """
import numpy as np
import torch
def close(one, other):
    backend = torch if torch.is_tensor(one) else np
    if backend == np:
        one = np.asarray(other)
    if backend != torch:
        other = np.asarray(other)
    return backend.allclose(one, other)
def coordinate(c):
    if not torch.is_tensor(c):
        c = torch.tensor(c, dtype=torch.float32)
    return c
y = torch.tensor(0.3, requires_grad=True)
(coordinate(y) * coordinate(2)).backward()
close(y, y * 1)
close(np.ones(2), np.ones(2))
times = torch.rand(3)
seen = (times > 0.5).type_as(times)
seen.requires_grad = True
(seen * max(*[1, 2])).sum().backward()
late = (times > 0.5).to(times)
late.requires_grad_()
""",
    "kinds of numbers that are asked for": """
import torch
def require(inputs):
    for each in inputs:
        dtype = each.dtype
        if not dtype.is_floating_point and not (hasattr(dtype, "is_complex") and dtype.is_complex):
            print("integers")
        elif not each.requires_grad:
            each.requires_grad_()
x = torch.ones(5).unsqueeze(0)
y = x.clone()
require((y,))
y.register_hook(print)
z = torch.ones(2)
if z.is_floating_point() and torch.float32.is_floating_point:
    z.requires_grad_()
z.register_hook(print)
c = torch.ones(2)
if c.is_complex() or torch.is_complex(c) or not torch.is_floating_point(c):
    c.requires_grad_()
c.register_hook(print)  # raises
""",
    "an iterator that numbers or joins what an `__iter__` of the program gives": """
import torch
flags = vars(torch)
class Rows:
    def __init__(self, count):
        self.left = count
    def __iter__(self):
        while flags["is_anomaly_enabled"]():
            self.left -= 1
        return iter([torch.ones(2)] * self.left)
w = torch.ones(2, requires_grad=True)
numbered = enumerate(Rows(2))
flags["is_tensor"](numbered)
flags["is_tensor"](zip(Rows(2), Rows(2)))
flags["is_tensor"](map(torch.neg, Rows(2)))
for number, row in numbered:
    (w * row).sum().backward()
""",
    "a leaf that something unknown was written into is a leaf still": """
import torch
unseen = vars(torch)
x = torch.zeros(2)
x.copy_(unseen["ones"](2))
x.requires_grad = True
rows = torch.zeros(2, 2)
rows[0] = unseen["ones"](2)
rows.requires_grad = True
(x * rows).sum().backward()
""",
    "a result that something unknown was written into is no leaf": """
import torch
unseen = vars(torch)
w = torch.ones(2, requires_grad=True)
x = w * 1
x.copy_(unseen["ones"](2))
x.requires_grad = True  # raises
""",
    "a constant of unknown origin in every round's graph": """
import torch
unseen = vars(torch)
adjacency = unseen["ones"](2, 2)
scale = unseen["diag"](adjacency.sum(1)) ** -0.5
mixed = scale @ adjacency @ scale
w = torch.ones(2, 2, requires_grad=True)
for _ in range(3):
    (mixed @ (w * 2)).sum().backward()
""",
    "batches of what a generator gives carry a memory over": """
import torch
def stream(count):
    for at in range(count):
        yield at % 3, torch.ones(2)
def chunks(items, size):
    items = list(items)
    return [items[i : i + size] for i in range(0, len(items), size)]
w = torch.ones(2, requires_grad=True)
memory = {}
for batch in chunks(stream(30), 6):
    loss = torch.zeros(())
    for key, x in batch:
        memory[key] = memory.get(key, torch.zeros(2)) * w + x
        loss = loss + memory[key].sum()
    loss.backward()  # raises
""",
    "a loop whose third round breaks": """
import torch
w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
state = torch.zeros(3)
for _ in range(5):
    state = state * w
    opt.zero_grad()
    state.sum().backward(retain_graph=True)  # raises
    opt.step()
""",
    "a state that is detached on the way round": """
import torch
w = torch.ones(3, requires_grad=True)
state = torch.zeros(3)
for _ in range(5):
    state = state.detach() * w
    state.sum().backward()
""",
    "the same flag takes the same branch": """
import os
import torch
keep = bool(os.environ.get("NOT_SET_ANYWHERE"))
w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()
loss.backward(retain_graph=keep)
if keep:
    loss.backward()
""",
    "isinstance decides": """
import torch
def detached(x):
    if isinstance(x, (list, tuple)):
        return [detached(v) for v in x]
    return x.detach()
w = torch.ones(2, requires_grad=True)
h = [torch.zeros(2), torch.zeros(2)]
for _ in range(3):
    h = [v * w for v in detached(h)]
    sum(v.sum() for v in h).backward()
""",
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
    "a decorated generator does not": """
import torch
@torch.no_grad()
def batches():
    for _ in range(2):
        yield torch.ones(2)
w = torch.ones(2, requires_grad=True)
for x in batches():
    (w * x).sum().backward()
""",
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
    "super() through two classes": """
import torch
from torch import nn
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        return torch.sigmoid(self.fc(x))
class Middle(Base):
    pass
class Top(Middle):
    def forward(self, x):
        y = super().forward(x)
        y += 1
        return y
Top()(torch.ones(1, 2)).sum().backward()  # raises
""",
    "a property and a closure": """
import torch
class Holder:
    def __init__(self):
        self._w = torch.ones(2, requires_grad=True)
    @property
    def w(self):
        return self._w
holder = Holder()
def step():
    holder.w.mul_(0.5)  # raises
step()
""",
    "functools.partial and a dictionary of functions": """
import functools
import torch
def scale(x, by):
    return x.mul_(by)
table = {"half": functools.partial(scale, by=0.5)}
w = torch.ones(2, requires_grad=True)
table["half"](w)  # raises-inside
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
    "a layer applied twice with a step in between": """
import torch
from torch import nn
a, b = nn.Linear(2, 2), nn.Linear(2, 1)
opt = torch.optim.SGD(b.parameters(), lr=0.1)
x = torch.ones(1, 2)
first, second = b(a(x)).sum(), b(a(x)).sum()
first.backward()
opt.step()
second.backward()  # raises
""",
    "one layer alone does not save its weight": """
import torch
from torch import nn
b = nn.Linear(2, 1)
opt = torch.optim.SGD(b.parameters(), lr=0.1)
x = torch.ones(1, 2)
first, second = b(x).sum(), b(x).sum()
first.backward()
opt.step()
second.backward()
""",
    "deepcopy of a module gives leaves of its own": """
import copy
import torch
from torch import nn
a = nn.Linear(2, 1)
b = copy.deepcopy(a)
loss = a(torch.ones(1, 2)).sum()
with torch.no_grad():
    for p in b.parameters():
        p.zero_()
loss.backward()
""",
    "unpacking, star arguments and keywords": """
import torch
def pair(*parts, scale=1.0, **rest):
    first, *others = parts
    return first * scale, others[0]
w = torch.ones(2, requires_grad=True)
a, b = pair(w, w, **{"scale": 2.0})
b.add_(1)  # raises
""",
    "while with a counter and break": """
import torch
w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()
n = 0
while True:
    n += 1
    if n > 2:
        break
    loss.backward()  # raises
""",
    "gradients accumulated over k rounds": """
import torch
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
opt.zero_grad()
for i in range(8):
    (w * w).sum().backward()
    if (i + 1) % 4 == 0:
        opt.step()
        opt.zero_grad()
""",
    "states that are accumulated and summed one after another": """
from functools import reduce
from itertools import accumulate
import torch
w = torch.ones(3, requires_grad=True)
state = torch.zeros(3)
for segment in range(2):
    states = list(accumulate([state, torch.ones(3)], lambda before, given: before * w + given))
    loss = reduce(lambda one, other: one + other, states).sum()
    loss.backward()  # raises
    state = states[-1]
""",
    "a tower of blocks that is folded": """
from functools import reduce
import torch
from torch import nn
tower = nn.ModuleList([nn.GELU(), nn.Softplus()])
features = nn.Linear(2, 2)(torch.ones(1, 2))
out = reduce(lambda h, block: h.add_(block(h)), tower, features)
out.sum().backward()  # raises
""",
    "what the standard library gives back may have a graph": """
import copy, functools, heapq, itertools, operator, queue, random
import torch
w = torch.ones(3, requires_grad=True)
def picked(losses):
    random.choice(losses).backward()
picked([w.sum()])
functools.reduce(operator.add, w.unbind()).backward()
random.choice([lambda x: (x * w).sum()])(w).backward()
heapq.nlargest(1, [(1.0, w.sum())])[0][1].backward()
first, second = itertools.tee([w.sum()])
next(first).backward()
operator.itemgetter(0)([w * 1]).sum().backward()
waiting = queue.Queue()
waiting.put(w * 2)
waiting.get().sum().backward()
""",
    "a reentrant checkpoint hands out its constants with a history": """
import torch
from torch.utils.checkpoint import checkpoint
w = torch.ones(3, requires_grad=True)
other = torch.ones(3, requires_grad=True)
ones = checkpoint(lambda a: torch.ones_like(a), w, use_reentrant=True)
torch.autograd.grad(ones, other, torch.ones(3), allow_unused=True)
""",
    "parts of a flat buffer beside their shapes": """
import torch
flat = torch.ones(8, requires_grad=True)
shapes = [(2, 1), (2,), (1, 2), (1,), (1, 1)]
parts = [part.view(shape) for part, shape in zip(flat.split([2, 2, 2, 1, 1]), shapes)]
flat.mul_(0.5)  # raises
""",
    "einsum copies what it has to reorder": """
import torch
w = torch.ones(2, 5, 3, 4, requires_grad=True)
query, key = w * 2, w * 3
scores = torch.einsum("bqhd,bkhd->bhqk", query, key)
key.mul_(2)
scores.sum().backward()
""",
    "einsum adds up at once what only one operand has": """
import torch
w = torch.ones(5, requires_grad=True)
rows, columns = w * 2, w * 3
total = torch.einsum("q,k->q", rows, columns)
columns.mul_(2)
total.sum().backward()
""",
    "einsum saves a part of a buffer that is filled later": """
import torch
w = torch.ones(2, 3, requires_grad=True)
cache = torch.zeros(2, 4, 3)
cache[:, 0] = w * 2
seen = torch.einsum("bd,btd->bt", w * 3, cache[:, :1])
cache[:, 1] = w * 4
seen.sum().backward()  # raises
""",
    "einsum without an arrow": """
import torch
w = torch.ones(2, 2, requires_grad=True)
left, right = w * 2, w * 3
product = torch.einsum("ij,jk", left, right)
right.mul_(2)
product.sum().backward()  # raises
""",
    "fields and variables that are got at by name, replaced and stored": """
import dataclasses, pickle
import torch
from torch.utils.data import DataLoader, Dataset
w = torch.ones(3, requires_grad=True)
globals()["w"].sum().backward()
pickle.loads(pickle.dumps(w)).sum().backward()
@dataclasses.dataclass(frozen=True)
class State:
    hidden: torch.Tensor
    age: int = 0
state = State(torch.zeros(3))
vars(State(w))["hidden"].sum().backward()
dataclasses.replace(state, hidden=w * 2).hidden.sum().backward()
class Scaled(Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, index):
        return w * index
for batch in DataLoader(Scaled(), batch_size=2):
    batch.sum().backward()
""",
    "a state that is replaced field by field carries its graph": """
import dataclasses
import torch
w = torch.ones(3, requires_grad=True)
@dataclasses.dataclass
class State:
    hidden: torch.Tensor
    age: int = 0
state = State(torch.zeros(3))
for segment in range(2):
    state = dataclasses.replace(state, hidden=state.hidden + w * w)
    state.hidden.sum().backward()  # raises
""",
    "a state that is replaced by fields of which the names are not known": """
import dataclasses
import torch
w = torch.ones(3, requires_grad=True)
@dataclasses.dataclass
class State:
    hidden: torch.Tensor
state = State(torch.zeros(3))
for segment in range(2):
    state = dataclasses.replace(state, hidden=state.hidden + w * w)
    state.hidden.sum().backward()
    kept = {field.name: getattr(state, field.name).detach() for field in dataclasses.fields(state)}
    state = dataclasses.replace(state, **kept)
""",
    "a backward that is differentiable once gives gradients without a graph": """
import torch
from torch.autograd.function import once_differentiable
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x ** 2 * grad
x = torch.ones(3, requires_grad=True)
(slope,) = torch.autograd.grad((Cube.apply(x) + x ** 2).sum(), x, create_graph=True)
slope.sum().backward()
(slope,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
slope.sum().backward()  # raises
""",
    "losses that threads compute from the same features": """
from concurrent.futures import ThreadPoolExecutor
import torch
w = torch.ones(3, requires_grad=True)
with ThreadPoolExecutor(max_workers=1) as pool:
    with torch.no_grad():
        recorded = pool.submit(lambda: (w * w).sum()).result()
    recorded.backward()
    features = w.exp()
    jobs = [pool.submit(torch.dot, features, torch.ones(3)) for _ in range(2)]
    for job in jobs:
        job.result().backward()  # raises
""",
    "what a thread raises waits until it is asked for": """
from concurrent.futures import ThreadPoolExecutor, as_completed
import torch
w = torch.ones(3, requires_grad=True)
def twice():
    loss = w.exp().sum()
    loss.backward()
    loss.backward()
with ThreadPoolExecutor(max_workers=1) as pool:
    jobs = [pool.submit(twice)]
    for job in as_completed(jobs):
        try:
            job.result()
        except RuntimeError:
            pass
    for loss in pool.map(lambda scale: (w * scale).sum(), [1.0, 2.0]):
        loss.backward()
""",
    "a thread that never ends": """
from concurrent.futures import ThreadPoolExecutor
import os
import torch
w = torch.ones(3, requires_grad=True)
def watch():
    while True:
        print("watching")
if os.environ.get("NEVER_SET"):
    ThreadPoolExecutor(max_workers=1).submit(watch)
loss = w.exp().sum()
loss.backward()
loss.backward()  # raises
""",
    "the sum of complex numbers is complex": """
import torch
phase = torch.ones(3, requires_grad=True)
wave = torch.polar(torch.ones(3), phase)
wave.sum().abs().backward()
wave = torch.polar(torch.ones(3), phase)
wave.sum().backward()  # raises
""",
}
