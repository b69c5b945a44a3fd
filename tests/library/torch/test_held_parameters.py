"""Which parameters the optimizers of a program hold, and where that is not known."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.entries import analyze
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.library.torch.held_parameters import held_parameters, known_optimizers
from gradcheck_tool.trackers.tracker import Tracker

HEAD = "import torch\nfrom torch import nn\nnet = nn.Linear(2, 2)\nother = nn.Linear(2, 2, bias=False)\n"


@pytest.mark.parametrize(
    ("statements", "optimizers", "held"),
    [
        ("", 0, 0),
        ("torch.optim.SGD(net.parameters(), lr=0.1)", 1, 2),
        ("torch.optim.SGD(net.parameters(), lr=0.1)\ntorch.optim.SGD(other.parameters(), lr=0.1)", 2, 3),
        ("opt = torch.optim.SGD(net.parameters())\nopt.add_param_group({'params': [other.weight]})", 1, 3),
        ("opt = torch.optim.SGD(net.parameters())\nopt.param_groups[0]['lr'] = 0.5", 1, 2),
        ("opt = torch.optim.SGD(net.parameters())\nopt.param_groups[0]['params'][0] = other.weight", 1, None),
        (
            "opt = torch.optim.SGD(net.parameters())\nopt.param_groups[0]['params'].append(other.weight)",
            1,
            None,
        ),
        ("opt = torch.optim.SGD(net.parameters())\nopt.param_groups[0]['params'] = [other.weight]", 1, None),
        ("import somewhere\ntorch.optim.SGD(somewhere.parameters(), lr=0.1)", 1, None),
    ],
)
def test_parameters_of_all_optimizers(statements: str, optimizers: int, held: int | None) -> None:
    seen = []

    class AtTheEnd(Tracker):
        def on_run_ended(self, m, s, fact):
            seen.append((len(known_optimizers(s)), held_parameters(s)))

    analyze(lower_module(f"{HEAD}{statements}\n", "program.py"), trackers=[AtTheEnd])
    ((count, found),) = seen
    assert count == optimizers
    assert (None if found is None else len(found)) == held
