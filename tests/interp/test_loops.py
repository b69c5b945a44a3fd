"""How often loops are executed, in all ways and along a single one."""

from __future__ import annotations

import pytest

from gradcheck_tool import FreedGraph
from gradcheck_tool.analysis.plans import ExecutionPlan
from tests.interp.test_scale import END, START
from tests.running import Analysis, findings, happened

# What runs in a later iteration of other loops, before the mistake at the end.
REPEATED = {
    "a generator expression that a call goes through": """
for path in os.listdir("/"):
    for x, y in loader:
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        for other in os.listdir("/"):
            torch.nn.utils.clip_grad_norm_((p for p in model.parameters() for _ in os.listdir("/")), 1.0)
        optimizer.step()
""",
    "a loop that goes on until a list has ended": """
kept = [None, None, None, None, None, None, None]
for path in os.listdir("/"):
    for n in range(7):
        kept[n] = path
    for other, entry in zip(os.listdir("/"), kept):
        print(other, entry)
""",
    "a loop that counts": """
for path in os.listdir("/"):
    for step in range(100):
        if step == 99:
            print(path)
    remaining = 40
    while remaining > 0:
        remaining -= 1
""",
}


@pytest.mark.parametrize("body", REPEATED.values(), ids=REPEATED)
@pytest.mark.parametrize("plan", [ExecutionPlan(), ExecutionPlan(limit=10)], ids=["all ways", "a single way"])
def test_what_follows_repeated_loops_is_executed(body: str, plan: ExecutionPlan) -> None:
    source = f"{START}{body}{END}"
    analysis = Analysis(source, plan)
    assert not analysis.unfinished
    assert analysis.rows(FreedGraph) == [source.count("\n")]


@pytest.mark.parametrize("body", REPEATED.values(), ids=REPEATED)
def test_it_is_executed_in_pytorch(body: str) -> None:
    source = f"{START}{body}{END}"
    assert happened(source)[0] == source.count("\n")


def test_a_number_that_only_a_later_iteration_has_is_reached_in_repeated_loops() -> None:
    source = f"""{START}
for path in os.listdir("/"):
    for step in range(100):
        loss = model(torch.randn(3, 4)).exp().sum()
        if step == 99:
            loss.backward()
            loss.backward()
"""
    assert Analysis(source).rows(FreedGraph) == [source.count("\n")]


def test_a_loop_is_left_after_two_iterations_of_a_single_way() -> None:
    source = f"""{START}
for epoch in range(100):
    for x, y in loader:
        for _ in range(20):
            loss = F.mse_loss(model(x), y)
            loss.backward()
{END}"""
    analysis = Analysis(source, ExecutionPlan(limit=10))
    assert not analysis.unfinished
    assert analysis.rows(FreedGraph) == [source.count("\n")]


def test_the_work_of_a_single_way_is_no_power_of_the_depth_of_loops() -> None:
    depth = 12
    loops = "\n".join(f"{'    ' * n}for n{n} in os.listdir('/'):" for n in range(depth))
    source = f"{START}{loops}\n{'    ' * depth}loss = model(torch.randn(3, 4)).sum()\n{END}"
    analysis = Analysis(source, ExecutionPlan(limit=10, single=2_800))
    assert not analysis.unfinished
    assert analysis.rows(FreedGraph) == [source.count("\n")]


# As many gradients as a loop has put into a list.
LAYER = """
import os
import torch

names = {names}

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *inputs):
        return tuple(x * 2 for x in inputs)

    @staticmethod
    def backward(ctx, *cotangents):
        gradients = []
        for _ in names:
            gradients.append(2 * cotangents[0])
        return {returned}

inputs = [torch.ones(2, requires_grad=True) for _ in range(3)]
sum(y.sum() for y in Double.apply(*inputs)).backward()
"""


@pytest.mark.parametrize(
    "returned",
    ["tuple(gradients)", "tuple(g for g in gradients)", "tuple([g for g in gradients])", "(*gradients,)"],
)
def test_what_goes_through_something_unknown_fills_lists_to_an_unknown_length(returned: str) -> None:
    assert findings(LAYER.format(names="os.listdir('.')[:3]", returned=returned)) == []
    known = LAYER.format(names="'ab'", returned=returned)
    assert findings(known) == [(17, "GL701")]
    assert "incorrect number of gradients" in happened(known)[1]


