"""Values that are kept with their graphs and that no backward uses."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.cases import HEAD, Mistake, check_correction, check_mistake, check_right, each
from tests.open_programs import HEAD as OPEN
from tests.open_programs import told
from tests.running import RULES, events, findings

# Right programs.
RIGHT = {
    "losses of one forward keep one graph": """
import torch
from torch import nn
net, head = nn.Linear(2, 2), nn.Linear(2, 1)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
for x in torch.rand(3, 4, 2):
    hidden, losses = net(x), []
    for scale in (1, 2):
        losses.append(head(hidden * scale).mean())
    optimizer.zero_grad()
    sum(losses).backward()
    optimizer.step()
""",
    "a sum that one caller shows and a module's caller back-propagates": """
import torch
from torch import nn
def total(w, steps=3):
    out = torch.zeros(())
    for _ in range(steps):
        out = out + w.exp().sum()
    return out
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
    def forward(self):
        return total(self.w)
net = Net()
print(total(net.w * 2).item())
net().backward()
""",
    "the losses of one forward are collected to be shown": """
import torch
from torch import nn
from torch.nn import functional as F

net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)

def parts(out, x):
    losses = []
    for scale in (1.0, 0.5, 0.25):
        losses.append(F.l1_loss(out * scale, x))
    return losses

for _ in range(3):
    x = torch.rand(4, 3)
    out = net(x)
    print([part.item() for part in parts(out, x)])
    loss = (out - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
}


def kept(container: str, keeping: str) -> Mistake:
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
    return Mistake(HEAD + program, keeping, keeping.replace("loss", "loss.item()"))


# Silent mistakes, and what corrects them.
MISTAKES = {
    "losses are kept under their steps": kept("{}", "history[step] = loss"),
    "losses are kept in places of a list": kept("[0.0] * 3", "history[step] = loss"),
    "a list is extended by a loss": kept("[]", "history += [loss]"),
    "a running total of losses": Mistake(
        HEAD
        + """
model = nn.Linear(3, 1)
total = 0.0
for step in range(3):
    loss = model(torch.ones(2, 3)).pow(2).mean()
    loss.backward()
    model.zero_grad()
    total += loss  # <- GL601 GraphKept
symptom = total.requires_grad if torch.is_tensor(total) else False
""",
        "total += loss",
        "total += loss.item()",
    ),
    "the last loss in an attribute": Mistake(
        HEAD
        + """
class Trainer:
    def __init__(self, model):
        self.model = model
        self.history = torch.zeros(())

    def train(self, x):
        loss = self.model(x).pow(2).mean()
        loss.backward()
        self.model.zero_grad()
        self.history = self.history + loss  # <- GL603 GraphKept

trainer = Trainer(nn.Linear(3, 1))
for _ in range(3):
    trainer.train(torch.ones(2, 3))
symptom = trainer.history.requires_grad
""",
        "self.history + loss",
        "self.history + loss.detach()",
    ),
}


@pytest.mark.parametrize(
    ("filename", "function", "expected"),
    [
        ("test_losses.py", "test_sum", []),
        ("test_losses.py", "evaluate", ["GL601"]),
        ("losses.py", "test_sum", ["GL601"]),
    ],
)
def test_what_a_test_keeps_concerns_nobody(filename: str, function: str, expected: list[str]) -> None:
    program = f"""
import torch
w = torch.ones(2, requires_grad=True)
def {function}():
    return 0
total = torch.zeros(())
for _ in range(3):
    total = total + w.exp().sum()
print(total.item())
"""
    assert [finding.code for finding in check_source(program, filename, RULES)] == expected


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


LOOP = """
    for x in torch.rand(3, 2):
        loss = net(x).sum()
        {between}
        {keeping}
"""
OWN = "def train():\n    {start}"
START = "kept, total = [], 0"


def _kept(owner: str, between: str, keeping: str) -> int:
    head = f"import torch\nnet = torch.nn.Linear(2, 1)\n{START}\n{owner.format(start=START)}"
    return len(
        {
            id(kept.site.node)
            for kept in events(head + LOOP.format(between=between, keeping=keeping), "GraphKept")
        }
    )


@pytest.mark.parametrize(
    "keeping", ["kept.append(loss)", "kept += [loss]", "total = total + loss", "total += loss"]
)
@pytest.mark.parametrize("owner", ["if True:", OWN])
def test_a_function_that_nothing_calls_keeps_what_is_its_own(keeping: str, owner: str) -> None:
    assert _kept(owner, "loss.backward()", keeping) == 1


@pytest.mark.parametrize(
    ("keeping", "between", "count"),
    [
        ("kept.append(loss)", "loss.backward()", 1),
        ("kept.append(loss)", "loss.backward(retain_graph=True)", 0),
        ("kept.append(loss)", "pass", 0),
        ("total += loss", "loss.backward()", 1),
        ("total += loss", "pass", 0),
    ],
)
def test_others_may_use_what_is_not_differentiated_yet(keeping: str, between: str, count: int) -> None:
    """Who else uses a variable of the module is known only where its body runs."""
    assert _kept("def train():\n    global kept, total", between, keeping) == count


CALLER = """
import torch
def train(model, loader, optimizer, history):
    total, losses = 0.0, []
    for x in loader:
        loss = model(x).sum()
        optimizer.zero_grad()
        {before}
        loss.backward()
        optimizer.step()
        {after}
    return {result}
"""


