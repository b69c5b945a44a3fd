"""Methods that train are called again on the same object; a driver does so in PyTorch."""

from __future__ import annotations

import pytest

from gradcheck_tool import library
from gradcheck_tool.analysis.object_life import ObjectLife
from gradcheck_tool.domain.records import Frame
from gradcheck_tool.domain.state import State
from gradcheck_tool.interp.api import Env
from gradcheck_tool.interp.solver import Solver
from gradcheck_tool.ir.lower import lower_module
from tests.cases import each
from tests.open_programs import HEAD, Open, check_open, check_quiet, told

# What clears what a method collects, and where.
COLLECTING = (
    HEAD
    + """
class Agent:
    def __init__(self, policy, optimizer):
        self.policy = policy
        self.optimizer = optimizer
        self.values = []

    def act(self, state):
        value = self.policy(state)
        self.values.append(value)
        return value.item()

    def update(self, returns):
        loss = (returns - torch.stack(self.values)).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
{end}
"""
)
CLEARINGS = {
    "nothing": ("", ["GL102"]),
    "the method that trains": ("        self.values.clear()", []),
    "it, by a new list": ("        self.values = []", []),
    "it, by a statement": ("        del self.values[:]", []),
    "another method": ("    def reset(self):\n        self.values = []", []),
    "code that has the object": ("def play(agent):\n    agent.values.clear()", []),
    "code that only looks": ("def show(agent):\n    print(len(agent.values))", ["GL102"]),
}


@pytest.mark.parametrize(("end", "expected"), CLEARINGS.values(), ids=CLEARINGS)
def test_what_a_method_collects_grows_between_two_updates_unless_something_clears_it(
    end: str, expected: list[str]
) -> None:
    assert [finding.code for finding in told(COLLECTING.format(end=end))] == expected


OPEN = {
    "what one method collects another differentiates in several passes": Open(
        HEAD
        + """
class Buffer:
    def __init__(self):
        self.log_probs = []

    def clear(self):
        del self.log_probs[:]


class Agent:
    def __init__(self):
        self.policy = nn.Linear(2, 2)
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=0.1)
        self.buffer = Buffer()

    def act(self, state):
        log_probs = self.policy(state).log_softmax(-1)
        self.buffer.log_probs.append(log_probs[0])
        return log_probs.argmax().item()

    def update(self):
        for _ in range(2):
            loss = torch.stack(self.buffer.log_probs).sum()
            self.optimizer.zero_grad()
            loss.backward()  # <- GL102
            self.optimizer.step()
        self.buffer.clear()
""",
        "        for _ in range(2):",
        "        for _ in range(1):",
        "agent = Agent()\nfor _ in range(2):\n    agent.act(torch.ones(2))\n    agent.update()",
        ("`Agent.act` is called before on the same object",),
    ),
    "a leaf is replaced by a result of it after each step": Open(
        HEAD
        + """
class Agent:
    def __init__(self, net):
        self.net = net
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha_optim = torch.optim.Adam([self.log_alpha], lr=0.1)

    def train_alpha(self, log_probs):
        loss = -(self.log_alpha * (log_probs.detach() + 1)).mean()
        self.alpha_optim.zero_grad()
        loss.backward()  # <- GL102
        self.alpha_optim.step()
        self.log_alpha = self.log_alpha.clamp(-5, 4)

    def update(self, batch):
        self.train_alpha(self.net(batch))
""",
        "        self.log_alpha = self.log_alpha.clamp(-5, 4)",
        "        self.log_alpha.data.clamp_(-5, 4)",
        "agent = Agent(nn.Linear(2, 1))\nfor _ in range(3): agent.update(torch.ones(3, 2))",
        ("`Agent.update` is called again on the same object",),
    ),
    "what the constructor computes is differentiated in each call": Open(
        HEAD
        + """
class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.scale = self.weight.exp()
        self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1)

    def learn(self, x, y):
        loss = ((x * self.scale).sum() - y) ** 2
        self.optimizer.zero_grad()
        loss.backward()  # <- GL102
        self.optimizer.step()
""",
        "x * self.scale",
        "x * self.weight.exp()",
        "mixer = Mixer()\nfor _ in range(2): mixer.learn(torch.ones(3), 1.0)",
        ("`Mixer.learn` is called again on the same object",),
    ),
    "a state is kept, and another method makes it": Open(
        HEAD
        + """
class Player:
    def __init__(self, core):
        self.core = core
        self.setup()

    def setup(self):
        self.hidden = torch.zeros(1, 2)
        self.head = nn.Linear(2, 2)
        self.optimizer = torch.optim.SGD(self.head.parameters(), lr=0.1)

    def step(self, x):
        self.hidden = torch.tanh(self.head(self.hidden) + x)
        loss = self.hidden.pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()  # <- GL102
        self.optimizer.step()
""",
        "self.head(self.hidden)",
        "self.head(self.hidden.detach())",
        "player = Player(None)\nfor _ in range(2): player.step(torch.ones(1, 2))",
        ("`Player.step` is called again on the same object",),
    ),
    "the class has a base elsewhere, and a method that its constructor calls": Open(
        HEAD
        + """
from workshop import Algorithm

class Agent(Algorithm):
    def init_nets(self):
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha = self.log_alpha.exp()
        self.optim = torch.optim.Adam([self.log_alpha], 0.1)

    def train(self, batch):
        loss = (self.alpha * batch).mean()
        self.optim.zero_grad()
        loss.backward()  # <- GL102
        self.optim.step()
""",
        "self.alpha * batch",
        "self.log_alpha.exp() * batch",
        "agent = Agent()\nfor _ in range(2): agent.train(torch.ones(3))",
        ("`Agent.train` is called again on the same object",),
    ),
    "a method makes what it reads, and training changes it": Open(
        HEAD
        + """
from workshop import Algorithm

class Agent(Algorithm):
    def init_nets(self):
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.optim = torch.optim.Adam([self.log_alpha], 0.1)

    def train(self, batch):
        loss = (self.log_alpha * batch).mean()
        self.optim.zero_grad()
        loss.backward()  # <- GL102
        self.optim.step()
        self.log_alpha = self.log_alpha.clamp(-5, 4)
""",
        "        self.log_alpha = self.log_alpha.clamp(-5, 4)",
        "        self.log_alpha.data.clamp_(-5, 4)",
        "agent = Agent()\nfor _ in range(3): agent.train(torch.ones(3))",
        ("`Agent.train` is called again on the same object",),
    ),
}

