"""Right programs in the manner of real repositories, one habit each: nothing may be found in them."""

HABITS: dict[str, str] = {
    "a module of an unknown library is frozen and moved": """
import torch
from library import AutoencoderKL
vae = AutoencoderKL.from_pretrained("path", subfolder="vae")
vae.requires_grad_(False)
vae.to("cuda", dtype=torch.float16)
""",
    "an optimizer of the repository asks whether it was given groups": """
import torch
class Groups(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1, betas=(0.9, 0.99)):
        if isinstance(params, (list, tuple)) and len(params) > 0 and isinstance(params[0], dict):
            for group in params:
                if "betas" in group and group["betas"][0] != betas[0]:
                    group["buffer"] = [[None, None] for _ in range(10)]
        super().__init__(params, dict(lr=lr, betas=betas))
layer = torch.nn.Linear(2, 2)
Groups(layer.parameters())
Groups([layer.weight])
""",
    "parameters that are brought into a set past autograd by each of several calls": """
import torch
from torch import nn
class Masked(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("mask", mask[None, None])
    def forward(self, x):
        self.conv.weight.data *= self.mask
        self.scale.data.clamp_(0.1, 10)
        return self.conv(x) * self.scale ** 2
net = Masked(torch.ones(3, 3))
x = torch.ones(2, 1, 8, 8)
(net(x).sum() + net(x * 2).sum()).backward()
""",
    "a goal made of numbers that a network gives which follows another one": """
import torch
from torch import nn
import torch.nn.functional as F
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(3, 1)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=0.1)
    def forward(self, state):
        return self.q(state)

class Agent:
    def __init__(self):
        self.critic = Critic()
        self.target = Critic()
        self.follow(tau=1)
    def follow(self, tau=0.1):
        own = dict(self.critic.named_parameters())
        other = dict(self.target.named_parameters())
        for name in own:
            own[name] = tau * own[name].clone() + (1 - tau) * other[name].clone()
        self.target.load_state_dict(own)
    def learn(self, state, reward):
        ahead = self.target(state)
        value = self.critic(state)
        goal = torch.tensor([reward[i] + 0.9 * ahead[i] for i in range(4)]).view(4, 1)
        self.critic.optimizer.zero_grad()
        loss = F.mse_loss(goal, value)
        loss.backward()
        self.critic.optimizer.step()
        self.follow()
agent = Agent()
agent.learn(torch.ones(4, 3), torch.ones(4))
""",
    "activations in place, whose results are saved": """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(3, 3), nn.LeakyReLU(0.2, inplace=True), nn.Linear(3, 3), nn.ReLU(inplace=True))
net(torch.ones(2, 3)).sum().backward()
""",
    "a compiled model of unknown origin": """
import torch
from library import create
model = create()
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    compiled(torch.ones(2, 2)).sum().backward()
    optimizer.step()
""",
    "a base class that trains what its subclasses in other files hold": """
import torch
class Base(torch.nn.Module):
    def fit(self, x, rounds):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.lr)
        for _ in range(rounds):
            optimizer.zero_grad()
            self(x).sum().backward()
            optimizer.step()
""",
    "a method replaced on one object": """
import types
import torch
class Causal(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 5)
    def forward(self, x):
        raise NotImplementedError
def patch(model, scale):
    def scaled(self, x):
        return {"logits": self.head(x) * scale}
    model.forward = types.MethodType(scaled, model)
model = Causal()
patch(model, 3)
(model(torch.ones(2, 4))["logits"] * torch.ones(2, 5)).sum().backward()
""",
    "a scaler that another method of its object has used": """
import torch
class Scaled:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self._scaler = torch.amp.GradScaler()
    @property
    def scaler(self):
        return self._scaler
    def backward(self, loss):
        self.scaler.scale(loss).backward()
    def step(self):
        self.optimizer.zero_grad()
        self.scaler.step(self.optimizer)
        self.scaler.update()
""",
    "a scaler of the module that another function has used": """
import torch
scaler = torch.amp.GradScaler()
def backward(loss):
    scaler.scale(loss).backward()
def step(optimizer):
    optimizer.zero_grad()
    scaler.step(optimizer)
    scaler.update()
""",
    "a Function of arguments that are no tensors, whose gradients are concatenated": """
import torch
class Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx, source, target, tensor):
        ctx.source, ctx.target = source, target
        return exchange(source, target, tensor)
    @staticmethod
    def backward(ctx, grad):
        return (None, None) + (Exchange.apply(ctx.target, ctx.source, grad),)
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, *args):
        ctx.run = run
        ctx.save_for_backward(*args)
        with torch.no_grad():
            return run(*args)
    @staticmethod
    def backward(ctx, grad):
        args = [x.detach().requires_grad_() for x in ctx.saved_tensors]
        with torch.enable_grad():
            out = ctx.run(*args)
        return (None,) + torch.autograd.grad(out, args, grad)
""",
    "training that switches gradients off when it is done, and classes that it does not use": """
import torch
class Agent:
    def __init__(self, size):
        self.critic = torch.nn.Linear(size, 1)
        self.optimizer = torch.optim.Adam(self.critic.parameters())
    def update(self, states):
        torch.set_grad_enabled(True)
        self.improve(states)
        torch.set_grad_enabled(False)
    def improve(self, states):
        self.optimizer.zero_grad()
        self.critic(states).sum().backward()
        self.optimizer.step()
class Twin(Agent):
    def improve(self, states):
        self.optimizer.zero_grad()
        self.critic(states).mean().backward()
        self.optimizer.step()
Agent(3).update(torch.ones(2, 3))
""",
    "layers from an empty range": """
import torch
layers = [torch.nn.Linear(2, 2) for _ in range(*unknown())]
torch.nn.Sequential(*layers, torch.nn.Linear(2, 1))(torch.ones(1, 2)).sum().backward()
""",
}

HABITS["the losses of one forward are collected to be shown"] = """
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
"""

HABITS["scores are shifted by a statistic of their own"] = """
import torch
from torch import nn

net = nn.Linear(3, 3)
scores = net(torch.rand(4, 3)).cumsum(1)
scores -= scores.detach().mean()
scores.sum().backward()
"""
