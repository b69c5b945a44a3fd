"""The tree of modules: children and parameters."""

from __future__ import annotations

from tests.cases import Fact, check_known, each

FACTS = {
    "children": Fact(
        "net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())", "len(list(net.children())) == 2 and len(net) == 2"
    ),
    "parameters": Fact(
        "net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1, bias=False))",
        "len(list(net.parameters())) == 3",
    ),
    "names": Fact(
        "net = nn.Sequential(nn.Linear(2, 2, bias=False))",
        "[name for name, _ in net.named_parameters()][0] == '0.weight'",
    ),
    "names of parameters are in the order in which a layer makes them": Fact(
        "net = nn.Linear(2, 2)\nnames = [name for name, _ in net.named_parameters()]",
        "names == ['weight', 'bias']",
    ),
    "a module that two share": Fact(
        """\
part = nn.Linear(2, 2)
net = nn.Sequential(part, part)""",
        "len(list(net.parameters())) == 2",
    ),
    "what a class registers": Fact(
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = nn.Parameter(w.detach())
        self.c = [nn.Linear(2, 2)]
net = Net()""",
        "len(list(net.parameters())) == 3",
    ),
    "a table of parameters": Fact(
        """\
net = nn.Linear(2, 2)
net._parameters["weight"] = net._parameters["weight"] * 2
del net._parameters["bias"]""",
        "not net.weight.is_leaf and 'bias' not in net._parameters",
    ),
    "a table of buffers": Fact(
        """\
net = nn.BatchNorm1d(2)
net._buffers["running_mean"] = net.weight * 2""",
        "net.running_mean.requires_grad and hasattr(net, '_buffers')",
    ),
    "an attribute that is replaced": Fact(
        """\
net = nn.Sequential(nn.Linear(2, 2))
net[0] = nn.Identity()""",
        "not list(net.parameters())",
    ),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)