SILENT = {
    "the optimizer keeps the leaf that was replaced": (
        """
from workshop import make_optimizer
class Agent:
    def __init__(self, net):
        self.net = net
        self.build()

    def build(self):
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha_optim = make_optimizer(self.log_alpha)

    def train_alpha(self, log_probs):
        loss = -(self.log_alpha * (log_probs.detach() + 1)).mean()
        self.alpha_optim.zero_grad()
        loss.backward()
        self.alpha_optim.step()
        self.log_alpha = self.log_alpha.clamp(-5, 4).detach().requires_grad_()  # <- GL318

    def update(self, batch):
        self.train_alpha(self.net(batch))
""",
        "self.log_alpha = self.log_alpha.clamp(-5, 4).detach().requires_grad_()",
        "self.log_alpha.data.clamp_(-5, 4)",
        """
agent = Agent(nn.Linear(2, 1))
agent.update(torch.ones(3, 2))
before = agent.log_alpha
old = before.item()
agent.update(torch.ones(3, 2))
moved = before.item() != old
""",
    ),
    "a variable that an optimizer trains is bound anew": (
        """
def fit(target):
    delta = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.SGD([delta], lr=0.1)
    for _ in range(5):
        loss = (delta - target).pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        delta = delta.detach().clamp(-9, 9).requires_grad_()  # <- GL318
    return delta
""",
        "delta = delta.detach().clamp(-9, 9).requires_grad_()",
        "delta.data.clamp_(-9, 9)",
        "moved = bool(fit(torch.ones(3))[0] > 0.3)\n",
    ),
}

# Modules that are elsewhere, and what a driver puts in their place.
STANDING_IN = """
import sys, types
workshop = types.ModuleType("workshop")
workshop.make_optimizer = lambda leaf: __import__("torch").optim.SGD([leaf], lr=0.1)
workshop.Algorithm = type("Algorithm", (), {"__init__": lambda self: self.init_nets()})
sys.modules["workshop"] = workshop
"""


@each(OPEN)
def test_the_mistake_is_found_and_pytorch_agrees(program: Open) -> None:
    check_open(program, STANDING_IN)


@pytest.mark.parametrize("name", SILENT)
def test_a_silent_mistake_is_found(name: str) -> None:
    wrong, old, new, _ = SILENT[name]
    rows = [n for n, line in enumerate((HEAD + wrong).splitlines(), 1) if "# <- GL318" in line]
    assert [(each.location.start.row, each.code) for each in told(HEAD + wrong)] == [(rows[0], "GL318")]
    assert told(HEAD + wrong.replace(old, new)) == []


