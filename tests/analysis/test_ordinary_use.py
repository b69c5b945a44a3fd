"""What a forward returns is differentiated, as a caller would; a driver shows it in PyTorch."""

from __future__ import annotations

from gradcheck_tool.analysis.program import check_source
from tests.cases import each
from tests.open_programs import HEAD, Open, check_open, check_quiet, told
from tests.running import RULES, findings

OPEN = {
    "a forward writes to an input that it has saved": Open(
        HEAD
        + """
class Normalize(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))

    def forward(self, x):
        norm = x.pow(2).sum(1, keepdim=True).sqrt()
        x /= norm  # <- GL201
        return self.weight * x
""",
        "x /= norm",
        "x = x / norm",
        "nn.Sequential(nn.Linear(3, 3), Normalize(3))(torch.ones(2, 3)).sum().backward()",
        ("the result of `Normalize.forward` is differentiated", "`x` requires a gradient"),
    ),
    "a forward writes to what an activation saved": Open(
        HEAD
        + """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)

    def forward(self, x):
        out = torch.sigmoid(self.first(x))
        out += x  # <- GL201
        return out
""",
        "out += x",
        "out = out + x",
        "Block(3)(torch.ones(2, 3)).sum().backward()",
        ("the result of `Block.forward` is differentiated",),
    ),
    "an activation that is one by default": Open(
        HEAD
        + """
class Block(nn.Module):
    def __init__(self, width, act=nn.ReLU()):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.act = act

    def forward(self, x):
        out = self.first(x)
        if self.act is not None:
            out = self.act(out)
        out += x  # <- GL201
        return out
""",
        "out += x",
        "out = out + x",
        "Block(3)(torch.ones(2, 3)).sum().backward()",
        ("`act` has its default", "the result of `Block.forward` is differentiated"),
    ),
    "an activation that a configuration names by default": Open(
        HEAD
        + """
class Block(nn.Module):
    def __init__(self, width, act_cfg=dict(type="ReLU", inplace=True)):
        super().__init__()
        self.first = nn.Linear(width, width)
        options = act_cfg.copy()
        self.act = getattr(nn, options.pop("type"))(**options)

    def forward(self, x):
        out = self.act(self.first(x))
        out += x  # <- GL201
        return out
""",
        "out += x",
        "out = out + x",
        "Block(3)(torch.ones(2, 3)).sum().backward()",
        ("`act_cfg` has its default", "the result of `Block.forward` is differentiated"),
    ),
    "a forward returns a dictionary": Open(
        HEAD
        + """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)

    def forward(self, x):
        out = self.first(x).exp()
        features = {"exp": out}
        out[:, 0] = 0  # <- GL201
        return features
""",
        "        out[:, 0] = 0",
        "        out = out * 1",
        "Block()(torch.ones(2, 3))['exp'].sum().backward()",
        ("the result of `Block.forward` is differentiated",),
    ),
    "a function that a forward calls writes to what it has computed": Open(
        HEAD
        + """
def swish(x):
    gate = torch.sigmoid(x)
    gate *= x  # <- GL201
    return gate

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)

    def forward(self, x):
        return swish(self.first(x))
""",
        "gate *= x",
        "gate = gate * x",
        "Block(3)(torch.ones(2, 3)).sum().backward()",
        ("the result of `Block.forward` is differentiated",),
    ),
    "a helper writes to what an activation saved": Open(
        HEAD
        + """
def hide(weights, mask):
    weights.masked_fill_(mask, 0.0)  # <- GL201
    return weights

class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)

    def forward(self, x, mask):
        weights = self.query(x).softmax(-1)
        return hide(weights, mask) @ x
""",
        "    weights.masked_fill_(mask, 0.0)",
        "    weights = weights.masked_fill(mask, 0.0)",
        "Attention(3)(torch.ones(3, 3), torch.eye(3, dtype=torch.bool)).sum().backward()",
        ("the result of `Attention.forward` is differentiated",),
    ),
    "a forward writes to its input, which an operation saved": Open(
        HEAD
        + """
class Unit(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        norm = x.pow(2).sum(dim=1, keepdim=True).sqrt() + 1e-6
        x /= norm  # <- GL201
        return self.gain * x
""",
        "x /= norm",
        "x = x / norm",
        "Unit(3)(torch.ones(2, 3, requires_grad=True) * 1).sum().backward()",
        ("the result of `Unit.forward` is differentiated", "`x` requires a gradient"),
    ),
    "a forward writes to its input through a view": Open(
        HEAD
        + """
class Gate(nn.Module):
    def forward(self, features):
        gate = features.square()
        flat = features.view(-1)
        flat.sub_(1)  # <- GL201
        return features + gate
""",
        "flat.sub_(1)",
        "flat = flat.sub(1)",
        "Gate()(torch.ones(2, 3, requires_grad=True) * 1).sum().backward()",
        ("`features` requires a gradient",),
    ),
    "a forward writes to a part of its input": Open(
        HEAD
        + """
class Drop(nn.Module):
    def forward(self, x, mask):
        out = torch.nn.functional.gelu(x)
        x[:, 0] = 0  # <- GL201
        return out + x
""",
        "x[:, 0] = 0",
        "x = x * mask",
        "Drop()(torch.ones(2, 3, requires_grad=True) * 1, torch.ones(3)).sum().backward()",
        ("`x` requires a gradient",),
    ),
}


@each(OPEN)
def test_the_mistake_is_found_and_pytorch_agrees(program: Open) -> None:
    check_open(program)


