"""What parameters and attributes are is read off their use; a driver shows it in PyTorch."""

from __future__ import annotations

from tests.cases import each
from tests.open_programs import HEAD, Open, check_open, check_quiet, told

OPEN = {
    "the model is a class of the file": Open(
        HEAD
        + """
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(3, 4, batch_first=True)
        self.head = nn.Linear(4, 1)

    def forward(self, x, state):
        h, state = self.cell(x, state)
        return self.head(h), state

    def start(self, batch):
        return torch.zeros(1, batch, 4), torch.zeros(1, batch, 4)

def train(model, optimizer, data):
    state = model.start(2)
    for x in data:
        out, state = model(x, state)
        optimizer.zero_grad()
        out.sum().backward()  # <- GL102
        optimizer.step()
""",
        "out, state = model(x, state)",
        "out, state = model(x, tuple(part.detach() for part in state))",
        "net = Recurrent()\ntrain(net, torch.optim.SGD(net.parameters(), 0.1), torch.ones(3, 2, 5, 3))",
        ("`model` is a `Recurrent`", "`optimizer` holds the parameters of `model`"),
    ),
    "a trainer stores its arguments together": Open(
        HEAD
        + """
class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def step(self, x, target):
        self.model.train()
        out = self.model(x)
        first, second = F.mse_loss(out, target), out.pow(2).mean()
        self.optimizer.zero_grad()
        first.backward()
        second.backward()  # <- GL101
        self.optimizer.step()
""",
        "first.backward()",
        "first.backward(retain_graph=True)",
        "net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))\n"
        "trainer = Trainer(net, torch.optim.SGD(net.parameters(), 0.1))\n"
        "trainer.step(torch.ones(2, 3), torch.ones(2, 1))",
        ("`model` has parameters that require a gradient", "`optimizer` holds the parameters of `model`"),
    ),
    "a model is called by its forward": Open(
        HEAD
        + """
class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer

    def train(self, batches):
        self.model.train()
        for batch in batches:
            out = self.model.forward(**batch)
            first, second = out.pow(2).mean(), out.exp().mean()
            self.optimizer.zero_grad()
            first.backward()
            second.backward()  # <- GL101
            self.optimizer.step()
""",
        "first.backward()",
        "first.backward(retain_graph=True)",
        "net = nn.Bilinear(3, 3, 1)\n"
        "batches = [{'input1': torch.ones(2, 3), 'input2': torch.ones(2, 3)}]\n"
        "Trainer(net, torch.optim.SGD(net.parameters(), 0.1)).train(batches)",
        ("`model` has parameters that require a gradient", "`optimizer` holds the parameters of `model`"),
    ),
    "two losses share the graph of a model of which only the role is known": Open(
        HEAD
        + """
def step(model, optimizer, x, criterion, target):
    model.train()
    out = model(x)
    first = criterion(out, target)
    second = out.pow(2).mean()
    optimizer.zero_grad()
    first.backward()
    second.backward()  # <- GL101
    optimizer.step()
""",
        "first.backward()",
        "first.backward(retain_graph=True)",
        "net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))\n"
        "step(net, torch.optim.SGD(net.parameters(), 0.1), torch.ones(2, 3), F.mse_loss, torch.ones(2, 1))",
        ("`model` has parameters that require a gradient", "`optimizer` holds the parameters of `model`"),
    ),
    "a factory makes the model and the optimizer": Open(
        HEAD
        + """
from workshop import make_model, make_optimizer

class Gan(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.critic = nn.Linear(3, 1)

    def losses(self, z):
        fake = torch.tanh(self.body(z))
        return self.critic(fake).mean(), fake.pow(2).mean()

model = make_model()
optimizer = make_optimizer(model)
for _ in range(2):
    first, second = model.losses(torch.ones(2, 3))
    optimizer.zero_grad()
    first.backward()
    second.backward()  # <- GL101
    optimizer.step()
""",
        "first.backward()\n    second.backward()",
        "(first + second).backward()",
        "",
        ("`model` is a `Gan`", "`optimizer` holds the parameters of `model`"),
    ),
    "a helper and a context manager show that a parameter is a module": Open(
        HEAD
        + """
class Noise:
    def __init__(self, module, std):
        self.module = module
        self.std = std

    def __enter__(self):
        self.backup = {name: value.clone() for name, value in self.module.state_dict().items()}
        for tensor in self.module.parameters():
            jitter(tensor, self.std)
        return self.module

    def __exit__(self, *exc):
        self.module.load_state_dict(self.backup)

def jitter(tensor, std):
    return tensor.add_(torch.randn_like(tensor) * std)  # <- GL301

def spread(model, x):
    found = []
    for _ in range(3):
        with Noise(model, 0.1) as noisy:
            found.append(noisy(x))
    return found
""",
        "tensor.add_(torch.randn_like(tensor) * std)",
        "tensor.data.add_(torch.randn_like(tensor) * std)",
        "spread(nn.Linear(3, 3), torch.ones(2, 3))",
        ("`module` has parameters that require a gradient",),
    ),
    "a class that needs gradients is used without them": Open(
        HEAD
        + """
class Saliency:
    def __init__(self, model, layer):
        self.model = model.eval()
        self.kept = None
        layer.register_forward_hook(self._keep)

    def _keep(self, module, inputs, output):
        self.kept = output

    def __call__(self, x):
        score = self.model(x).amax(1).sum()
        grads, = torch.autograd.grad(score, self.kept)  # <- GL501
        return grads * self.kept

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        return self.head(torch.relu(self.first(x)))

def show(model):
    saliency = Saliency(model, model.first)
    with torch.no_grad():
        return saliency(torch.ones(2, 3))
""",
        "with torch.no_grad()",
        "with torch.enable_grad()",
        "show(Net())",
        ("`model` is a `Net`",),
    ),
    "a factory of optimizers leaves the layers as they are": Open(
        HEAD
        + """
from workshop import make_optimizer

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(3, 3, batch_first=True)

    def forward(self, x, state):
        return self.cell(x, state)

model = Recurrent()
optimizer = make_optimizer(model)
state = torch.zeros(1, 2, 3), torch.zeros(1, 2, 3)
for x in torch.ones(3, 2, 5, 3):
    out, state = model(x, state)
    optimizer.zero_grad()
    out.sum().backward()  # <- GL102
    optimizer.step()
""",
        "out, state = model(x, state)",
        "out, state = model(x, tuple(part.detach() for part in state))",
        "",
        (),
    ),
    "a penalty is differentiated through weights that a step has changed": Open(
        HEAD
        + """
def penalty(real_pred, real):
    gradient, = torch.autograd.grad(outputs=real_pred.sum(), inputs=real, create_graph=True)  # <- GL202
    return gradient.pow(2).mean()

def train(discriminator, d_optim, g_ema, loader, device):
    for real in loader:
        real = real.to(device)
        real.requires_grad = True
        real_pred = discriminator(real)
        discriminator.zero_grad()
        F.softplus(-real_pred).mean().backward(retain_graph=True)
        d_optim.step()
        loss = penalty(real_pred, real)
        discriminator.zero_grad()
        loss.backward()
        d_optim.step()
""",
        "        loss = penalty(real_pred, real)",
        "        loss = penalty(discriminator(real), real)",
        "net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))\n"
        "train(net, torch.optim.SGD(net.parameters(), 0.1), net, [torch.ones(2, 3)], 'cpu')",
        ("`d_optim` holds the parameters of `discriminator`",),
    ),
    "two losses of one output, with a step in between": Open(
        HEAD
        + """
class Trainer:
    def __init__(self, policy, opt):
        self.policy, self.opt = policy, opt

    def update(self, states, returns):
        values = self.policy(states)
        self.policy.zero_grad()
        (values - returns).pow(2).mean().backward(retain_graph=True)
        self.opt.step()
        self.policy.zero_grad()
        values.mean().backward()  # <- GL202
        self.opt.step()
""",
        "        values.mean().backward()",
        "        self.policy(states).mean().backward()",
        "net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))\n"
        "Trainer(net, torch.optim.SGD(net.parameters(), 0.1)).update(torch.ones(2, 3), torch.ones(2, 1))",
        ("`opt` holds the parameters of `policy`",),
    ),
}

