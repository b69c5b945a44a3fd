"""Gradients that a step has applied, and that the next backward adds to."""

from __future__ import annotations

import pytest

from tests.cases import HEAD, TRAINING, Mistake, check_agreement, check_correction, check_mistake, each
from tests.open_programs import told
from tests.running import RULES, Analysis, check_source, events

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "gradients accumulated over four iterations": """
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
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


def accumulations(program: str) -> list[int]:
    """The rows of backward calls that add to gradients which a step has used."""
    analysis = Analysis(program)
    return analysis.rows("AppliedAgain")


LOOP = """
import torch
from torch import nn
def train(model, loader, optimizer):
    for x, y in loader:
        {first}
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
{helper}
model = nn.Linear(2, 1)
train(model, torch.utils.data.DataLoader([]), torch.optim.SGD(model.parameters(), lr=0.1))
"""


@pytest.mark.parametrize(
    ("first", "helper", "lines"),
    [
        ("pass", "", [8]),
        ("optimizer.zero_grad()", "", []),
        ("model.zero_grad(set_to_none=True)", "", []),
        ("clear(model)", "def clear(m):\n    for p in m.parameters():\n        p.grad = None\n", []),
        ("unknown_library_call(optimizer)", "from somewhere import unknown_library_call\n", []),
    ],
    ids=["never", "optimizer", "module", "helper", "unknown callee"],
)
def test_gradients_are_cleared_in_many_ways(first: str, helper: str, lines: list[int]) -> None:
    """Only the loop that certainly never clears is one that accumulates."""
    source = LOOP.format(first=first, helper="")
    head, _, tail = source.partition("def train")
    assert accumulations(f"{head}{helper}def train{tail}") == [n + helper.count("\n") for n in lines]


@pytest.mark.parametrize(
    ("guard", "count"), [("i % 4 == 3", 1), ("full", 1), ("i > 3", 0), ("i % 4 == 3 or True", 0)]
)
def test_a_window_is_discarded_under_a_modulo_test(guard: str, count: int) -> None:
    body = f"""
for i, x in enumerate(unknown()):
    opt.zero_grad()
    full = i % 4 == 0
    net(torch.ones(2)).sum().backward()
    if {guard}:
        opt.step()
"""
    assert len(events(TRAINING + body, "WindowDiscarded")) == count


@pytest.mark.parametrize(
    ("test", "condition"), [("(i + 1) % 4", "not ((i + 1) % 4)"), ("not (i % 4 == 3)", "i % 4 == 3")]
)
def test_a_step_under_an_else_waits_for_the_contrary(test: str, condition: str) -> None:
    body = f"""
for i, x in enumerate(unknown()):
    opt.zero_grad()
    net(torch.ones(2)).sum().backward()
    if {test}:
        print(i)
    else:
        opt.step()
"""
    assert [event.condition for event in events(TRAINING + body, "WindowDiscarded")] == [condition]


def test_gradients_that_are_cleared_where_the_window_begins_are_not_discarded() -> None:
    body = """
for i, x in enumerate(unknown()):
    if i % 4:
        pass
    else:
        opt.zero_grad()
    net(torch.ones(2)).sum().backward()
    if i % 4:
        opt.step()
"""
    assert not events(TRAINING + body, "WindowDiscarded")


# Silent mistakes, and what corrects them.
MISTAKES = {
    "gradients that are cleared in each iteration of a window": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1, bias=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(4):
    optimizer.zero_grad()  # <- GL405 WindowDiscarded
    net(torch.ones(1, 2)).sum().backward()
    if (i + 1) % 4 == 0:
        size = float(net.weight.grad[0, 0])
        optimizer.step()
symptom = size < 4
""",
        """    optimizer.zero_grad()  # <- GL405 WindowDiscarded
    net(torch.ones(1, 2)).sum().backward()
    if (i + 1) % 4 == 0:
        size = float(net.weight.grad[0, 0])
        optimizer.step()
""",
        """    net(torch.ones(1, 2)).sum().backward()
    if (i + 1) % 4 == 0:
        size = float(net.weight.grad[0, 0])
        optimizer.step()
        optimizer.zero_grad()
""",
    ),
    "gradients that nothing clears": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1, bias=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    net(torch.ones(1, 2)).sum().backward()  # <- GL401
    optimizer.step()
symptom = float(net.weight.grad[0, 0]) == 3
""",
        "for _ in range(3):\n",
        "for _ in range(3):\n    optimizer.zero_grad()\n",
    ),
    "a step in a method that a loop calls finds no gradients": Mistake(
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
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


DEEP = """
import torch
from torch import nn
def train(loader):
    net = nn.Sequential(*[nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)) for _ in range(3)])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in loader:
        for {row} in net.{which}:
            p.grad = None
        net(x).sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("row", "which", "lines"),
    [
        ("p", "parameters()", []),
        ("_, p", "named_parameters()", []),
        ("p", "[0].parameters()", [10]),
    ],
)
def test_all_parameters_of_a_deep_model_are_cleared_one_by_one(
    row: str, which: str, lines: list[int]
) -> None:
    source = DEEP.format(row=row, which=which).replace("net.[0]", "net[0]")
    assert accumulations(source) == lines


