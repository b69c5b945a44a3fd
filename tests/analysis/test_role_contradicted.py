"""A role that a name or a call suggests is given up where another use contradicts it."""

from __future__ import annotations

from tests.cases import each
from tests.open_programs import check_quiet

QUIET = {
    "a method of a critic gives numbers of actions, of which copies are made": """
import copy

class Learner:
    def __init__(self, critic, optimizer):
        self.critic, self.optimizer = critic, optimizer

    def train(self, batch, actions):
        greedy = torch.stack([self.critic.forward(batch, t=t, policy=False) for t in range(3)], dim=1)
        values = []
        for i in range(2):
            chosen = copy.deepcopy(greedy)
            chosen[:, :, i] = actions[:, :, i]
            values.append(self.critic.forward(batch, t=0, actions=chosen))
        loss = torch.cat(values).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
""",
    "what a list is added to is a list: assigning its elements changes no tensor": """
class Net(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone

    def extract_feature(self, x):
        feats, x = self.backbone.extract_feature(x)
        feats += [x]
        return feats, x

    def forward(self, x):
        return self.backbone(x)

class Distiller(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.connectors = nn.ModuleList([nn.Conv2d(4, 4, 1) for _ in range(2)])

    def forward(self, x):
        feats, out = self.net.extract_feature(x)
        loss = 0
        for i in range(len(feats)):
            feats[i] = self.connectors[i](feats[i])
            loss += feats[i].pow(2).mean()
        return out, loss

def train(backbone: nn.Module, loader):
    net = Distiller(Net(backbone))
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for x in loader:
        opt.zero_grad()
        out, loss = net(x)
        (out.mean() + loss).backward()
        opt.step()
""",
    "a list is added to what a method out of sight gives": """
class Head(nn.Module):
    def __init__(self, backbone: nn.Module):
        super().__init__()
        self.backbone = backbone
        self.conv = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        feats = self.backbone.features(x) + [x]
        for i in range(len(feats)):
            feats[i] = self.conv(feats[i])
        return feats[0].sum() + self.backbone(x).sum()
""",
    "lists of modules are added to, too": """
class Encoder(nn.Module):
    def __init__(self, width, domains):
        super().__init__()
        layers = []
        for _ in range(4):
            layers += [nn.Linear(width, min(width * 2, 384))]
            width = min(width * 2, 384)
        self.shared = nn.Sequential(*layers)
        self.unshared = nn.ModuleList()
        for _ in range(domains):
            self.unshared += [nn.Linear(width, 2)]

    def forward(self, x):
        h = self.shared(x)
        out = []
        for layer in self.unshared:
            out += [layer(h)]
        return torch.stack(out, dim=1)
""",
    "what gives a model is no model": """
from base import BaseModel

class GAN(BaseModel):
    def train(self, data, target):
        self.optim_G.zero_grad()
        self.optim_D.zero_grad()
        given = {"net": self.get_bare_model(self.net_G)}
        loss_D = self.net_D(target, given).mean()
        loss_D.backward()
        self.optim_D.step()
        loss_G = self.net_D(self.net_G(data), given).mean()
        loss_G.backward()
        self.optim_G.step()

    def save(self, step):
        self.save_network(self.net_G, "G", step)
        self.save_network(self.net_D, "D", step)
""",
}


@each(QUIET)
def test_nothing_is_reported(program: str) -> None:
    check_quiet(program)
