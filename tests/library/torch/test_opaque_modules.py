"""Modules and criteria of which only the role is known: what they return has a graph through the parameters."""

from __future__ import annotations

import pytest

from gradcheck_tool.domain.values import NONE, Const, Symbol
from gradcheck_tool.interp.api import Call
from gradcheck_tool.library.torch.opaque_modules import computes
from tests.cases import each
from tests.open_programs import HEAD, Open, check_open, told

TRAIN = HEAD + "def train(model, criterion, optimizer, x, y):\n"


def codes(body: str) -> list[str]:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return [finding.code for finding in told(TRAIN + lines)]


STEP = "\noptimizer.zero_grad()\nloss.backward()\noptimizer.step()"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"loss = criterion(model(x), y){STEP}", []),
        (f"loss = criterion(model(x).logits, y){STEP}", []),
        (f"loss = criterion(model(x), y){STEP}\nloss.backward()", ["GL101"]),
        (f"loss = model(x).loss{STEP}\nloss.backward()", ["GL101"]),
        (f"with torch.no_grad():\n    out = model(x)\nloss = criterion(out, y){STEP}", ["GL501"]),
    ],
)
def test_what_a_module_returns_has_a_graph(body: str, expected: list[str]) -> None:
    assert sorted(set(codes(body))) == expected


def test_a_list_that_holds_itself_is_looked_through_once() -> None:
    assert codes(
        f"rows = [x]\nrows.append(rows)\nloss = criterion(model(rows), y){STEP}\nloss.backward()"
    ) == ["GL101"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("torch.cat(x)[torch.randperm(9)]", []),
        ("model.embed(x)", ["GL102"]),
    ],
)
def test_only_what_certainly_has_a_graph_carries_it_into_a_module(data: str, expected: list[str]) -> None:
    loop = (
        "    loss = model(data).sum()\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()"
    )
    assert codes(f"data = {data}\nfor epoch in range(9):\n{loop}") == expected


STEPS = {
    "the smaller of what two modules return": Open(
        HEAD
        + """
class Learner:
    def __init__(self, actor, first, second):
        self.actor, self.first, self.second = actor, first, second
        self.actor_optimizer = torch.optim.Adam(actor.parameters())
        self.critic_optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()])

    def learn(self, states, targets):
        actions = self.actor(states)
        actor_loss = -torch.min(self.first(actions), self.second(actions)).mean()
        critic_loss = F.mse_loss(self.first(states), targets)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()  # <- GL202
        self.actor_optimizer.step()
""",
        """        self.critic_optimizer.step()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()  # <- GL202
""",
        """        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.critic_optimizer.step()
""",
        """
actor, first, second = (nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)) for _ in range(3))
Learner(actor, first, second).learn(torch.ones(2, 3), torch.ones(2, 3))
""",
    ),
    "a part of what a module returns": Open(
        HEAD
        + """
class Learner:
    def __init__(self, model):
        self.model = model
        self.judge = nn.Linear(3, 2)
        self.optimizer = torch.optim.Adam(model.parameters())
        self.judge_optimizer = torch.optim.Adam(self.judge.parameters())

    def learn(self, data):
        copy, latent = self.model(data)
        score = self.judge(latent)
        loss = F.mse_loss(copy, data) + score[:, 0].mean()
        self.optimizer.zero_grad()
        loss.backward(retain_graph=True)
        self.optimizer.step()
        judge_loss = score.pow(2).mean()
        self.judge_optimizer.zero_grad()
        judge_loss.backward()  # <- GL202
        self.judge_optimizer.step()
""",
        "judge_loss = score",
        "judge_loss = self.judge(latent.detach())",
        """
class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        latent = self.second(self.first(x).exp())
        return latent * 2, latent

Learner(Coder()).learn(torch.ones(2, 3))
""",
    ),
}


PENALTY = Open(
    HEAD
    + """
class Learner:
    def __init__(self, make):
        self.network = make(3)
        self.optimizer = torch.optim.Adam(self.network.parameters())

    def update(self, batches):
        losses = [F.mse_loss(self.network(x), y) for x, y in batches]
        loss = sum(losses) / len(losses)
        grads = torch.autograd.grad(loss, self.network.parameters(), retain_graph=True)  # <- GL803
        penalty = sum(grad.pow(2).sum() for grad in grads)
        self.optimizer.zero_grad()
        (loss + 0.5 * penalty).backward()
        self.optimizer.step()
        self.penalty = penalty
""",
    "retain_graph=True",
    "create_graph=True",
    """
learner = Learner(lambda width: nn.Linear(width, width))
learner.update([(torch.ones(2, 3), torch.zeros(2, 3))])
learner.penalty.register_hook(print)
""",
)


def test_gradients_of_all_parameters_are_constants_without_create_graph() -> None:
    check_open(PENALTY)


