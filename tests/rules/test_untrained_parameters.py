"""Parameters that an optimizer should train and does not have."""

from __future__ import annotations

import pytest

from tests.cases import (
    HEAD,
    Mistake,
    check_correction,
    check_mistake,
    each,
)
from tests.open_programs import told
from tests.running import happened

# Silent mistakes, and what corrects them.
MISTAKES = {
    "a parameter between layers is given to no optimizer": Mistake(
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
    "what a function is given without a name": Mistake(
        HEAD
        + """
class Distance(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, out):
        return (self.weight * out.pow(2)).mean()

def train(net, criterion):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)  # <- GL319
    for _ in range(3):
        loss = criterion(net(torch.ones(4, 3)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return criterion.weight.tolist()

symptom = train(nn.Linear(3, 2), Distance()) == [1, 1]
""",
        "SGD(net.parameters(),",
        "SGD([*net.parameters(), *criterion.parameters()],",
    ),
    "a new head behind a part that is trained": Mistake(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
        self.head = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))

    def forward(self, x):
        return self.head(self.body(x))

def groups(net):
    found = []
    for name, parameter in net.body.named_parameters():
        found.append({"params": [parameter], "lr": 0.2 if "bias" in name else 0.1})
    return found

net = Net()
optimizer = torch.optim.SGD(groups(net))  # <- GL319
start = net.head[0].weight.detach().clone()
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(5, 3)).pow(2).sum().backward()
    optimizer.step()
symptom = torch.equal(start, net.head[0].weight)
""",
        "net.body.named_parameters()",
        "net.named_parameters()",
    ),
    "a head is replaced after the optimizer was made and the network was frozen": Mistake(
        HEAD
        + """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for parameter in net.parameters():
    parameter.requires_grad = False
net[1] = nn.Linear(2, 3)  # <- GL318 ParameterReplaced
start = net[1].weight.detach().clone()
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(4, 2)).pow(2).sum().backward()
    optimizer.step()
symptom = torch.equal(start, net[1].weight)
""",
        "net[1] = nn.Linear(2, 3)",
        "net[1] = nn.Linear(2, 3)\noptimizer = torch.optim.SGD(net[1].parameters(), lr=0.1)",
    ),
    "a layer that is replaced after the optimizer was made": Mistake(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        return self.head(self.body(x))

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.head = nn.Linear(2, 3)  # <- GL318 ParameterReplaced
start = net.head.weight.detach().clone()
for _ in range(2):
    optimizer.zero_grad()
    net(torch.ones(1, 2)).pow(2).sum().backward()
    optimizer.step()
symptom = torch.equal(start, net.head.weight)
""",
        """optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.head = nn.Linear(2, 3)  # <- GL318 ParameterReplaced
""",
        """net.head = nn.Linear(2, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
""",
    ),
    "a layer that is added after the optimizer was made": Mistake(
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2)])

    def grow(self):
        self.layers.append(nn.Linear(2, 2))  # <- GL318 ParameterReplaced

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for stage in range(2):
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.ones(1, 2)).pow(2).sum().backward()
        optimizer.step()
    net.grow()
start = net.layers[1].weight.detach().clone()
optimizer.zero_grad()
net(torch.ones(1, 2)).pow(2).sum().backward()
optimizer.step()
symptom = torch.equal(start, net.layers[1].weight)
""",
        "    net.grow()\n",
        "    net.grow()\n    optimizer.add_param_group({'params': list(net.layers[-1].parameters())})\n",
    ),
    "a parameter is unfrozen after the optimizer was made": Mistake(
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


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


OPEN = """
import torch
from torch import nn
from nets import build

def main(args, data):
    model = build(args)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    model.fc = nn.Linear(model.fc.in_features, args.classes)
    for x, y in data:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_a_layer_of_an_unknown_model_is_replaced_after_its_optimizer_was_made() -> None:
    assert [(finding.code, finding.location.start.row) for finding in told(OPEN)] == [("GL318", 9)]

    made = "    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)\n"
    assert told(OPEN.replace(made, "").replace("    for x", f"{made}    for x")) == []
    assert told(OPEN.replace("nn.Linear(model.fc.in_features, args.classes)", "nn.Identity()")) == []


