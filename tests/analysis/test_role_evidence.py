"""What parameters and attributes of open code are, by what is done with them."""

from __future__ import annotations

import pytest

from tests.running import findings

HEAD = "import torch\nfrom torch.nn import functional as F\n"


def _codes(program: str) -> list[str]:
    return [code for _, code in findings(HEAD + program)]


SCALED = """
def train(model, loader, criterion, optimizer, scaler):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        {unscale}
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


@pytest.mark.parametrize(("unscale", "found"), [("scaler.unscale_(optimizer)", []), ("pass", ["GL411"])])
def test_what_scales_losses_and_steps_is_a_grad_scaler(unscale: str, found: list[str]) -> None:
    assert _codes(SCALED.format(unscale=unscale)) == found


def test_what_a_grad_scaler_steps_is_an_optimizer() -> None:
    program = SCALED.format(unscale="scaler.unscale_(optimizer)").replace("optimizer.zero_grad()", "pass")
    assert _codes(program) == ["GL401"]


UPDATED = """
def train(model, loader, optimizer, scaler):
    for x in loader:
        optimizer.zero_grad()
        scaler.scale(model(x).mean()).backward()
        scaler.step(optimizer)
        {update}
"""


@pytest.mark.parametrize(("update", "found"), [("scaler.update()", []), ("pass", ["GL413"])])
def test_a_grad_scaler_that_is_given_is_updated_after_each_step(update: str, found: list[str]) -> None:
    assert _codes(UPDATED.format(update=update)) == found


JUDGED = """
def train(model, criterion, loader, optimizer):
    model.train()
    criterion.train()
    for x, y in loader:
        {clear}
        criterion(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("clear", "found"), [("optimizer.zero_grad()", []), ("pass", ["GL401"])])
def test_an_optimizer_is_that_of_the_model_and_not_of_its_criterion(clear: str, found: list[str]) -> None:
    assert _codes(JUDGED.format(clear=clear)) == found


CYCLE = """
class Cycle:
    def __init__(self, G_AB, G_BA, D_A, optG, optD):
        self.G_AB, self.G_BA, self.D_A = G_AB, G_BA, D_A
        self.optG, self.optD = optG, optD

    def step(self, a, b):
        fake = self.G_BA(b)
        self.optG.zero_grad()
        (F.l1_loss(self.G_BA(self.G_AB(a)), a) + self.D_A(fake).mean()).backward()
        self.optG.step()
        {clear}
        self.D_A({fake}).mean().backward()
        self.optD.step()
"""


@pytest.mark.parametrize(
    ("clear", "fake", "found"),
    [
        ("self.optD.zero_grad()", "fake.detach()", []),
        ("pass", "fake.detach()", ["GL401"]),
        ("self.optD.zero_grad()", "fake", ["GL101"]),
    ],
)
def test_an_optimizer_holds_all_modules_that_share_its_letter(
    clear: str, fake: str, found: list[str]
) -> None:
    assert _codes(CYCLE.format(clear=clear, fake=fake)) == found


AGENT = """
class Agent:
    def __init__(self, core):
        self.core = core
        self.optimizer = torch.optim.Adam(core.parameters())

    def learn(self, batch):
        value, action = self.core.judge(batch.states)
        {clear}
        (value - batch.returns).pow(2).mean().backward({retain})
        self.optimizer.step()
        {again}
"""
CLEAR = "self.optimizer.zero_grad()"


@pytest.mark.parametrize(
    ("clear", "retain", "again", "found"),
    [
        (CLEAR, "", "pass", []),
        ("pass", "", "pass", ["GL401"]),
        ("pass", "", "batch.clear_gradients(self)", []),
        (CLEAR, "", "value.sum().backward()", ["GL101"]),
    ],
)
def test_methods_of_a_module_compute_with_its_parameters(
    clear: str, retain: str, again: str, found: list[str]
) -> None:
    assert _codes(AGENT.format(clear=clear, retain=retain, again=again)) == found


def test_a_caller_in_sight_may_clear_before_a_method_is_called_again() -> None:
    program = AGENT.format(clear="pass", retain="", again="pass")
    caller = "\ndef run(agent, batches):\n    for batch in batches:\n        agent.core.zero_grad()\n        agent.learn(batch)\n"
    assert _codes(program + caller) == []


