"""What is recorded of a run, each moment after what came before it on the same way."""

from gradcheck_tool.analysis import entries
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.trackers.recording import recorder

PROGRAM = """\
import torch

w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)


def loss_of(x):
    y = (x * w).exp()
    return y.sum()


optimizer.zero_grad()
loss = loss_of(torch.ones(3))
loss.backward()
optimizer.step()
with torch.no_grad():
    w.data.mul_(2)
"""


def moments(program):
    tracker = recorder()
    entries.analyze(lower_module(program, "a.py"), trackers=(tracker,))
    return tracker.moments


def way(moment):
    return [] if moment is None else [*way(moment.before), moment]


def test_moments_follow_each_other():
    found = moments(PROGRAM)
    kinds = [one.step.kind for one in way(found[-1])]
    for kind in ("alias", "saved", "cleared", "backward", "applied", "switched", "changed"):
        assert kind in kinds, kinds
    order = [kinds.index(kind) for kind in ("cleared", "saved", "backward", "applied", "switched")]
    assert order == sorted(order)


def test_moments_know_the_calls_that_lead_to_them():
    saved = [one for one in moments(PROGRAM) if one.step.kind == "saved"]
    assert {tuple(name for _, name in one.calls) for one in saved} == {("loss_of",)}


def test_a_write_behind_autograds_back_has_no_version():
    changed = [
        one.step for one in moments(PROGRAM) if one.step.kind == "changed" and "mul_" in one.step.message
    ]
    assert [step.version for step in changed] == [None]
    assert "unseen" in changed[0].message


def test_ways_that_part_have_moments_of_their_own():
    found = moments("import torch\nx = torch.ones(3)\nif input():\n    a = x\nelse:\n    b = x\n")
    ends = [one for one in found if str(one.step.tensor) in "ab"]
    assert len(ends) == 2
    assert ends[0].before is ends[1].before


def test_each_run_has_moments_of_its_own():
    assert recorder().moments is not recorder().moments
