"""Programs that PyTorch runs without a word and that do not do what they are meant to.

Each has the text of a wrong program, in which `# <- CODE` marks the line to be told, and what to replace
in it to make it right. A program sets `symptom`, which is true where it is wrong.
"""

from __future__ import annotations

from typing import NamedTuple


class Silent(NamedTuple):
    """A wrong program, and the replacement that makes it right."""

    wrong: str
    old: str
    new: str


HEAD = """
import torch
from torch import nn
import torch.nn.functional as F
"""

SILENT = {
    "a parameter is unfrozen after the optimizer was made": Silent(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(torch.tanh(self.body(x)))

def trainable(module, flag):
    for weight in module.parameters():
        weight.requires_grad = flag  # <- GL318

net = Net()
trainable(net.body, False)
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
start = net.body.weight.detach().clone()
for epoch in range(4):
    if epoch == 2:
        trainable(net.body, True)
    optimizer.zero_grad()
    net(torch.ones(5, 3)).pow(2).sum().backward()
    optimizer.step()
symptom = torch.equal(start, net.body.weight)
""",
        "        trainable(net.body, True)\n",
        "        trainable(net.body, True)\n"
        '        optimizer.add_param_group({"params": list(net.body.parameters())})\n',
    ),
}
SILENT |= {
    "a penalty on a Jacobian that has no graph": Silent(
        HEAD
        + """
from torch.autograd.functional import jacobian
encoder = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid())
decoder = nn.Linear(4, 3)
row = torch.rand(3)
penalty = jacobian(encoder, row).pow(2).sum()  # <- GL803
loss = F.mse_loss(decoder(encoder(row)), row) + 0.1 * penalty
loss.backward()
symptom = not penalty.requires_grad
""",
        "jacobian(encoder, row)",
        "jacobian(encoder, row, create_graph=True)",
    ),
    "a hook with arguments of its own returns nothing": Silent(
        HEAD
        + """
import functools

def masked(mask, grad):
    kept = grad * mask  # <- GL809
    pass

weight = nn.Parameter(torch.ones(2))
weight.register_hook(functools.partial(masked, torch.tensor([0.0, 1.0])))
weight.sum().backward()
symptom = weight.grad.tolist() == [1, 1]
""",
        "    pass\n",
        "    return kept\n",
    ),
    "a vector of targets that comes out of a split of a data set": Silent(
        HEAD
        + """
from torch.utils.data import DataLoader, TensorDataset, random_split

def table(samples=12):
    x = torch.randn(samples, 3)
    return TensorDataset(x, x.sum(dim=1))

net = nn.Linear(3, 1)
training, checks = random_split(table(), [8, 4])
for x, y in DataLoader(training, batch_size=4):
    loss = F.mse_loss(net(x), y)  # <- GL517
    loss.backward()
symptom = net(x).shape != y.shape
""",
        "    loss = F.mse_loss(net(x), y)",
        "    y = y.unsqueeze(1)\n    loss = F.mse_loss(net(x), y)",
    ),
    "a number for each sample of a data set of the program": Silent(
        HEAD
        + """
from torch.utils.data import DataLoader, Dataset

class Table(Dataset):
    def __init__(self):
        self.x = torch.randn(8, 3)

    def __len__(self):
        return 8

    def __getitem__(self, index):
        row = self.x[index]
        return {"x": row, "y": row.sum()}

net = nn.Linear(3, 1)
for batch in DataLoader(Table(), batch_size=4):
    out = net(batch["x"])
    loss = F.mse_loss(out, batch["y"])  # <- GL517
    loss.backward()
symptom = out.shape != batch["y"].shape
""",
        '    out = net(batch["x"])\n',
        '    out = net(batch["x"]).squeeze(1)\n',
    ),
}
SILENT |= {
    "a sample of independent elements, trained by a divergence alone": Silent(
        HEAD
        + """
from torch.distributions import Independent, Normal, kl_divergence
encoder = nn.Linear(3, 2)
decoder = nn.Linear(2, 3)
x = torch.rand(4, 3)
posterior = Independent(Normal(encoder(x), torch.ones(4, 2)), 1)
prior = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
code = posterior.sample()  # <- GL506
loss = F.mse_loss(decoder(code), x) + kl_divergence(posterior, prior).mean()
loss.backward()
symptom = not code.requires_grad
""",
        "posterior.sample()",
        "posterior.rsample()",
    ),
    "rows of a parameter's data, one by one": Silent(
        HEAD
        + """
embed = nn.Linear(3, 2)
prototypes = torch.randn(4, 2)
labels = torch.tensor([0, 2, 0])
features = embed(torch.rand(3, 3))
logits = features @ prototypes.t()
for label in labels.unique():
    prototypes.data[label].mul_(0.5)  # <- GL205
before = prototypes.clone()
F.cross_entropy(logits, labels).backward()
again = F.cross_entropy(embed(torch.rand(3, 3)) @ prototypes.t(), labels)
symptom = logits.detach().ne(features.detach() @ prototypes.t()).any()
""",
        "F.cross_entropy(logits, labels)",
        "logits = features @ prototypes.t()\nF.cross_entropy(logits, labels)",
    ),
    "an average of what NumPy computes": Silent(
        HEAD
        + """
import numpy as np

net = nn.Linear(3, 3)
x = torch.rand(4, 3)
out = net(x)
rows = out.detach().numpy()  # <- GL515
term = torch.tensor(np.mean([(row * i.numpy()).mean() for row, i in zip(rows, x)]))
loss = F.mse_loss(out, x) + 0.5 * (1.0 - term)
loss.backward()
symptom = not term.requires_grad
""",
        "term = torch.tensor(np.mean([(row * i.numpy()).mean() for row, i in zip(rows, x)]))",
        "term = torch.stack([(row * i).mean() for row, i in zip(out, x)]).mean()",
    ),
}
SILENT |= {
    "a step in a method that a loop calls finds no gradients": Silent(
        HEAD
        + """
class Planner:
    def __init__(self, policy):
        self.policy = policy
        self.optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)

    def path(self, state):
        places = []
        for _ in range(3):
            state = state + self.policy(state)
            places.append(state.tolist())
        return torch.tensor(places, requires_grad=True)

    def improve(self, start):
        self.optimizer.zero_grad()
        self.path(start).pow(2).sum().backward()
        self.optimizer.step()  # <- GL404