@each(STEPS)
def test_a_step_changes_what_a_result_was_computed_with(program: Open) -> None:
    check_open(program)


@pytest.mark.parametrize(("grad", "expected"), [("", ["GL102"]), (".detach()", [])])
def test_what_a_distribution_gives_belongs_to_the_graph_of_its_policy(grad: str, expected: list[str]) -> None:
    old, new = f"model(x).log_prob(y){grad}", "model(x).log_prob(y)"
    loop = f"    ratio = ({new} - old).exp()\n    optimizer.zero_grad()\n    ratio.sum().backward()\n    optimizer.step()"
    assert codes(f"old = {old}\nfor _ in range(4):\n{loop}") == expected


def test_a_part_that_is_carried_over_brings_a_graph_that_is_freed() -> None:
    loop = "    out, state = model(x, state)\n    optimizer.zero_grad()\n    out.sum().backward()\n    optimizer.step()"
    assert codes(f"state = None\nfor x in y:\n{loop}") == ["GL102"]


def test_parts_of_an_output_are_differentiated_on_their_own() -> None:
    both = "out = model(x)\nout.generator_loss.backward()\nout.discriminator_loss.backward()\n"
    assert "GL101" not in codes(both + "optimizer.step()\noptimizer.zero_grad()")


@pytest.mark.parametrize(
    ("name", "is_given", "expected"),
    [
        ("encode", True, True),
        ("get_action_logits", True, False),
        ("get_loss_for_batch", True, True),
        ("get_loss_weights", True, False),
        ("log_prob", True, True),
        ("predict_noise", True, True),
        ("save_features", True, False),
        ("encode", False, False),
        ("update_actor", True, False),
        ("summary", True, False),
    ],
)
def test_methods_compute_by_their_names_and_arguments(name: str, is_given: bool, expected: bool) -> None:
    given = Symbol(1) if is_given else Const(3)
    assert computes(name, Call(NONE, [given], {}, None, name)) is expected


ADVERSARIAL = """
def train(data):
    model = elsewhere.Adversarial()
    optimizer = torch.optim.Adam(model.parameters())
    optimizer.zero_grad()
    z = model.encode(data.x)
    for _ in range(5):
        loss = {loss}
        loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("loss", "expected"), [("model.discriminator_loss(z)", []), ("z.pow(2).mean()", ["GL102"])]
)
def test_a_method_may_detach_what_it_is_given(loss: str, expected: list[str]) -> None:
    found = told(f"import elsewhere\n{HEAD}{ADVERSARIAL.format(loss=loss)}")
    assert [finding.code for finding in found] == expected
    told_of = "`model.encode` computes with the parameters of `model`"
    assert all(told_of in finding.assumes for finding in found)


INPUT_PENALTY = """
class Trainer:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer

    def step(self, data):
        x = data["image"].to(self.device)
        {before}
        score = self.net(x).sum()
        (slope,) = torch.autograd.grad(score, x, create_graph=True)
        self.optimizer.zero_grad()
        slope.pow(2).sum().backward()
        self.optimizer.step()
"""


@pytest.mark.parametrize(("before", "expected"), [("x.requires_grad_()", []), ("pass", ["GL801"])])
def test_data_may_be_made_to_require_a_gradient(before: str, expected: list[str]) -> None:
    found = told(HEAD + INPUT_PENALTY.format(before=before))
    assert [finding.code for finding in found] == expected
    assert all("``" not in finding.message for finding in found)


FUNCTION = (
    HEAD
    + """
def attack(model_fn, x, classes):
    x = x.clone().detach().requires_grad_(True)
    logits = model_fn(x)
    logits[:, 0].sum().backward(retain_graph=True)
    for k in range(classes):
        x.grad.zero_()
        logits[:, k].sum().backward({how})
"""
)


@pytest.mark.parametrize(("how", "expected"), [("", ["GL102"]), ("retain_graph=True", [])])
def test_a_model_that_is_given_as_a_function_saves_what_its_backward_needs(
    how: str, expected: list[str]
) -> None:
    found = told(FUNCTION.format(how=how))
    assert [finding.code for finding in found] == expected
    told_of = "`model_fn` is a model, which saves what its backward needs"
    assert all(told_of in finding.assumes for finding in found)


@pytest.mark.parametrize("called", ["model_fn(y)", "prepare(x)", "model_fn(x)[0]"])
def test_of_other_calls_nothing_is_known(called: str) -> None:
    """A function that gets no gradients, one that may do anything, and parts that need not share a graph."""
    first, second = (called, called.replace("[0]", "[1]")) if "[" in called else (called, called)
    program = (
        HEAD
        + f"""
def attack(model_fn, prepare, x, y):
    x = x.clone().detach().requires_grad_(True)
    out = {called.partition("[")[0]}
    {first.replace(called.partition("[")[0], "out")}.sum().backward()
    {second.replace(called.partition("[")[0], "out")}.sum().backward()