def test_a_head_of_an_unknown_model_is_replaced_after_the_model_was_frozen() -> None:
    frozen = OPEN.replace("model.fc =", "model.requires_grad_(False)\n    model.fc =")
    assert [finding.code for finding in told(frozen)] == ["GL318"]


PARTS = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.critic = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 1)

    def forward(self, x):
        return self.critic(self.head(self.body(x)))

def train(loader, path):
    net = Net()
    PREPARE
    optimizer = torch.optim.SGD(PARAMETERS, lr=0.1)
    for x in loader:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("prepare", "parameters", "codes"),
    [
        ("pass", "net.body.parameters()", ["GL319"]),
        ("pass", "[*net.body.parameters(), *net.head.parameters()]", []),  # the critic judges
        ("pass", "[*net.head.parameters(), *net.critic.parameters()]", []),  # features for a new head
        ("net.head.requires_grad_(False)", "net.body.parameters()", []),
        ("net.load_state_dict(torch.load(path))", "net.body.parameters()", []),
        ("net.head.load_state_dict(torch.load(path))", "net.body.parameters()", []),
        ("other = torch.optim.SGD(net.head.parameters(), lr=1.0)", "net.body.parameters()", ["GL416"]),
    ],
)
def test_parts_that_no_optimizer_has(prepare: str, parameters: str, codes: list[str]) -> None:
    program = PARTS.replace("PREPARE", prepare).replace("PARAMETERS", parameters)
    assert [finding.code for finding in told(program)] == codes


UNUSED = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.other = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x):
        return self.used(x)

class Trainer:
    def __init__(self, lr):
        self.net = Net()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=lr)

    def step(self, x):
        loss = self.net(x).sum()
        self.optimizer.zero_grad()
        loss.backward()
        for p in self.net.parameters():
            p.grad.data.clamp_(-1, 1)
        self.optimizer.step()
"""


def test_what_was_cleared_and_is_unused_has_no_gradient() -> None:
    assert [(finding.code, finding.location.start.row) for finding in told(UNUSED)] == [("GL321", 22)]
    assert happened(f"{UNUSED}Trainer(0.1).step(torch.ones(1, 2))\n")[0] == 22
    kept = UNUSED.replace("        self.optimizer.zero_grad()\n", "")
    assert "GL321" not in [finding.code for finding in told(kept)]
    assert told(UNUSED.replace("            p.grad", "            if p.grad is not None: p.grad")) == []


UNKNOWN_GRAPH = """
import torch
from kernels import attention

def compare(q, cotangent):
    mine = q.clone().detach().requires_grad_(True)
    out = {made}
    {passed}
    return mine.grad.float()

q = torch.ones(3, requires_grad=True)
compare(q, q * 2)
"""


@pytest.mark.parametrize(
    ("made", "passed", "codes"),
    [
        ("attention(mine)", "out.backward(cotangent)", []),
        ("attention(mine)", "out.backward(cotangent.detach())", []),
        ("attention(q)", "print(out)", ["GL321"]),
    ],
)
def test_a_pass_over_a_graph_that_is_not_known_fills_gradients(
    made: str, passed: str, codes: list[str]
) -> None:
    program = UNKNOWN_GRAPH.format(made=made, passed=passed)
    assert [finding.code for finding in told(program)] == codes


# A constructor that is not followed to its end leaves out a part, which is taken for what its uses show.
LEFT_OUT = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, made):
        super().__init__()
        self.body = nn.Linear(2, 2)
        if made:
            self.head = made.pop()(2)

    def forward(self, x):
        return self.head(self.body(x))

    def learn_batch(self, x, y):
        return self.head.learn_batch(self.body(x).detach(), y)


class Bandit:
    def __init__(self):
        self.model = Net([])
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def learn(self, x, y):
        loss = (self.model(x) - y).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.model.head.learn_batch(x, y)
"""


def test_what_stands_for_a_part_was_there_before_it_is_asked_for() -> None:
    assert told(LEFT_OUT) == []
