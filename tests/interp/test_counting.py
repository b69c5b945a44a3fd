"""Numbers that grow from one iteration to the next, and comparisons with them."""

from __future__ import annotations

import pytest

from tests.cases import check_agreement, check_raises, check_runs, each
from tests.running import findings

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "while with a counter and break": """
import torch
w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()
n = 0
while True:
    n += 1
    if n > 2:
        break
    loss.backward()  # raises
""",
    "while retain condition": """
import torch
w = torch.rand(3, requires_grad=True)
y = w.sin().sum()
k = 0
while k < 3:
    y.backward(retain_graph=k < 1)  # raises
    k += 1
""",
}

# Programs that raise.
RAISING = {
    "cycles of two lengths": """
x = (w * w).sum()
for i in range(12):
    if i % 6 == 0:
        x = (w * w).sum()
    elif i % 3 == 2:
        x.backward()
""",
    "a remainder that occurs twice in the range": """
t = 0
for i in range(8):
    t = t + (w * i).exp().sum()
    if i % 3 == 2:
        t.backward()
""",
    "two iterations of an unknown number": """
t = 0
for i in range(len(os.listdir("/")) + 9):
    t = t + (w * i).exp().sum()
    if i > 6:
        t.backward()
""",
    "the last iteration of an inner loop runs again": """
t = 0
for epoch in range(10):
    for i in range(10):
        t = t + (w * i).exp().sum()
        if i == 9:
            t.backward()
""",
    "a loop ends in the iteration that its counter determines": """
n = 2
while n > 0:
    n -= 1
    h = w.clone()
    for step in range(3):
        h = h * h
else:
    torch.autograd.grad(w.sum(), [w, m])
""",
}

# Programs that run.
RUNNING = {
    "what is true is no zero": """
k = int(os.environ.get("K", "2"))
y = (w * w).sum()
if k:
    y.backward()
if k == 0:
    y.backward()
""",
    "a number above zero is true": """
k = int(os.environ.get("K", "2"))
y = (w * w).sum()
if k > 0:
    y.backward()
if not k:
    y.backward()
""",
    "a number that is zero is false": """
k = int(os.environ.get("K", "0"))
y = (w * w).sum()
if k == 0:
    y.backward()
if k:
    y.backward()
""",
    "skipped iterations take the other branch": """
t = 0
for i in range(40):
    if i % 10 != 9:
        t = (w * w).sum()
        continue
    t.backward()
""",
    "a counter without an upper bound": """
import itertools
y = (w * w).sum()
for i in itertools.count():
    if i == 3:
        y.backward()
    if i > 5:
        break
""",
    "a remainder that occurs once in the range": """
t = 0
for i in range(5):
    t = t + (w * i).exp().sum()
    if i % 3 == 2:
        t.backward()
""",
    "an iteration that runs once": """
t = 0
for i in range(100):
    t = t + (w * i).exp().sum()
    if i == 50:
        t.backward()
""",
    "the last iteration of a known number": """
t = 0
for i in range(10):
    t = t + (w * i).exp().sum()
    if i == 10 - 1:
        t.backward()
""",
    "the last iteration of an unknown number": """
n = len(os.listdir("/"))
t = 0
for i in range(n):
    t = t + (w * i).exp().sum()
    if i + 1 == n:
        t.backward()
""",
    "the last element of a list that is counted": """
xs = [torch.rand(3) for _ in range(6)]
t = 0
for i, x in enumerate(xs):
    t = t + (w * x).exp().sum()
    if i == len(xs) - 1:
        t.backward()
""",
    "a counter of the program's own that reaches a number once": """
t = 0
n = 0
for x in torch.rand(10, 3):
    n += 1
    t = t + (w * x).exp().sum()
    if n == 3:
        t.backward()
""",
    "iterations that alternate": """
a = (w * w).sum()
for i in range(6):
    if i % 2:
        a.backward()
    else:
        a = (w * w).sum()
""",
    "a range that counts down": """
t = 0
for i in range(9, -1, -1):
    t = t + (w * i).exp().sum()
    if i == 0:
        t.backward()
""",
    "nothing happens until the iteration that ends the loop": """
y = (w * w).sum()
for i in range(20):
    if i > 10:
        break
    if i == 10:
        y.backward()
""",
    "a while loop of two iterations has no third": """
left = 2
while left > 0:
    left -= 1
    w[0].backward()
    w = w.exp()
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)


SHORTENED = """
import torch
from torch import nn

def shortened(x):
    last = {}
    if last >= x.dim():
        return x.detach()
    return x * 2

def train(net, x):
    shortened(net(x)).sum().backward()
"""


@pytest.mark.parametrize(
    ("last", "codes"), [("-2 + x.dim()", []), ("x.dim() - 2", []), ("x.dim()", ["GL501"])]
)
def test_a_number_of_dimensions_is_more_than_two_less(last: str, codes: list[str]) -> None:
    assert [code for _, code in findings(SHORTENED.format(last))] == codes


# Gradients are applied in whole windows alone: whoever leaves the loop has just applied them.
WINDOWS = """
import torch

def train(net, optimizer, draw, every, least):
    count = 0
    while True:
        loss = net(draw()).sum()
        loss.backward()
        count += 1
        if count % every != 0:
            return
        optimizer.step()
        optimizer.zero_grad()
        if loss.item() < least:
            break
    if count % every {sign} 0:
        optimizer.step()
"""


@pytest.mark.parametrize(("sign", "expected"), [("!=", []), ("==", ["GL402"])])
def test_a_remainder_of_the_last_iteration_is_that_of_any_later_one(sign: str, expected: list[str]) -> None:
    found = findings(WINDOWS.format(sign=sign))
    assert [code for _, code in found] == expected