"""
    )
    assert [finding.code for finding in told(program)] == []


@pytest.mark.parametrize("given", ["(kinds, x)", "[x, kinds]", '{"x": x}'])
def test_what_containers_hold_is_given_to_a_module(given: str) -> None:
    program = (
        HEAD
        + f"""
class Calculator:
    def __init__(self, model):
        self.model = model
        self.device = next(model.parameters()).device

    def calculate(self, kinds, x):
        x = torch.tensor(x).requires_grad_(True)
        scale = torch.eye(3, requires_grad=True)
        x = x @ scale
        energy = self.model({given}).energy
        forces = torch.autograd.grad(energy.squeeze(), x)[0]
        return forces, torch.autograd.grad(energy.squeeze(), scale)[0]
"""
    )
    assert [finding.code for finding in told(program)] == ["GL101"]


FORCES = (
    HEAD
    + """
def train(model, optimizer, loader, criterion):
    for data in loader:
        optimizer.zero_grad()
        out = model(data)
        force = -torch.autograd.grad(out, {what}, torch.ones_like(out), create_graph=True)[0]
        criterion(force, data.force).backward()
        optimizer.step()
"""
)


def test_a_module_may_ask_for_gradients_of_what_it_finds_in_its_data() -> None:
    assert told(FORCES.format(what="data.positions")) == []
    assert [finding.code for finding in told(FORCES.format(what="data"))] == ["GL801"]


CARRIED = (
    HEAD
    + """
def train(model, optimizer, loader, state):
    for data in loader:
        loss, state = model(data, {name}=state)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""
)


def test_what_a_module_logs_to_is_no_state_of_it() -> None:
    assert told(CARRIED.format(name="records")) == []
    assert [finding.code for finding in told(CARRIED.format(name="hidden"))] == ["GL102"]


FROZEN = (
    HEAD
    + """
from elsewhere import features, generator
def train(loader):
    judge = features()
    for p in judge.parameters():
        p.requires_grad_(False)
    net = generator()
    optimizer = torch.optim.Adam(net.parameters())
    total = 0
    for x, y in loader:
        loss = (judge(net(x)) - judge(y)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss
    return total
"""
)


def test_what_a_frozen_module_is_given_has_its_graph_behind_it() -> None:
    assert [finding.code for finding in told(FROZEN)] == ["GL601"]
    assert told(FROZEN.replace("total += loss", "total += loss.item()")) == []


NAMED = """
def train(model, criterion, optimizer, loader):
    for x, y in loader:
        loss = criterion(model(x), y)
        penalty = 0.0
        for name, parameter in {named}:
            if {asked}:
                penalty += parameter.sigmoid().sum()
        print(loss.item())
        optimizer.zero_grad()
        penalty.backward()
        optimizer.step()
"""


@pytest.mark.parametrize("named", ["model.named_parameters()", "dict(model.named_parameters()).items()"])
@pytest.mark.parametrize("asked", ["name.endswith('scores')", "'mask' in name", "name == 'weight'"])
def test_the_parameters_of_a_network_have_any_names(named: str, asked: str) -> None:
    assert told(HEAD + NAMED.format(named=named, asked=asked)) == []


ADAPTED = """
from torch.func import functional_call

class Learner:
    def __init__(self, model, steps=2):
        self.model = model
        self.steps = steps
        self.optimizer = torch.optim.Adam(model.parameters())

    def predict(self, params, x):
        return functional_call(self.model, params, (x,))

    def adapt(self, x, y):
        params = dict(self.model.named_parameters())
        for _ in range(self.steps):
            loss = F.mse_loss(self.predict(params, x), y)
            grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
            adapted = {{}}
            for (name, weight), grad in zip(params.items(), grads):
                adapted[name] = ({start} - 0.1 * grad).requires_grad_()
            params = adapted
        return params

    def update(self, tasks):
        self.optimizer.zero_grad()
        total = torch.zeros(())
        for x, y in tasks:
            total = total + F.mse_loss(self.predict(self.adapt(x, y), x), y)
        total.backward()
        self.optimizer.step()
"""
RUN = """
def main(steps=5):
    learner = Learner(nn.Linear(2, 1))
    for _ in range(steps):
        learner.update([(torch.ones(3, 2), torch.ones(3, 1)) for _ in range(4)])
"""


@pytest.mark.parametrize(("start", "found"), [("weight.data", ["GL818"]), ("weight", [])])
def test_steps_of_an_inner_loop_start_at_the_parameters(start: str, found: list[str]) -> None:
    assert [finding.code for finding in told(HEAD + ADAPTED.format(start=start) + RUN)] == found


def test_a_table_keeps_what_stands_for_the_names_of_parameters() -> None:
    """What each round puts into a new table is not collected: the name of another parameter is no other key."""
    assert told(HEAD + ADAPTED.format(start="weight")) == []
