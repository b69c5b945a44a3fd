"""Forms of right programs of public repositories that rules have reported, each beside a wrong one."""

from __future__ import annotations

from typing import NamedTuple

from tests.cases import HEAD, each
from tests.running import findings, happened


class Form(NamedTuple):
    """A right program, and the replacement that makes it wrong.

    `run` runs what the program only defines; `# <- CODE` in `new` marks what is reported of the wrong program.
    """

    right: str
    old: str
    new: str
    run: str = ""


FORMS = {
    "any number of inputs": Form(
        """
def gradients(v, *parameters):
    return torch.autograd.grad(v.sum(), parameters)
""",
        "grad(v.sum(), parameters)",
        "grad(v.sum(), v.detach())  # <- GL801",
        "w = torch.ones(2, requires_grad=True)\ngradients(w * 2, w)",
    ),
    "inputs of a table": Form(
        """
def gradients(loss, z):
    names, tensors = zip(*z.items())
    return torch.autograd.grad(loss, tensors)
""",
        "grad(loss, tensors)",
        "grad(loss.detach(), tensors)  # <- GL501",
        "w = torch.ones(2, requires_grad=True)\ngradients(w.sum(), {'w': w})",
    ),
    "any number of sizes": Form(
        """
def check(v, y):
    *batch, m, n = y.shape
    (v * 2).view(*batch, m, n).backward(torch.ones(2, 3, 4))
""",
        "view(*batch, m, n).backward(torch.ones(2, 3, 4))",
        "view(2, 3, 4).backward(torch.ones(2, 3, 5))  # <- GL309",
        "check(torch.ones(24, requires_grad=True), torch.ones(2, 3, 4))",
    ),
    "some of the sizes": Form(
        """
def check(v):
    x = v.reshape(-1, *v.shape[-2:]).requires_grad_()
    (x * 2).backward(torch.ones(5, 3, 4))
""",
        "v.reshape(-1, *v.shape[-2:]).requires_grad_()\n    (x * 2).backward(torch.ones(5, 3, 4))",
        "v.reshape(-1, 3, 4, 1).requires_grad_()\n    (x * 2).backward(torch.ones(5, 3, 4))  # <- GL309",
        "check(torch.ones(5, 3, 4))",
    ),
    "a constant where there are no data": Form(
        """
def check(net, x, n):
    loss = net(x).sum()
    if n == 0:
        loss = torch.tensor(0.0)
    loss.backward()
""",
        "    if n == 0:\n        loss = torch.tensor(0.0)\n    loss.backward()",
        "    loss.detach().backward()  # <- GL501",
        "check(nn.Linear(2, 1), torch.ones(3, 2), 3)",
    ),
    "a constant that rows add to": Form(
        """
def check(x, mask):
    net = nn.Linear(2, 1)
    loss = torch.tensor(0.0)
    for i in range(len(x)):
        if not mask[i].any():
            continue
        loss = loss + net(x[i]).sum()
    loss.backward()
""",
        "    loss.backward()",
        "    (loss**2).backward()\n    (loss**2).backward()  # <- GL101",
        "check(torch.ones(3, 2), torch.ones(3, 2) > 0)",
    ),
    "a gradient penalty of something unknown": Form(
        """
def penalty(critic, x):
    x = x.detach().requires_grad_()
    (slope,) = torch.autograd.grad(critic(x * 2).sum(), x, create_graph=True)
    (slope.norm() - 1).pow(2).backward()
""",
        "x, create_graph=True)\n    (slope.norm() - 1).pow(2).backward()",
        "x)\n    (slope.norm() - 1).pow(2).backward()  # <- GL802",
        "penalty(nn.Sequential(nn.Linear(2, 2), nn.Tanh()), torch.ones(3, 2))",
    ),
    "second derivatives of something unknown": Form(
        """
def product(model, vectors):
    w = torch.ones(2, requires_grad=True)
    loss = model(w * 2).sum()
    slopes = torch.autograd.grad(loss, [w], create_graph=True)
    return torch.autograd.grad(slopes, [w], grad_outputs=vectors)
""",
        "[w], create_graph=True)\n    return torch.autograd.grad(slopes, [w], grad_outputs=vectors)",
        "[w])\n    return torch.autograd.grad(slopes, [w], grad_outputs=vectors)  # <- GL802",
        "product(torch.exp, [torch.ones(2)])",
    ),
    "a distribution of the program's own": Form(
        """
class Policy(torch.distributions.Normal):
    def __init__(self, mean, scale):
        super().__init__(mean, scale)
mean = torch.zeros(2, requires_grad=True)
policy = Policy(mean, torch.ones(2))
policy.log_prob(policy.sample()).sum().backward()
""",
        "policy.log_prob(policy.sample()).sum().backward()",
        "policy.sample().sum().backward()  # <- GL501",
    ),
    "a method whose only caller has switched gradients off": Form(
        """
class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(3))
        self.reset()
    def reset(self):
        with torch.no_grad():
            self._fill()
    def _fill(self):
        self.bias.uniform_(-1, 1)
    def forward(self, x):
        return x + self.bias
""",
        "        with torch.no_grad():\n            self._fill()\n    def _fill(self):\n        self.bias.uniform_(-1, 1)",
        "        self._fill()\n    def _fill(self):\n        self.bias.uniform_(-1, 1)  # <- GL301",
        "Shift()",
    ),
    "a tensor that a method hands out to be trained": Form(
        """
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.zeros(3, requires_grad=True)
        self.linear = nn.Linear(3, 3)
    def extra(self):
        return [self.scale]
    def forward(self, x):
        return self.linear(x) * self.scale
""",
        "        self.scale = torch.zeros(3, requires_grad=True)\n        self.linear = nn.Linear(3, 3)\n"
        "    def extra(self):\n        return [self.scale]",
        "        self.scale = torch.zeros(3, requires_grad=True)  # <- GL313\n        self.linear = nn.Linear(3, 3)\n"
        "    def extra(self):\n        return [self.linear]",
        "Head()",
    ),
    "a coroutine that gets its losses": Form(
        """
net = nn.Linear(2, 1)
def trainer(opt):
    value = None
    while True:
        loss = yield value
        opt.zero_grad()
        loss.backward()
        opt.step()
steps = trainer(torch.optim.SGD(net.parameters(), lr=0.1))
next(steps)
for x in torch.ones(3, 4, 2):
    steps.send(net(x).sum())
""",
        "        opt.zero_grad()\n        loss.backward()\n",
        "        loss.backward()  # <- GL401\n",
    ),
    "gradients that a hook clears after each step": Form(
        """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def after(optimizer, args, kwargs):
    optimizer.zero_grad()
opt.register_step_post_hook(after)
for x in torch.ones(3, 4, 2):
    net(x).sum().backward()
    opt.step()
""",
        "opt.register_step_post_hook(after)\nfor x in torch.ones(3, 4, 2):\n    net(x).sum().backward()\n    opt.step()",
        "opt.register_step_pre_hook(after)\nfor x in torch.ones(3, 4, 2):\n    net(x).sum().backward()\n"
        "    opt.step()  # <- GL402",
    ),
    "a pass that stores the gradients of results": Form(
        """
w = torch.ones(2, requires_grad=True)
mid = w * 2
mid.square().sum().backward(inputs=[mid])
print(mid.grad.norm())
""",
        "backward(inputs=[mid])\nprint(mid.grad.norm())",
        "backward(inputs=[w])\nprint(mid.grad.norm())  # <- GL302",
    ),
    "gradients that are handed over below the surface": Form(
        """
net, other = nn.Linear(2, 1), nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.ones(3, 4, 2):
    other.zero_grad()
    other(x).sum().backward()
    for p, q in zip(net.parameters(), other.parameters()):
        p._grad = q.grad
    opt.step()
    other.load_state_dict(net.state_dict())
""",
        "        p._grad = q.grad\n    opt.step()",
        "        p.shared = q.grad\n    opt.step()  # <- GL404",
    ),
    "a pass for what windows have left over": Form(
        """
def train(net, xs, steps, window):
    h, count = torch.zeros(1, 1), 0
    for i in range(steps):
        if count == 0:
            loss = 0
        h = net(xs[i], h)
        loss = loss + h.sum()
        count += 1
        if count == window:
            loss.backward()
            h, count = h.detach(), 0
    if steps % window:
        loss.backward()
""",
        "    if steps % window:\n        loss.backward()",
        "    loss.backward()  # <- GL101",
        "train(nn.RNNCell(1, 1), torch.ones(5, 1, 1), 5, 2)\ntrain(nn.RNNCell(1, 1), torch.ones(4, 1, 1), 4, 2)",
    ),
    "a critic that only judges": Form(
        """
net, critic = nn.Linear(3, 3), nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.ones(5, 4, 3):
    opt.zero_grad()
    critic(net(x)).sum().backward()
    opt.step()
""",
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor x in torch.ones(5, 4, 3):\n    opt.zero_grad()\n"
        "    critic(net(x)).sum().backward()",
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)  # <- GL319\nfor x in torch.ones(5, 4, 3):\n"
        "    opt.zero_grad()\n    (net(x).sum() + critic(x).sum()).backward()",
    ),
    "one of two results in a table": Form(
        """
def check(x, flag):
    net = nn.Linear(2, 1)
    losses = {}
    if flag:
        losses["first"] = net(x).sum()
        losses["first"].backward()
    losses["total"] = net(x).sum()
    losses["total"].backward()
    return losses["total"].item()
""",
        'losses["total"].backward()\n    return losses["total"].item()',
        'kept = losses["total"].exp()\n    kept.backward()\n    kept.backward()  # <- GL101',
        "check(torch.ones(3, 2), True)\ncheck(torch.ones(3, 2), False)",
    ),
    "a list that each round empties": Form(
        """
net = nn.Linear(2, 1)
log_probs = []
x = torch.ones(3, 2)
for _ in range(5):
    for _ in range(9):
        log_probs.append(net(x).sum())
    log_probs.clear()
""",
        "        log_probs.append(net(x).sum())\n    log_probs.clear()",
        "        log_probs.append(net(x).sum())  # <- GL602",
    ),
    "a sum of a few steps": Form(
        """
net = nn.Linear(2, 1)
for x in torch.ones(3, 4, 2):
    total = 0
    for t in range(3):
        total = total + net(x[t]).sum()
    print(total.item())
""",
        "for x in torch.ones(3, 4, 2):\n    total = 0\n    for t in range(3):\n"
        "        total = total + net(x[t]).sum()\n    print(total.item())",
        "total = 0\nfor x in torch.ones(3, 4, 2):\n    total = total + net(x[0]).sum()  # <- GL601\nprint(total.item())",
    ),
    "a module that a text names": Form(
        """
name = "nn.Linear"
net = eval(name)(1, 1)
net(torch.ones(1, 1)).sum().backward()
""",
        "net(torch.ones(1, 1)).sum().backward()",
        "net(torch.ones(1, 1)).detach().sum().backward()  # <- GL501",
    ),
}


def marked(program: str) -> list[tuple[int, str]]:
    rows = enumerate((HEAD + program).splitlines(), 1)
    return [(row, line.rpartition(" ")[2]) for row, line in rows if "# <- " in line]


@each(FORMS)
def test_a_right_form_is_not_reported(program: Form) -> None:
    assert happened(HEAD + program.right + program.run) == (None, "")
    assert findings(HEAD + program.right) == []


@each(FORMS)
def test_a_wrong_form_is_reported(program: Form) -> None:
    assert program.right.count(program.old) == 1
    wrong = program.right.replace(program.old, program.new)
    assert findings(HEAD + wrong) == marked(wrong)