LOOKED_AT = """
import utils
model = nn.Linear(3, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train(loader):
    for x, y in loader:
        {calls}
        loss.backward()
        {then}
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("calls", "then", "expected"),
    [
        ("loss = utils.compute_loss(model, x, y)", "pass", ["GL401"]),
        ("loss = model(x).sum()", "utils.clip_gradient(model, 5)", ["GL401"]),
        ("loss = model(x).sum()", "utils.save_checkpoint(model)", ["GL401"]),
        ("loss = utils.train_step(model, x, y)", "pass", []),
        ("loss = utils.zero_grad_and_loss(model, x, y)", "pass", []),
        ("utils.prepare(model); loss = model(x).sum()", "pass", []),
    ],
)
def test_functions_that_look_at_a_module_are_expected_to_clear_nothing(
    calls: str, then: str, expected: list[str]
) -> None:
    found = told(HEAD + LOOKED_AT.format(calls=calls, then=then))
    assert [finding.code for finding in found] == expected
    assert all(any("clears no gradients" in text for text in finding.assumes) for finding in found)


IN_TEST = """
import torch
def test_training(loader):
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    {head}
        net(x).sum().backward()
        optimizer.step()
    {then}
"""


@pytest.mark.parametrize(
    ("filename", "head", "expected"),
    [
        ("test_net.py", "for x in loader:", []),
        ("test_net.py", "for x in [torch.ones(1, 2)] * 3:", []),
        ("test_net.py", "for x in (torch.ones(1, 2) for _ in range(3)):", ["GL401"]),
        ("net.py", "for x in loader:", ["GL401"]),
    ],
)
def test_a_loop_over_the_data_of_a_test_may_run_once(filename: str, head: str, expected: list[str]) -> None:
    program = IN_TEST.format(head=head, then="assert net.weight.isfinite().all()")
    assert [finding.code for finding in check_source(program, filename, RULES)] == expected


def test_nobody_uses_what_a_test_trains_that_checks_nothing() -> None:
    program = IN_TEST.format(head="for x in [torch.ones(1, 2) for _ in range(3)]:", then="{then}")
    checked = program.replace("{then}", "assert net.weight.isfinite().all()")
    assert [finding.code for finding in check_source(checked, "test_net.py", RULES)] == ["GL401"]
    assert check_source(program.replace("{then}", ""), "test_net.py", RULES) == []


MEASURED = """
import time
import torch

def measure(net, x):
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    start = {clock}
    for _ in range(100):
        loss = net(x).sum()
        loss.backward()
        optimizer.step()
    print("one round takes", ({clock} - start) / 100)
    {then}
"""


@pytest.mark.parametrize(
    ("clock", "then", "expected"),
    [
        ("time.time()", "", []),
        ("time.perf_counter()", "", []),
        ("torch.cuda.max_memory_allocated()", "", []),
        ("time.time()", "print(loss)", ["GL401"]),
        ("time.time()", "torch.save(net.state_dict(), 'net.pt')", ["GL401"]),
        ("time.time()", "return net", ["GL401"]),
        ("0", "", ["GL401"]),
    ],
)
def test_nobody_uses_what_a_function_trains_that_only_measures(
    clock: str, then: str, expected: list[str]
) -> None:
    found = check_source(MEASURED.format(clock=clock, then=then), "speed.py", RULES)
    assert [finding.code for finding in found] == expected


@pytest.mark.parametrize(("clears", "expected"), [("model.zero_grad()", []), ("pass", ["GL401"])])
def test_what_an_attack_adds_to_the_weights_of_an_optimizer_is_no_step(
    clears: str, expected: list[str]
) -> None:
    """Adversarial training adds the gradients at disturbed weights to the others, for one step."""
    program = f"""
import torch
class Attack:
    def __init__(self, model):
        self.model = model
        self.kept = {{}}
    def attack(self):
        for name, param in self.model.named_parameters():
            self.kept[name] = param.data.clone()
            param.data.add_(param.grad / torch.norm(param.grad))
    def restore(self):
        for name, param in self.model.named_parameters():
            param.data = self.kept[name]
def train(loader, model):
    optimizer = torch.optim.AdamW(model.parameters())
    attack = Attack(model)
    for inputs in loader:
        {clears}
        model(inputs).sum().backward()
        attack.attack()
        model(inputs).sum().backward()
        attack.restore()
        optimizer.step()
model = torch.nn.Linear(2, 1)
train([torch.ones(4, 2)] * 3, model)
"""
    exec(program, {})
    assert sorted({finding.code for finding in told(program)}) == expected
    opened = program.replace("model = torch.nn.Linear(2, 1)\ntrain([torch.ones(4, 2)] * 3, model)\n", "")
    assert sorted({finding.code for finding in told(opened)}) == expected