DIFFUSION = """
class Diffusion:
    def __init__(self, eps_model, device):
        self.eps_model = eps_model.to(device)
        self.device = device

    def loss(self, x):
        noise = torch.randn_like(x)
        return F.mse_loss(self.eps_model(x + noise), noise{reduction})

def train_loop(diffusion, optimizer, dataset):
    for data in dataset:
        {clear}
        loss = diffusion.loss(data.to(diffusion.device))
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("clear", "reduction", "found"),
    [
        ("optimizer.zero_grad()", "", []),
        ("pass", "", ["GL401"]),
    ],
)
def test_a_parameter_is_of_the_class_whose_methods_it_has(
    clear: str, reduction: str, found: list[str]
) -> None:
    assert _codes(DIFFUSION.format(clear=clear, reduction=reduction)) == found


STEP = """
class Trainer:
    def __init__(self, net, target_net, optimizer):
        self.net, self.target_net, self.optimizer = net, target_net, optimizer
        net.train()
        target_net.eval()

    def learn(self, batch):
        states, actions, rewards, next_states = batch
        {q}
        with torch.no_grad():
            best = rewards + self.target_net(next_states).max(1, keepdim=True)[0]
        loss = F.smooth_l1_loss(q, best)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("q = self.net(states).gather(1, actions)", []),
        ("q = self.net(states).argmax(1, keepdim=True).float()", ["GL501"]),
        ("with torch.no_grad(): q = self.net(states).gather(1, actions)", ["GL501"]),
        ("q = actions(self.net, states)", []),
    ],
)
def test_what_a_unit_that_trains_is_given_has_no_graph(q: str, found: list[str]) -> None:
    assert _codes(STEP.format(q=q)) == found


@pytest.mark.parametrize("name", ["loss", "hidden", "features"])
def test_other_arguments_may_have_a_graph(name: str) -> None:
    program = f"\ndef step(net, {name}, optimizer):\n    net.train()\n    ({name} * 2).mean().backward()\n"
    assert _codes(program) == []


WRAPPER = """
class Classifier(torch.nn.Module):
    def __init__(self, backbone, lr):
        super().__init__()
        self.backbone = backbone
        self.head = torch.nn.Linear(8, 2)
        self.lr = lr

    def forward(self, x):
        return self.head(self.backbone(x))

    def training_step(self, batch):
        x, y = batch
        return F.cross_entropy({logits}, y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)

def fit(module, loader):
    opt = module.configure_optimizers()
    for i, batch in enumerate(loader):
        opt.zero_grad()
        loss = module.training_step(batch)
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(("logits", "found"), [("self(x)", []), ("self(x).detach()", ["GL501"])])
def test_what_a_loader_gives_is_data_also_where_it_is_counted(logits: str, found: list[str]) -> None:
    assert _codes(WRAPPER.format(logits=logits)) == found


TWIN = """
class Twin:
    def __init__(self, qf1, qf2, {maker}):
        self.qf1, self.qf2 = qf1, qf2
        self.qf1_optim = {made}(self.qf1.parameters(), 0.1)
        self.qf2_optim = {made}(self.qf2.parameters(), 0.1)

    def update(self, x, y):
        loss1 = F.mse_loss(self.qf1(x), y)
        loss2 = F.mse_loss(self.{second}(x), y)
        self.qf1_optim.zero_grad()
        loss1.backward()
        self.qf1_optim.step()
        self.qf2_optim.zero_grad()
        loss2.backward()
        self.qf2_optim.step()
"""
MAKERS = [("maker=torch.optim.Adam", "maker"), ("maker", "maker"), ("config", "config.maker")]


@pytest.mark.parametrize(("maker", "made"), MAKERS)
@pytest.mark.parametrize(("second", "found"), [("qf2", []), ("qf1", ["GL202"])])
def test_an_optimizer_of_an_unknown_class_holds_what_it_is_given(
    maker: str, made: str, second: str, found: list[str]
) -> None:
    assert _codes(TWIN.format(maker=maker, made=made, second=second)) == found


def test_an_optimizer_goes_with_the_network_that_shares_most_of_its_name() -> None:
    program = """
class Twin:
    def __init__(self, qf1, qf2, qf1_optim, qf2_optim):
        self.qf1, self.qf2, self.qf1_optim, self.qf2_optim = qf1, qf2, qf1_optim, qf2_optim

    def update(self, x, y):
        self.qf1.train()
        self.qf2.train()
        loss1 = F.mse_loss(self.qf1(x), y)
        loss2 = F.mse_loss(self.qf2(x), y)
        self.qf1_optim.zero_grad()
        loss1.backward()
        self.qf1_optim.step()
        self.qf2_optim.zero_grad()
        loss2.backward()
        self.qf2_optim.step()