# Modules that are elsewhere, and what a driver puts in their place.
STANDING_IN = """
import sys, types
extension, workshop = types.ModuleType("extension"), types.ModuleType("workshop")
extension.forward = lambda x, w, eps: x * w
workshop.make_model = lambda: Gan()
workshop.make_optimizer = lambda model: __import__("torch").optim.SGD(model.parameters(), lr=0.1)
sys.modules |= {"extension": extension, "workshop": workshop}
"""


@each(OPEN)
def test_the_mistake_is_found_and_pytorch_agrees(program: Open) -> None:
    check_open(program, STANDING_IN)


@each(OPEN)
def test_a_strict_check_leaves_out_what_assumes_something(program: Open) -> None:
    sure = [finding for finding in told(program.wrong) if not finding.assumes]
    assert told(program.wrong, strict=True) == sure


QUIET = {
    "a gradient through something unknown may have a graph": """
from elsewhere import soft
x = torch.linspace(-1, 1, 10, requires_grad=True)
(first,) = torch.autograd.grad(soft(x).sum(), x, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
""",
    "what a text names may be anything": """
import importlib
net = eval("Net")(1, 1)
net(torch.ones(1)).sum().backward()
importlib.import_module("nets").Net()(torch.ones(1)).sum().backward()
__import__("nets").Net()(torch.ones(1)).sum().backward()
""",
    "the data of what a model returns have no graph": """
from elsewhere import make
net = make()
net.eval()
def boxes(x):
    scores, deltas = net(x)
    deltas = deltas.data.view(-1, 4) * torch.ones(4)
    return torch.cat((scores.data.unsqueeze(1), deltas), 1).cpu().numpy()
""",
    "an optimizer of two of which nobody says which module it has": """
def step(model, first, second, x):
    out = model(x)
    first.zero_grad()
    second.zero_grad()
    out.sum().backward()
    first.step()
    second.step()
""",
    "a helper that writes to parameters is called without gradients": """
class Average:
    def __init__(self, module):
        self.module = module

    def _write(self, model, decay):
        for slow, fast in zip(self.module.parameters(), model.parameters()):
            slow.lerp_(fast, 1 - decay)

    @torch.no_grad()
    def update(self, model):
        self._write(model, 0.9)
""",
    "heads of one model, each differentiated before a step": """
def step(model, actor_optim, critic_optim, states):
    model.train()
    out = model(states)
    actor_optim.zero_grad()
    out.policy.mean().backward(retain_graph=True)
    actor_optim.step()
    critic_optim.zero_grad()
    out.value.pow(2).mean().backward()
    critic_optim.step()
""",
    "the parts of what a model returns are differentiated one by one": """
def step(model, optimizer, states, actions):
    model.train()
    prediction = model(states, actions)
    optimizer.zero_grad()
    prediction["policy"].mean().backward()
    prediction["value"].pow(2).mean().backward()
    optimizer.step()
""",
    "what a model gives is made a leaf": """
def step(x, model, optimizer):
    model.train()
    optimizer.zero_grad()
    with torch.no_grad():
        out = model(x)
        out.requires_grad_()
        out.retain_grad()
    model(out).sum().backward()
    optimizer.step()
""",
    "a constant stands in for the loss where the data say so": """
net = nn.Linear(3, 1)
def step(x, count):
    loss = net(x).sum()
    if count == 0:
        loss = torch.tensor(0.0)
    loss.backward()
""",
    "an object of a library between the input and the model": """
from torchvision import transforms
class Attack:
    def __init__(self, model):
        self.model = model
        self.resize = transforms.Resize(224)
        self.normalize = transforms.Normalize(0.5, 0.5)

    def step(self, data, label):
        self.model.eval()
        delta = torch.zeros_like(data).requires_grad_()
        out = self.model(self.normalize(self.resize(data + delta)))
        return torch.autograd.grad(F.cross_entropy(out, label), delta)[0]
""",
    "a wrapper takes the place of the module whose parameters are trained": """
from elsewhere import make_net, make_optimizer, wrap
class Trainer:
    def __init__(self, args):
        self.net = make_net(args)
        self.optimizer = make_optimizer(self.net.parameters())

    def train(self, x):
        self.net.train()
        self.net = wrap(self.net).to("cpu")
        self.optimizer.zero_grad()
        self.net(x).sum().backward()
        self.optimizer.step()
""",
    "what is made from a module without parameters has none": """
from elsewhere import named
def values(x):
    net = nn.Sequential(nn.ReLU(), nn.Sigmoid())
    marked = named("net")(net)
    marked.eval()
    return marked(x).numpy()
""",
    "a module that is told to keep the graph may differentiate": """
from elsewhere import Hooked
class Saliency:
    def __init__(self, net: nn.Module):
        self.net = net if isinstance(net, Hooked) else Hooked(net)

    def gradient(self, x):
        self.net.eval()
        x.requires_grad = True
        self.net(x, index=0, retain_graph=True)
        return x.grad.detach()
""",
    "the one class of modules is a function without parameters": """
class Clip(nn.Module):
    def forward(self, x):
        return torch.where(x > 0, x.detach(), 0)

def train(model, data, optimizer):
    for x in data:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
""",
}


@each(QUIET)
def test_nothing_is_assumed_without_evidence(program: str) -> None:
    check_quiet(program)
