"""Calls into other files show what they are given, and what the file shows without them is not lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcheck_tool.config import Overrides
from gradcheck_tool.session.session import Options, Session

CODE = "GL401"


def found(session: Session, name: str) -> list[tuple[str, str]]:
    outcome = session.check([Path(name)])
    return [(Path(finding.location.filename).name, finding.code) for finding in outcome.findings]


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")


STEPS = """import torch


def forward(model, x):
    return model(x).pow(2).mean()


def update(model, loss, optimizer):
    loss.backward()
    optimizer.step()
"""
ROUNDS = """import torch
{imported}


def epoch(model, optimizer, loader):
    model.train()
    for x in loader:
        loss = {of}forward(model, x)
        {of}update(model, loss, optimizer)
"""


@pytest.mark.parametrize(
    ("imported", "of"),
    [("from steps import forward, update", ""), ("import steps", "steps.")],
)
@pytest.mark.parametrize("cleared", [False, True])
def test_what_is_passed_on_is_what_another_file_takes_it_for(
    tmp_path: Path, imported: str, of: str, cleared: bool
) -> None:
    clear = "optimizer.step()\n    optimizer.zero_grad()" if cleared else "optimizer.step()"
    write(tmp_path, "steps.py", STEPS.replace("optimizer.step()", clear))
    write(tmp_path, "rounds.py", ROUNDS.format(imported=imported, of=of))
    expected = [] if cleared else [("steps.py", CODE)]
    assert found(Session(tmp_path, Options()), "rounds.py") == expected


def test_an_engine_that_steps_itself_is_a_model(tmp_path: Path) -> None:
    write(tmp_path, "steps.py", STEPS + "    if optimizer is None:\n        model.step()\n")
    write(tmp_path, "rounds.py", ROUNDS.format(imported="from steps import forward, update", of=""))
    assert found(Session(tmp_path, Options()), "rounds.py") == [("steps.py", CODE)]


COUNTED = "".join(f"    if options.a{i}:\n        total += {i + 1}\n" for i in range(120))
COUNTS = "".join(
    f"def count{n}(options):\n    total = {n}\n{COUNTED}    return total\n\n\n" for n in range(24)
)
COUNTING = (
    """import argparse

import torch
import counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--test", action="store_true")
    args = parser.parse_args()
"""
    + "".join(f"    counts.count{n}(args)\n" for n in range(24))
    + """    if not args.train and not args.test:
        raise ValueError
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    if args.train:
        for x in torch.utils.data.DataLoader(args.data):
            {clear}
            loss = net(x).sum()
            loss.backward()
            optimizer.step()


main()
"""
)


def test_what_a_file_shows_is_not_lost_where_others_take_too_much_work(tmp_path: Path) -> None:
    write(tmp_path, "counts.py", COUNTS)
    write(tmp_path, "train.py", COUNTING.replace("{clear}", "pass"))
    assert found(Session(tmp_path, Options()), "train.py") == [("train.py", CODE)]
    write(tmp_path, "train.py", COUNTING.replace("{clear}", "optimizer.zero_grad()"))
    assert found(Session(tmp_path, Options()), "train.py") == []


NET = (
    """import torch


class Net(torch.nn.Module):
    def __init__(self, options):
        super().__init__()
        self.options = options
        self.inner = torch.nn.Linear(2, 2)
        self.outer = torch.nn.Linear(2, 1)

    def forward(self, x):
        options, total = self.options, 0
"""
    + "".join(f"        if options.a{i}:\n            total = total + {i + 1} * x\n" for i in range(1500))
    + "        return self.outer(torch.exp(self.inner(x)) + total)\n"
)
PENALISED = """import argparse

import torch
from net import Net