"""
    assert _codes(program) == []


# What is not known for a single number, or for data without a graph.
SEVERAL = {
    "what is put into an object of a batch may be what its other tables are computed from": """
from torch.utils.data import DataLoader
from elsewhere import graphs, multiply

class Loss(nn.Module):
    def forward(self, out, graph):
        with graph.local_scope():
            graph.ndata["h"] = out
            graph.apply_edges(multiply("h", "score"))
            score = graph.edata["score"]
        return F.binary_cross_entropy_with_logits(score, torch.ones_like(score))

net, criterion = nn.Linear(3, 3), Loss()
optimizer = torch.optim.Adam(net.parameters())
for graph, x in DataLoader(graphs):
    loss = criterion(net(x), graph.to("cpu"))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "a criterion gives several things": """
def step(model, criterion, optimizer, x, y, off=False):
    model.train()
    optimizer.zero_grad()
    loss, size, log = criterion(model, x)
    if off:
        loss *= 0
    loss.backward()
    optimizer.step()
""",
}


@pytest.mark.parametrize("program", SEVERAL.values(), ids=SEVERAL)
def test_what_is_taken_apart_or_filled_is_no_longer_what_it_seems(program: str) -> None:
    assert _codes(program) == []


PENALTY = """
import elsewhere
{name} = elsewhere.make()
net = nn.Linear(2, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for batch in {loop}:
    x = batch["x"]
    x.requires_grad_(True)
    energy = net(x)
    force = -torch.autograd.grad(energy.sum(), x, retain_graph=True)[0]
    loss = energy.mean() + (force - batch["force"]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("name", ["loader", "training", "train_set", "test_iter", "stages"])
@pytest.mark.parametrize("loop", ["{}", "tqdm.tqdm({})", "enumerate({})"])
def test_what_a_loop_goes_through_and_has_a_usual_name_is_data(name: str, loop: str) -> None:
    program = PENALTY.format(name=name, loop=loop.format(name))
    program = program.replace("for batch in enum", "for i, batch in enum")
    program = program.replace("batch", "stage") if name == "stages" else program
    found = [code for _, code in findings(f"import tqdm\nfrom torch import nn\n{HEAD}{program}")]
    assert found == ["GL803"] * (name != "stages")


WRITTEN = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, batch):
        scale = batch.scale
        scaled = self.linear(batch.x) * scale
        scale.{write}
        return scaled.sum()
"""


@pytest.mark.parametrize("write", ["tanh_()", "lerp_(torch.zeros(4), 0.5)", "uniform_()"])
def test_what_only_tensors_write_in_place_shows_that_a_value_is_one(write: str) -> None:
    assert _codes(WRITTEN.format(write=write)) == ["GL201"]
    assert _codes(WRITTEN.format(write="requires_grad_()")) == []


ENCODED = """
from torch import nn
from towers import Towers

class Matcher(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.tower_model = Towers(width)

    def forward(self, image):
        features = self.tower_model.{method}(image)
        {line}
        return features
"""
IN_PLACE = "features /= features.norm(dim=-1, keepdim=True)"
ANEW = "features = features / features.norm(dim=-1, keepdim=True)"


@pytest.mark.parametrize(
    ("method", "line", "found"),
    [
        ("encode_image", IN_PLACE, ["GL201"]),
        ("encode_image", ANEW, []),
        ("predict", IN_PLACE, []),
        ("encoder_name", IN_PLACE, []),
    ],
)
def test_what_a_module_asks_to_encode_is_a_module(method: str, line: str, found: list[str]) -> None:
    assert _codes(ENCODED.format(method=method, line=line)) == found


PARTS = """
def step(model, x, y, optimizer):
    optimizer.zero_grad()
    {features}
    loss = F.cross_entropy(features, y)
    loss.backward({kept})
    features.pow(2).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("features", "kept", "found"),
    [
        ("features = model.encoder(x)", "", ["GL101"]),
        ("features = model.encoder(x)", "retain_graph=True", []),
        ("features = model.lookup(x)", "", []),
    ],
)
def test_a_part_that_is_called_like_a_module_makes_its_owner_one(
    features: str, kept: str, found: list[str]
) -> None:
    assert _codes(PARTS.format(features=features, kept=kept)) == found
