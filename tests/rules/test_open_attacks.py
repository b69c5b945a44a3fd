"""Inputs that code makes leaves, and what it differentiates, with a model of which nothing is in sight."""

from __future__ import annotations

from tests.cases import each
from tests.open_programs import HEAD, Open, check_open

OPEN = {
    "the gradient of a copy that does not require one": Open(
        HEAD
        + """
class Attack:
    def __init__(self, model, steps=3):
        self.model, self.steps = model, steps

    def __call__(self, images, labels):
        changed = images.clone().detach()
        for _ in range(self.steps):
            loss = F.cross_entropy(self.model(changed), labels)
            slope = torch.autograd.grad(loss, changed)[0]  # <- GL801
            changed = changed.detach() + 0.1 * slope.sign()
        return changed
""",
        "            loss = F",
        "            changed.requires_grad_()\n            loss = F",
        "Attack(nn.Linear(3, 2))(torch.ones(4, 3), torch.zeros(4, dtype=torch.long))",
        assumes=("`model` has parameters that require a gradient",),
    ),
    "an input is changed in place where gradients are recorded": Open(
        HEAD
        + """
def attack(model, x, y, steps=3):
    changed = x.clone().detach().requires_grad_(True)
    for _ in range(steps):
        F.cross_entropy(model(changed), y).backward()
        changed += 0.1 * changed.grad.sign()  # <- GL301
        changed.grad.zero_()
    return changed
""",
        "        changed += 0.1 * changed.grad.sign()",
        "        with torch.no_grad():\n            changed += 0.1 * changed.grad.sign()",
        "attack(nn.Linear(3, 2), torch.ones(4, 3), torch.zeros(4, dtype=torch.long))",
    ),
    "what was differentiated is given to NumPy": Open(
        HEAD
        + """
def train(model, batches, optimizer):
    shown = []
    for x, y in batches:
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        shown.append(loss.numpy())  # <- GL502
    return shown
""",
        "loss.numpy()",
        "loss.detach().numpy()",
        "net = nn.Linear(3, 1)\ntrain(net, [(torch.ones(2, 3), torch.ones(2, 1))], torch.optim.SGD(net.parameters()))",
    ),
    "a block writes to what the exponential of its negated input saved": Open(
        HEAD
        + """
class Balance(nn.Module):
    def forward(self, costs):
        plan = torch.exp(-costs)
        plan /= plan.sum(dim=1, keepdim=True)  # <- GL201
        return plan

class Match(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Linear(width, width)
        self.balance = Balance()

    def forward(self, x):
        return self.balance(self.embed(x))
""",
        "plan /= plan.sum(dim=1, keepdim=True)",
        "plan = plan / plan.sum(dim=1, keepdim=True)",
        "Match(3)(torch.ones(2, 3)).sum().backward()",
        ("`costs` requires a gradient",),
    ),
}


@each(OPEN)
def test_the_mistake_is_found_and_pytorch_agrees(program: Open) -> None:
    check_open(program)