@pytest.mark.parametrize(
    ("before", "after", "result", "line"),
    [
        ("pass", "total += loss", "total / len(loader)", 11),
        ("pass", "losses.append(loss)", "losses", 11),
        ("pass", "losses.append(loss)", "sum(losses)", 11),
        ("losses.append(loss)", "pass", "losses", 8),
        ("pass", "total += loss.item()", "total", 0),
        ("pass", "losses.append(loss.detach())", "losses", 0),
    ],
)
def test_what_was_differentiated_is_not_used_by_who_gets_it(
    before: str, after: str, result: str, line: int
) -> None:
    program = CALLER.format(before=before, after=after, result=result)
    assert [at for at, code in findings(program) if code.startswith("GL6")] == [line] * bool(line)


HANDED_OUT = """
import torch
from torch import nn
def train(loader):
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses, total = [], torch.zeros(())
    for x in loader:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
        {keep}
    {end}
"""


@pytest.mark.parametrize(
    ("keep", "result", "code"),
    [
        ("losses.append(net(x).sum())", "losses", "GL602"),
        ("total = total + net(x).sum()", "total", "GL601"),
    ],
)
def test_losses_that_are_handed_out_are_for_the_caller_to_differentiate(
    keep: str, result: str, code: str
) -> None:
    assert findings(HANDED_OUT.format(keep=keep, end=f"return {result}")) == []
    assert findings(HANDED_OUT.format(keep=keep, end=f"print({result})")) == [(12, code)]


def test_losses_that_are_differentiated_as_numbers_were_not_kept_to_be_shown() -> None:
    """The mistake is that their graphs are cut off, not that they are kept."""
    program = """
import torch
net = torch.nn.Linear(2, 1)
losses = []
for x in torch.rand(3, 4, 2):
    losses.append(net(x).mean())
loss = torch.tensor(losses).sum()
{use}
"""
    assert findings(program.format(use="loss.backward()")) == [(8, "GL501")]
    assert findings(program.format(use="print(loss)")) == [(6, "GL602")]


def test_losses_that_are_taken_out_of_a_list_again_are_used() -> None:
    program = """
import torch
def train(model, loader, optimizer):
    losses = []
    for x in loader:
        losses.append(model(x).sum())
    optimizer.zero_grad()
    for loss in losses:
        loss.backward()
    optimizer.step()
"""
    assert findings(program) == []


def test_a_loss_that_is_read_out_of_a_result_is_a_number_once_it_is_differentiated() -> None:
    source = (
        OPEN
        + """
def train(model, optimizer, loader):
    total = 0
    for batch in loader:
        loss = model(**batch)["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss
    return total / len(loader)
"""
    )
    assert [finding.code for finding in told(source)] == ["GL601"]
    assert told(source.replace("total += loss", "total += loss.item()")) == []


def test_what_is_divided_before_it_is_differentiated_is_a_number_too() -> None:
    source = (
        OPEN
        + """
class Trainer:
    def __init__(self, model, optimizer, every):
        self.model, self.optimizer, self.every = model, optimizer, every

    def train(self, loader):
        total = 0
        for batch in loader:
            total += self.update(batch)
        print(total)

    def update(self, batch):
        loss = self.model(batch) / batch.size
        (loss / self.every).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss
"""
    )
    assert [finding.code for finding in told(source)] == ["GL601"]
    assert told(source.replace("return loss", "return loss.item()")) == []


STEPS = (
    OPEN
    + """
class Meter:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.total = 0.0

    def train(self, loader, name):
        totals = {}
        for batch in loader:
            loss = self.model(batch).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            %s
        print(totals)
"""
)


@pytest.mark.parametrize(
    "keeping",
    [
        "self.total += {0}",
        "self.total = 0.9 * self.total + 0.1 * {0}",
        'totals["loss"] = totals.get("loss", 0) + {0}',
        "totals[name] = (totals[name] if name in totals else 0) + {0}",
    ],
)
def test_what_backward_has_freed_may_be_in_an_attribute_that_others_see(keeping: str) -> None:
    assert [finding.code for finding in told(STEPS % keeping.format("loss"))] == ["GL603"]
    assert told(STEPS % keeping.format("loss.item()")) == []


def test_what_an_attribute_adds_up_may_be_differentiated_by_others() -> None:
    source = (
        OPEN
        + """
class Losses:
    def __init__(self, model):
        self.model, self.total = model, 0.0

    def add(self, batches):
        for batch in batches:
            self.total += self.model(batch).mean()
"""
    )
    assert told(source) == []


METER = """
import torch

class Meter:
    def __init__(self):
        self.losses, self.total = [], torch.tensor(0.0)

    def update(self, loss):
        {keeps}

def train(net, criterion, loader, optimizer):
    meter = Meter()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        meter.update(loss)
    print(meter.total)
"""


@pytest.mark.parametrize("keeps", ["self.losses.append(loss)", "self.total += loss"])
def test_the_trace_tells_who_hands_over_what_is_kept(keeps: str) -> None:
    (found,) = told(METER.format(keeps=keeps))
    assert found.location.start.row == 9
    assert [step.location.start.row for step in found.trace] == [18]
    assert (
        told(METER.format(keeps=keeps).replace("update(loss)\n    print", "update(loss.detach())\n    print"))
        == []
    )