planner = Planner(nn.Linear(2, 2))
before = planner.policy.weight.detach().clone()
for _ in range(3):
    planner.improve(torch.ones(2))
symptom = torch.equal(before, planner.policy.weight)
""",
        "places.append(state.tolist())\n        return torch.tensor(places, requires_grad=True)",
        "places.append(state)\n        return torch.stack(places)",
    ),
    "a column of outputs is subtracted from the targets of a loader": Silent(
        HEAD
        + """
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self):
        self.inputs, self.targets = torch.randn(12, 3), torch.randn(12)

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        return self.inputs[i], self.targets[i]

model = nn.Linear(3, 1)
for inputs, targets in DataLoader(Rows(), batch_size=4):
    error = targets - model(inputs)  # <- GL517
    error.abs().mean().backward()
symptom = error.shape == (4, 4)
""",
        "model(inputs)",
        "model(inputs).squeeze(1)",
    ),
    "batches of one sample are broadcast without harm": Silent(
        HEAD
        + """
from torch.utils.data import DataLoader, TensorDataset

model = nn.Linear(3, 1)
for inputs, targets in DataLoader(TensorDataset(torch.randn(4, 3), torch.randn(4)), batch_size=2):
    error = targets - model(inputs)  # <- GL517
    error.abs().mean().backward()
symptom = error.numel() == 4
""",
        ", batch_size=2",
        "",
    ),
    "labels are guessed before the first step, in evaluation mode": Silent(
        HEAD
        + """
model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def guess(inputs):
    model.eval()  # <- GL516
    with torch.no_grad():
        labels = model(inputs).argmax(1)
    return labels

model.train()
modes = []
for _ in range(3):
    labels = guess(torch.randn(4, 3))
    modes.append(model.training)
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(4, 3)), labels).backward()
    optimizer.step()
symptom = not any(modes)
""",
        "    return labels\n",
        "    model.train()\n    return labels\n",
    ),
    "backward asks whether another input needs a gradient": Silent(
        HEAD
        + """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = grad * weight
        if ctx.needs_input_grad[0]:
            grad_weight = (grad * x).sum(0)
        return grad_x, grad_weight  # <- GL720

weight = nn.Parameter(torch.ones(3))
Scale.apply(torch.ones(2, 3), weight).sum().backward()
symptom = weight.grad is None
""",
        "[0]:\n            grad_weight",
        "[1]:\n            grad_weight",
    ),
    "a parameter between layers is given to no optimizer": Silent(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 4)
        self.place = nn.Parameter(torch.randn(1, 4))
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(torch.tanh(self.body(x) + self.place))

net = Net()
weights = [p for m in net.modules() if isinstance(m, nn.Linear) for p in m.parameters()]
optimizer = torch.optim.SGD(weights, lr=0.1)  # <- GL319
start = net.place.detach().clone()
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(5, 3)).pow(2).sum().backward()
    optimizer.step()
symptom = torch.equal(start, net.place)
""",
        "SGD(weights,",
        "SGD([*weights, net.place],",
    ),
}


