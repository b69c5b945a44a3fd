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
