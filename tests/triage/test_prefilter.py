"""No file with a finding is left out before it is parsed."""

from __future__ import annotations

import pytest

from gradcheck_tool.library.model_packs import modelled_names
from gradcheck_tool.rulebook.documentation import Program, read_doc
from gradcheck_tool.rulebook.ruleset import RuleSet
from gradcheck_tool.sources.prefilter import mentions_torch

RULES = RuleSet.load()
EXAMPLES = [
    pytest.param(rule.code, program, id=f"{rule.code}-{number}")
    for rule in RULES.known
    for number, program in enumerate(read_doc(type(rule)).wrong)
]


@pytest.mark.parametrize(("code", "program"), EXAMPLES)
def test_every_example_is_looked_at_for_its_rule_alone(code: str, program: Program) -> None:
    data = program.source.encode()
    assert mentions_torch(data, modelled_names())
    assert RULES.select([code]).triage.prefilter.passes(data)


@pytest.mark.parametrize(
    "program",
    [
        b"import torch\nx = torch.ones(2, requires_grad=True)\nx += 1\n",
        b"import torch\nlayer = torch.nn.Linear(2, 2)\nlayer.weight[0] = 1\n",
        b"import torch\nlayer.weight *= 2\n",
        b"def train(model, loss):\n    loss.backward()\n",
        b"import lightning as L\nclass M(L.LightningModule):\n    def training_step(self, b):\n        return 1\n",
        b"from torch.autograd import Variable\n",
    ],
)
def test_what_could_be_wrong_is_looked_at(program: bytes) -> None:
    assert mentions_torch(program, modelled_names())
    assert RULES.triage.prefilter.passes(program)


def test_what_cannot_be_wrong_is_not_parsed() -> None:
    assert not RULES.triage.prefilter.passes(b"import torch\nprint(torch.__version__)\n")


@pytest.mark.parametrize(
    "program",
    [
        b"",
        b"import numpy as np\nx = np.ones(3)\nx += 1\n",
        b"import paddle\nloss = net(x)\nloss.backward()\nprint(loss.numpy())\n",
    ],
)
def test_what_has_nothing_to_do_with_torch_needs_no_rules(program: bytes) -> None:
    assert not mentions_torch(program, modelled_names())