SET_BACK = """
import os
import torch

x = torch.ones(1, requires_grad=True)
loss = (x * x).sum()
loss.backward()
size = 0
for name in os.listdir("/"):
    size += len(name)
    size = {last}
if size != 0:
    loss.backward()
"""


@pytest.mark.parametrize(("last", "codes"), [("0", []), ("size + 1", ["GL101"])])
def test_a_number_that_each_iteration_sets_back_is_known(last: str, codes: list[str]) -> None:
    source = SET_BACK.format(last=last)
    assert [code for _, code in findings(source)] == codes
    assert bool(happened(source)[1]) is bool(codes)


CHOSEN = """
import sys
import torch

def criterion(outputs):
    return {{"a": outputs.sum()}}

def train(model, loader, criterion, optimizer, flag):
    for x in loader:
        losses = sum(criterion(model(x)).values())
        if flag:
            optimizer.zero_grad()
            losses.backward()
            optimizer.step()
        else:
            {clear}
            losses.backward()
            optimizer.step()
            norms.append(model.weight.grad.norm().item())

norms = []
"""
DRIVER = """
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
train(model, [torch.ones(1, 2)] * 3, criterion, optimizer, False)
assert norms[-1] < 2 * norms[0]
"""


@pytest.mark.parametrize(("clear", "codes"), [("pass", ["GL401"]), ("optimizer.zero_grad()", [])])
def test_iterations_of_another_choice_are_not_those_that_were_before(clear: str, codes: list[str]) -> None:
    source = CHOSEN.format(clear=clear)
    assert [code for _, code in findings(source)] == codes
    assert (happened(source + DRIVER) != (None, "")) is bool(codes)


FOURTH = """
import os
import torch

w = torch.ones(3, requires_grad=True)

class Steps:
    first = second = third = False

    def take(self, name):
        if self.third:
            loss = (w * w).sum()
            loss.backward()
            loss.backward()
        self.third, self.second, self.first = self.second, self.first, True
        return name

steps = Steps()
{loop}
"""


@pytest.mark.parametrize(
    "loop", ['[steps.take(n) for n in os.listdir("/")]', 'for n in os.listdir("/"):\n    steps.take(n)']
)
def test_a_comprehension_that_changes_what_was_there_is_executed_as_a_loop_is(loop: str) -> None:
    source = FOURTH.format(loop=loop)
    assert Analysis(source).rows(FreedGraph) == [happened(source)[0]] == [14]


def test_a_comprehension_that_makes_a_list_alone_is_executed_for_a_few_elements() -> None:
    work = "; ".join(f"a{n} = n + {n}" for n in range(40))
    source = f"""
import os
def size(n):
    {work}
    return torch.ones(len(n)).sum() + a1
sizes = [size(n) for n in os.listdir("/")]
{END}"""
    analysis = Analysis(f"{START}{source}", ExecutionPlan(limit=900))
    assert not analysis.unfinished
    assert analysis.rows(FreedGraph) == [f"{START}{source}".count("\n")]


TRAINED = """
import torch

class Trained:
    def {name}(self):
        model = torch.nn.Linear(1, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        count = 0
        for x in torch.utils.data.DataLoader(torch.ones(8, 1)):
            model(x).sum().backward()
            count += 1
            if count >= 3:
                optimizer.step()
                count = 0
            if count == {full}:
                optimizer.zero_grad()

{start}
"""


@pytest.mark.parametrize(("name", "start"), [("__init__", "Trained()"), ("run", "Trained().run()")])
@pytest.mark.parametrize(("full", "codes"), [("3", ["GL401"]), ("0", [])])
def test_a_constructor_that_trains_is_followed_as_another_method(
    name: str, start: str, full: str, codes: list[str]
) -> None:
    assert [code for _, code in findings(TRAINED.format(name=name, start=start, full=full))] == codes
