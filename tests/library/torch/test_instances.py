"""Objects of library classes: their methods and attributes."""

from __future__ import annotations

from tests.cases import Fact, check_known, each

FACTS = {
    "groups of an optimizer": Fact("opt = torch.optim.SGD([w], lr=0.5)", "len(opt.param_groups) == 1"),
    "the parameters of an optimizer": Fact(
        "opt = torch.optim.Adam([w])", "opt.param_groups[0]['params'][0] is w"
    ),
    "the mode of a module": Fact(
        """\
net = nn.Linear(2, 2)
net.eval()""",
        "not net.training",
    ),
    "the mode of all children": Fact(
        """\
net = nn.Sequential(nn.Dropout())
net.eval()
net.train()""",
        "net.training and net[0].training",
    ),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)