@pytest.mark.parametrize("name", SILENT)
def test_what_is_trained_moves_only_in_the_right_program(name: str) -> None:
    pytest.importorskip("torch")
    wrong, old, new, driver = SILENT[name]
    for program, moved in ((wrong, False), (wrong.replace(old, new), True)):
        namespace: dict[str, object] = {}
        exec(STANDING_IN + HEAD + program + driver, namespace)
        assert namespace["moved"] is moved


QUIET = {
    "what forward returns is not what the class differentiates itself": """
class Segmentation(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def set_input(self, data):
        self.position, self.labels = data.position, data.labels

    def forward(self):
        self.output = F.log_softmax(self.layer(self.position), dim=-1)
        self.loss = F.nll_loss(self.output, self.labels)
        return self.output

    def backward(self):
        self.loss.backward()
""",
    "a counter that is zero after each step": """
class Trainer:
    def __init__(self, net, every):
        self.net, self.every, self.count = net, every, 0
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def clear(self):
        if not self.every:
            self.optimizer.zero_grad()
            return True
        if self.count == self.every:
            self.count = 0
            return True
        if self.count == 0:
            self.optimizer.zero_grad()
        self.count += 1
        return False

    def train_step(self, x):
        steps = self.clear()
        self.net(x).sum().backward()
        if steps:
            self.optimizer.step()
""",
    "another method begins anew": """
class Player:
    def __init__(self):
        self.head = nn.Linear(2, 2)
        self.optimizer = torch.optim.SGD(self.head.parameters(), lr=0.1)
        self.reset()

    def reset(self):
        self.hidden = torch.zeros(1, 2)

    def step(self, x):
        self.hidden = torch.tanh(self.head(self.hidden) + x)
        loss = self.hidden.pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
""",
    "what is kept is cleared by others": """
class Policy:
    def __init__(self, net):
        self.net = nn.Linear(2, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.log_probs = []

    def act(self, x):
        self.log_probs.append(self.net(x).log_softmax(-1)[0])

    def learn(self, rewards):
        loss = torch.stack(self.log_probs).mul(rewards).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

def play(policy, world):
    for x in world:
        policy.act(x)
    policy.learn(1.0)
    del policy.log_probs[:]
""",
    "the last loss is kept to be shown": """
class Trainer:
    def __init__(self):
        self.net = nn.Linear(2, 1)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.loss = None

    def step(self, x):
        self.loss = self.net(x).pow(2).mean()
        self.optimizer.zero_grad()
        self.loss.backward()
        self.optimizer.step()
""",
    "the optimizer is made anew with what replaces the leaf": """
class Attack:
    def __init__(self, x):
        self.delta = torch.zeros(3, requires_grad=True)
        self.optimizer = torch.optim.SGD([self.delta], lr=0.1)

    def step(self, x):
        loss = (self.delta - x).pow(2).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.delta = self.delta.detach().clamp(-1, 1).requires_grad_()
        self.optimizer = torch.optim.SGD([self.delta], lr=0.1)
""",
}


@each(QUIET)
def test_nothing_is_reported_where_others_may_have_made_it_right(program: str) -> None:
    check_quiet(program)


def test_tests_get_an_object_of_their_own() -> None:
    case = OPEN["what the constructor computes is differentiated in each call"]
    assert told(case.wrong.replace("def learn(", "def test_learning("), strict=False) == []


CALLING = """
class Trainer:
    def __init__(self, net):
        self.net = net

    def prepare(self, x):
        self.start = x

    def run(self, x):
        self.start = self.best = x
        return self.step()

    def step(self):
        return self.net(self.start) + self.best
"""


def test_a_method_is_given_nothing_by_one_that_calls_it() -> None:
    """What it finds there, it is given in that call: executing the other before it takes work in vain."""
    library.load()
    module = lower_module(CALLING, "program.py")
    m, s = Solver(lambda _: None, 1_000, 1_000, 1_000), State()
    frame = Frame(module.body, None, None)
    s.frames.append(s.new(frame))
    frame.env = Env(module, s.frames[-1])
    (end,) = m.run_frame(s, module.body.entry)
    life = ObjectLife(end.state, end.state[s.frames[-1]].locals["Trainer"])
    assert life.providers("step", ["net"]) == ["prepare"]
    assert life.providers("prepare", ["net"]) == []