parser = argparse.ArgumentParser()
parser.add_argument("--data")
args = parser.parse_args()
net = Net(args)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.utils.data.DataLoader(args.data):
    x.requires_grad_()
    out = net(x)
    optimizer.zero_grad()
    out.mean().backward(retain_graph=True)
    {before}
    (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    slope.pow(2).sum().backward()
    optimizer.step()
"""


KEPT = """import argparse

import torch
from net import Net

parser = argparse.ArgumentParser()
parser.add_argument("--data")
args = parser.parse_args()
net = Net(args)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.cost = net.inner.weight.exp().sum()
for x in torch.utils.data.DataLoader(args.data):
    optimizer.zero_grad()
    loss = net(x).mean() + net.cost
    loss.backward()
    optimizer.step()
"""


def test_what_a_long_forward_keeps_is_renewed_by_it(tmp_path: Path) -> None:
    cost = "        self.penalise()\n        return self.outer"
    method = "\n    def penalise(self):\n        self.cost = self.inner.weight.exp().sum()\n"
    write(tmp_path, "net.py", NET.replace("        return self.outer", cost) + method)
    write(tmp_path, "train.py", KEPT)
    assert found(Session(tmp_path, Options()), "train.py") == []
    write(tmp_path, "net.py", NET)
    assert [code for _, code in found(Session(tmp_path, Options()), "train.py")] == ["GL102"]


FILLED = """import argparse

import torch
from net import Net


class Wires:
    def __init__(self):
        self.state = torch.eye(2)


parser = argparse.ArgumentParser()
args = parser.parse_args()
net = Net(args)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(10):
    optimizer.zero_grad()
    wires = Wires()
    {call}
    wires.state.sum().backward()
    optimizer.step()
"""


def test_what_a_long_forward_is_given_gets_other_tensors(tmp_path: Path) -> None:
    fill = "        wires.state = wires.state @ self.outer"
    write(
        tmp_path,
        "net.py",
        NET.replace("self, x)", "self, wires, x=1)").replace("        return self.outer", fill),
    )
    write(tmp_path, "train.py", FILLED.replace("{call}", "net(wires)"))
    assert found(Session(tmp_path, Options()), "train.py") == []
    write(tmp_path, "train.py", FILLED.replace("{call}", "net(len(wires.state))"))
    assert [code for _, code in found(Session(tmp_path, Options()), "train.py")] == ["GL501"]


def test_what_a_long_forward_returns_depends_on_the_parameters(tmp_path: Path) -> None:
    write(tmp_path, "net.py", NET)
    write(tmp_path, "train.py", PENALISED.replace("{before}", "optimizer.step()\n    optimizer.zero_grad()"))
    (finding,) = Session(tmp_path, Options()).check([Path("train.py")]).findings
    assert finding.code == "GL202"
    assert finding.assumes == ("`net` computes with all its parameters",)
    assert found(Session(tmp_path, Options(Overrides(strict=True))), "train.py") == []
    write(tmp_path, "train.py", PENALISED.replace("{before}", "pass"))
    assert found(Session(tmp_path, Options()), "train.py") == []


MADE = (
    NET[: NET.index("    def forward")].rstrip()
    + "\n"
    + "".join(
        f"        if options.a{i}:\n            self.total = {i + 1} * options.b\n" for i in range(1500)
    )
    + """
    def forward(self, x):
        return self.outer(torch.exp(self.inner(x)))
"""
)
EVALUATED = """import argparse

import torch
from net import Net

parser = argparse.ArgumentParser()
parser.add_argument("--data")
args = parser.parse_args()
net = Net(args)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def evaluate():
    net.eval()
    with torch.no_grad():
        for x in torch.utils.data.DataLoader(args.data):
            net(x)


net.train()
for x in torch.utils.data.DataLoader(args.data):
    optimizer.zero_grad()
    net(x).mean().backward()
    optimizer.step()
    evaluate(){after}
"""


def test_a_module_whose_constructor_is_long_has_parameters(tmp_path: Path) -> None:
    write(tmp_path, "net.py", MADE)
    write(tmp_path, "train.py", EVALUATED.replace("{after}", ""))
    (finding,) = Session(tmp_path, Options()).check([Path("train.py")]).findings
    assert finding.code == "GL516"
    assert "`Net` has parameters that require a gradient" in finding.assumes
    write(tmp_path, "train.py", EVALUATED.replace("{after}", "\n    net.train()"))
    assert found(Session(tmp_path, Options()), "train.py") == []


EVALUATE = """import torch


def evaluate(net, batches):
    net.eval()
    with torch.no_grad():
        return sum(net(x).mean().item() for x in batches)
"""
EPOCHS = """import torch
from evaluate import evaluate

net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    for x in [torch.ones(1, 2)]:
        optimizer.zero_grad()
        net(x).mean().backward()
        optimizer.step()
    evaluate(net, [torch.ones(1, 2)])
"""


def test_the_call_that_leads_to_the_evaluation_is_shown_in_the_file_that_trains(tmp_path: Path) -> None:
    write(tmp_path, "evaluate.py", EVALUATE)
    write(tmp_path, "train.py", EPOCHS)
    (finding,) = Session(tmp_path, Options()).check([Path("train.py")]).findings
    places = [(Path(step.location.filename).name, step.location.start.row) for step in finding.trace]
    assert places == [("train.py", 11), ("evaluate.py", 5), ("train.py", 10)]


TWICE = """import argparse

import torch
from net import Net

parser = argparse.ArgumentParser()
parser.add_argument("--data")
args = parser.parse_args()
made, judge = torch.nn.Linear(2, 2), Net(args)
for x in torch.utils.data.DataLoader(args.data):
    y = made(x).exp()
    y.sum().backward()
    judge(y).mean().backward()
"""


def test_a_long_forward_may_detach_what_it_is_given(tmp_path: Path) -> None:
    write(tmp_path, "train.py", TWICE)
    write(tmp_path, "net.py", NET)
    assert found(Session(tmp_path, Options()), "train.py") == [("train.py", "GL101")]
    write(tmp_path, "net.py", NET.replace("options, total =", "x, options, total = x.detach(),"))
    assert found(Session(tmp_path, Options()), "train.py") == []


# Each function calls the next twice, with other numbers.
DEEP = "".join(
    f"def deep{n}(total):\n    return deep{n + 1}(2 * total) + deep{n + 1}(2 * total + 1)\n\n\n"
    for n in range(12)
)
DEEP += "def deep12(total):\n    return total\n\n\n"
DEEP += "".join(f"def start{n}():\n    return deep0({n + 1})\n\n\n" for n in range(12))
SUMMED = """import torch
import deep


def main(args):
    STARTS
    net = torch.nn.Linear(2, 1)
    total = 0
    for x in torch.utils.data.DataLoader(args.data):
        loss = net(x).sum(){read}
        if args.verbose:
            print(loss)
        if args.weighted:
            loss = args.weight * loss
        total += loss
    total = total / 10
    print("mean", total)
""".replace("    STARTS\n", "".join(f"    deep.start{n}()\n" for n in range(12)))


def test_what_other_files_take_leaves_enough_for_all_ways_of_the_file_itself(tmp_path: Path) -> None:
    write(tmp_path, "deep.py", DEEP)
    write(tmp_path, "mean.py", SUMMED.replace("{read}", ""))
    assert found(Session(tmp_path, Options()), "mean.py") == [("mean.py", "GL601")]
    write(tmp_path, "mean.py", SUMMED.replace("{read}", ".item()"))
    assert found(Session(tmp_path, Options()), "mean.py") == []


def test_a_long_table_that_is_imported_is_not_work_of_this_file(tmp_path: Path) -> None:
    rows = (f"field_{n} = make({n}, [make({n}), make({n})], options=make())" for n in range(2_500))
    write(tmp_path, "table.py", "\n".join(["from unknown import make", *rows]))
    program = "w = torch.ones(3, requires_grad=True)\ny = w.exp()\ny.mul_(2)\ny.sum().backward()\n"
    write(tmp_path, "main.py", f"import torch\nimport table\nprint(table.field_1)\n{program}")
    outcome = Session(tmp_path, Options()).check([tmp_path / "main.py"])
    assert [finding.code for finding in outcome.findings] == ["GL201"]
    assert not outcome.unfinished