@each(OPEN)
def test_a_strict_check_leaves_out_what_assumes_something(program: Open) -> None:
    sure = [finding for finding in told(program.wrong) if not finding.assumes]
    assert told(program.wrong, strict=True) == sure


QUIET = {
    "what a network begins with is given data": """
class NormInput(nn.Module):
    def forward(self, x):
        self.s, self.m = torch.std_mean(x, dim=-1, unbiased=False, keepdim=True)
        self.s += 1e-4
        return (x - self.m) / self.s
""",
    "an option that is asked for twice is the same": """
from elsewhere import options
net = nn.Linear(3, 1)
def train(config, x):
    config.update(options(config))
    for _ in range(3):
        if config["toggle"]:
            for p in net.parameters():
                p.requires_grad = True
        net(x).sum().backward()
        net.zero_grad()
        if config["toggle"]:
            for p in net.parameters():
                p.requires_grad = False
train({"seed": 1}, torch.ones(2, 3))
""",
    "a whole model standardises its data in place": """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 1)

    def forward(self, x):
        x = x - x.mean(1, keepdim=True)
        deviation = torch.sqrt(torch.var(x, dim=1, keepdim=True) + 1e-5)
        x /= deviation
        return self.head(x)
""",
    "an input that is written to before anything is saved": """
class Normalize(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        x -= x.mean(1, keepdim=True)
        x /= x.abs().sum(1, keepdim=True).detach()
        return self.layer(x)
""",
    "an input that is read by numpy and written to": """
class Log(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        print(x.cpu().numpy(), x.shape)
        x[0] = 0
        return self.layer(x)
""",
    "elements of a list of inputs": """
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, parts):
        first, second = parts
        out = self.layer(first.pow(2))
        second += 1
        return out + second
""",
    "a forward that records no graph": """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)

    @torch.no_grad()
    def forward(self, x):
        out = torch.sigmoid(self.first(x))
        out += x
        return out
""",
    "a dropout of nothing writes nothing": """
class Attention(nn.Module):
    def __init__(self, drop=0.0):
        super().__init__()
        self.query = nn.Linear(3, 3)
        self.drop = nn.Dropout(drop, inplace=True)

    def forward(self, x):
        return self.drop(self.query(x).softmax(-1)) @ x
""",
    "a forward writes to its input before anything saves it": """
class Center(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)

    def forward(self, x):
        x -= 0.5
        x /= 0.25
        return self.first(x).relu()
""",
    "a forward writes between two values by a share that is a number by default": """
class Mapping(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("average", torch.zeros(4))
        self.fc = nn.Linear(4, 4)

    def forward(self, labels=None, share=1, cut=None):
        x = self.fc(torch.ones(3, 4))
        if share != 1:
            x[:, :cut] = self.average.lerp(x[:, :cut], share)
        return x
""",
}


@each(QUIET)
def test_nothing_is_assumed_without_evidence(program: str) -> None:
    check_quiet(program)


def test_the_norm_of_a_layer_is_given_what_has_a_graph() -> None:
    layer = QUIET["what a network begins with is given data"].replace("NormInput", "Norm")
    assert [finding.code for finding in told(HEAD + layer)] == ["GL201"]


def test_a_function_that_forward_calls_is_looked_at() -> None:
    source = f"""{HEAD}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.last = nn.Linear(3, 3)

    def clear(self, out, mask):
        out.masked_fill_(mask, 0.0)
        return out

    def forward(self, x, mask):
        out = self.first(x)
        return self.clear(out, mask) + self.last(out.pow(2))
"""
    assert told(source) == []
    wrong = source.replace(
        "return self.clear(out, mask) + self.last(out.pow(2))",
        "squared = out.pow(2)\n        return self.clear(out, mask) + squared",
    )
    assert [(finding.code, finding.location.start.row) for finding in told(wrong)] == [("GL201", 13)]


# A network in a file of tests.
TESTED = """
import torch
from elsewhere import wrap
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        hidden = self.layer(x).sigmoid()
        hidden += 1
        return hidden

@torch.no_grad()
def test_shape():
    assert wrap(Net())(torch.ones(2)).shape == (2,)
"""
TRAINED = """
def test_gradient():
    wrap(Net())(torch.ones(2)).sum().backward()
"""


def test_tests_differentiate_what_they_define_themselves() -> None:
    def rows(source: str, name: str) -> list[int]:
        return [finding.location.start.row for finding in check_source(source, name, RULES)]

    assert rows(TESTED, "net.py") == [13]
    assert rows(TESTED, "test_net.py") == []
    assert rows(TESTED + TRAINED, "test_net.py") == [13]


TRIED = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        y = self.layer(x).relu()
        {line}
        return y

if __name__ == "__main__":
    out = Net()(torch.randn(2, 3))
    {end}
"""


def test_a_file_that_only_tries_its_network_shows_no_ordinary_use() -> None:
    assert findings(TRIED.format(line="y += 1", end="print(out.shape)")) == [(12, "GL201")]
    assert findings(TRIED.format(line="y = y + 1", end="print(out.shape)")) == []
    off = TRIED.format(line="y += 1", end="print(out.shape)").replace(
        "    out =", "    with torch.no_grad(): out ="
    )
    assert findings(off) == []


def test_what_a_file_differentiates_itself_is_told_once() -> None:
    assert findings(TRIED.format(line="y += 1", end="out.sum().backward()")) == [(17, "GL201")]
