"""A program gives the same findings in one file, in two, and as a package."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from gradcheck_tool.rulebook.documentation import read_doc
from tests.differential.units import unit
from tests.forms import apart, forms, program, reports
from tests.running import RULES

ROOT = Path(__file__).parents[2]
FIXTURES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "fixtures").rglob("*.py"))
}
EXAMPLES = {
    f"{rule.code}-{kind}-{number}": each.source
    for rule in RULES.active
    for kind, found in (("wrong", read_doc(type(rule)).wrong), ("right", read_doc(type(rule)).right))
    for number, each in enumerate(found)
}
PROGRAMS = {name: source for name, source in (FIXTURES | EXAMPLES).items() if program(source) is not None}


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS)
def test_each_form_gives_the_same_findings(source: str, tmp_path: Path) -> None:
    found = {name: reports(files, tmp_path / name) for name, files in forms(source).items()}
    assert found == dict.fromkeys(found, found["one"])


def test_a_script_without_a_word_of_autograd_is_executed(tmp_path: Path) -> None:
    files = {
        "nets.py": "from torch import nn\n\n\nclass Release(nn.Linear):\n    pass\n",
        "fit.py": "class Trainer:\n"
        "    def __init__(self, net):\n"
        "        self.net = net\n"
        "    def fit(self, data):\n"
        "        for x in data:\n"
        "            loss = self.net(x).pow(2).sum()\n"
        "            loss.backward()\n"
        "            loss.backward()\n",
        "train.py": "from fit import Trainer\nfrom nets import Release\n\nTrainer(Release(1, 1)).fit([1.0])\n",
    }
    assert reports(files, tmp_path) == [(8, "GL101")]


def test_loops_of_methods_that_run_later_are_known(tmp_path: Path) -> None:
    source = (
        "import torch\nfrom torch import nn\n\n\n"
        "class Run:\n"
        "    def __init__(self):\n"
        "        self.net, self.head = nn.Linear(1, 1), nn.Linear(1, 1)\n"
        "        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)\n\n"
        "    def train(self, batches):\n"
        "        for x in batches:\n"
        "            self.optimizer.zero_grad()\n"
        "            self.head(self.net(x)).sum().backward()\n"
        "            self.optimizer.step()\n\n\n"
        "Run().train([torch.ones(1, 1)] * 3)\n"
    )
    found = {name: reports(files, tmp_path / name) for name, files in forms(source).items()}
    assert all(each == [(8, "GL319")] for each in found.values()), found


# An optimizer of the program's own, the `step` of which parts into more ways than can be followed.
PARTED = "".join(
    f"            if group['rate_{number}'] > 0:\n                p.data.mul_(1 - group['rate_{number}'])\n"
    for number in range(40)
)
OPTIMIZER = (
    "from torch.optim import Optimizer\n\n\nclass Many(Optimizer):\n"
    "    def __init__(self, params, **rates):\n        super().__init__(params, rates)\n\n"
    "    def step(self):\n        for group in self.param_groups:\n"
    "            for p in group['params']:\n                self.move(group, p)\n\n"
    "    def move(self, group, p):\n        for _ in range(int(group['times'])):\n"
    f"{PARTED}            p.data.add_(-group['lr'] * p.grad.data)\n"
)


@pytest.mark.parametrize(("clear", "found"), [("pass", [(9, "GL401")]), ("optimizer.zero_grad()", [])])
def test_a_step_that_is_too_much_work_steps(clear: str, found: list[tuple[int, str]], tmp_path: Path) -> None:
    train = (
        "from torch import nn\nfrom many import Many\n\n\ndef train(loader, rates):\n"
        "    net = nn.Sequential(*(nn.Linear(2, 2) for _ in range(9)))\n"
        "    optimizer = Many(net.parameters(), **rates)\n    for x in loader:\n"
        f"        net(x).sum().backward()\n        optimizer.step()\n        {clear}\n"
    )
    assert reports({"many.py": OPTIMIZER, "train.py": train}, tmp_path) == found


# Their surroundings are made in a function of another file, or nowhere.
UNITS = {
    seed: made
    for seed in range(40)
    for made in (unit(seed),)
    if made.form in ("parameters", "trainer", "steps")
}


@pytest.mark.parametrize("seed", UNITS)
def test_what_calls_show_they_show_through_files(seed: int, tmp_path: Path) -> None:
    made = UNITS[seed]
    use = f"def experiment():\n{indent(made.driver, '    ')}"
    rows = made.source.count("\n")
    whole = reports({"main.py": f"{made.source}\n{use}"}, tmp_path / "one")
    assert reports(apart(made.source, use), tmp_path / "apart") == [each for each in whole if each[0] <= rows]


def test_a_function_that_calls_what_differentiates_elsewhere_is_executed(tmp_path: Path) -> None:
    files = {
        "helpers.py": "def differentiate(loss):\n    loss.backward()\n",
        "problem.py": (
            "import torch\nfrom helpers import differentiate\n\n\n"
            "def step(x):\n    w = torch.ones(2).requires_grad_()\n    loss = (w * x).exp().sum()\n"
            "    differentiate(loss)\n    differentiate(loss)\n"
        ),
    }
    assert reports(files, tmp_path) == [(2, "GL101")]


def test_an_argument_is_of_the_one_class_that_has_what_is_asked_of_it(tmp_path: Path) -> None:
    nets = (
        "import torch\nfrom torch import nn\n\n\n"
        "class Pair(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.body, self.head = nn.Linear(2, 2), nn.Linear(2, 2)\n\n"
        "    def both(self, x):\n        h = self.body(x)\n        return self.head(h).sum(), h.exp().sum()\n"
    )
    step = (
        "def step(model, optimizer, x):\n    optimizer.zero_grad()\n    model.body.train()\n    first, second = model.both(x)\n"
        "    first.backward()\n    second.backward()\n    optimizer.step()\n"
    )
    other = nets.replace("Pair", "Other")
    assert reports({"nets.py": nets, "step.py": step}, tmp_path / "one") == [(6, "GL101")]
    assert reports({"nets.py": nets, "step.py": step, "more.py": other}, tmp_path / "two") == []
    less = step.replace(".body.train()", ".train()")
    assert reports({"nets.py": nets, "step.py": less}, tmp_path / "little") == []


# A function of another file, or of the same, clears the gradients of an optimizer that is a parameter.
CLEARING = """import torch


def clear(optimizer):
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
"""
TRAINER = """

class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def step(self, x):
        clear(self.optimizer)
        self.model(x).mean().backward()
        self.optimizer.step()
"""


def test_a_function_of_another_file_clears_the_gradients(tmp_path: Path) -> None:
    files = {"clearing.py": CLEARING, "train.py": "from clearing import clear\n" + TRAINER}
    assert reports({"train.py": CLEARING + TRAINER}, tmp_path / "one") == []
    assert reports(files, tmp_path / "two") == []
    without = {**files, "clearing.py": CLEARING.replace("parameter.grad = None", "print(parameter.grad)")}
    assert [code for _, code in reports(without, tmp_path / "none")] == ["GL401"]