def function(forward: str, wrong: str, right: str) -> Silent:
    """A Function of rows, the gradient that its backward returns and the true one."""
    arguments, _, body = forward.partition(": ")
    saved, result = body.split("; ")[-2:]
    steps = "\n        ".join(body.split("; ")[:-2])
    program = f"""
class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, {arguments}):
        {steps}
        ctx.save_for_backward({saved})
        return {result}

    @staticmethod
    def backward(ctx, g):
        {saved}, = ctx.saved_tensors
        return {wrong}  # <- GL729

x = torch.randn(4, 3, dtype=torch.double, requires_grad=True)
marks = F.one_hot(torch.tensor([0, 2, 1, 1]), 3).double()
inputs = (x, marks) if "marks" in "{arguments}" else (x,)
symptom = not torch.autograd.gradcheck(Rows.apply, inputs, raise_exception=False)
"""
    return Silent(HEAD + program, f"return {wrong}", f"return {right}")


SILENT |= {
    "a softmax without the term of the whole row": function(
        "x: y = torch.softmax(x, dim=-1); y; y",
        "y * (1 - y) * g",
        "y * (g - (g * y).sum(dim=-1, keepdim=True))",
    ),
    "a normalisation that does not take away the radial part": function(
        "x: n = x.norm(dim=1, keepdim=True); y = x / n; y, n; y",
        "g / n",
        "(g - y * (g * y).sum(1, keepdim=True)) / n",
    ),
    "a normalisation that forgets the mean": function(
        "x: d = x - x.mean(dim=-1, keepdim=True); "
        "r = ((d * d).mean(dim=-1, keepdim=True) + 1e-5).rsqrt(); y = d * r; y, r; y",
        "r * (g - y * (g * y).mean(dim=-1, keepdim=True))",
        "r * (g - g.mean(dim=-1, keepdim=True) - y * (g * y).mean(dim=-1, keepdim=True))",
    ),
    "a cross entropy of the wrong sign": function(
        "x, marks: rows = torch.log_softmax(x, dim=1); rows, marks; -(marks * rows).sum(dim=1)",
        "g.unsqueeze(1) * (marks - rows.exp()), None",
        "g.unsqueeze(1) * (rows.exp() - marks), None",
    ),
    "a soft maximum divided by its temperature twice": function(
        "x: y = x / 0.5; top = y.max(dim=-1, keepdim=True).values; e = (y - top).exp(); "
        "total = e.sum(dim=-1, keepdim=True); share = e / total; share; "
        "(0.5 * (top + total.log())).squeeze(-1)",
        "g.unsqueeze(-1) * share / 0.5",
        "g.unsqueeze(-1) * share",
    ),
}


def kept(container: str, keeping: str) -> Silent:
    """A loop that keeps each loss with its graph."""
    program = f"""
model = nn.Linear(3, 1)
history = {container}
for step in range(3):
    loss = model(torch.ones(2, 3)).pow(2).mean()
    loss.backward()
    model.zero_grad()
    {keeping}  # <- GL602
values = list(history.values()) if isinstance(history, dict) else history
symptom = any(torch.is_tensor(value) and value.requires_grad for value in values)
"""
    return Silent(HEAD + program, keeping, keeping.replace("loss", "loss.item()"))


def updated(update: str) -> Silent:
    """A loop that moves a parameter by its gradient, which it does not clear."""
    program = f"""
weight = torch.ones(2, requires_grad=True)
norms = []
for _ in range(3):
    (3 * weight).sum().backward()  # <- GL401
    {update}
    norms.append(float(weight.grad.norm()))
symptom = norms[-1] > 2.9 * norms[0]
"""
    cleared = "norms.append(float(weight.grad.norm()))\n"
    return Silent(HEAD + program, cleared, f"{cleared}    weight.grad = None\n")


SILENT |= {
    "losses are kept under their steps": kept("{}", "history[step] = loss"),
    "losses are kept in places of a list": kept("[0.0] * 3", "history[step] = loss"),
    "a list is extended by a loss": kept("[]", "history += [loss]"),
    "a gradient is added by a method": updated("weight.data.add_(weight.grad, alpha=-0.1)"),
    "a gradient is subtracted by a method": updated("weight.data.sub_(0.1 * weight.grad)"),
    "the moved weight is copied": updated("weight.data.copy_(weight - 0.1 * weight.grad)"),
    "the gradients of an input are summed and never cleared": Silent(
        HEAD
        + """
model = nn.Linear(2, 1).requires_grad_(False)
point = torch.ones(1, 2, requires_grad=True)
total = torch.zeros(1, 2)
for _ in range(4):
    model(point).sum().backward()  # <- GL401
    total += point.grad
symptom = not torch.allclose(total, 4 * model.weight)
""",
        "    total += point.grad\n",
        "    total += point.grad\n    point.grad = None\n",
    ),
}
