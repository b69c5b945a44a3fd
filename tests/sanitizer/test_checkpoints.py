"""Checkpoints whose part computes something else when a backward calls it again."""

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from gradcheck_tool.sanitizer.records import Records
from gradcheck_tool.sanitizer.watch import observed
from tests.sanitizer.programs import check_left_alone, check_told, story, watched

PROGRAM = """
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
lin, norm, calls = torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), []
optimizer = torch.optim.SGD([*lin.parameters(), *norm.parameters()], lr=0.5)
scale, x = {{"of": torch.rand(3, 8)}}, torch.rand(3, 8, requires_grad=True)
def part(x):
    calls.append(1)
    h = lin(x)
    return {part}
for _ in range(3):
    y = checkpoint(part, x, use_reentrant={reentrant}, preserve_rng_state={preserves})
    {between}
    y.sum().backward()
    optimizer.zero_grad()
"""


def program(part, between="pass", *, preserves=True, reentrant=False):
    return PROGRAM.format(part=part, between=between, preserves=preserves, reentrant=reentrant)


MISTAKES = {
    "random numbers": program("torch.dropout(h.tanh(), 0.5, True)", preserves=False),
    "what is in a dictionary": program("h.tanh() * scale['of']", "scale['of'].mul_(2)"),
    "what is in a dictionary, replaced": program("h.tanh() * scale['of']", "scale['of'] = torch.rand(3, 8)"),
    "a number that is counted": program("(h * len(calls)).tanh()"),
    "random numbers made elsewhere": program("(h + torch.rand(8)).square()", preserves=False),
}
RIGHT = {
    "random numbers that are put back": program("torch.dropout(h.tanh(), 0.5, True)"),
    "noise that is added": program("h + torch.rand(8)", preserves=False),
    "running statistics": program("norm(h).tanh()"),
    "other parts for other inputs": program("h.tanh() if len(calls) % 2 else h.tanh() * 1"),
    "a value that gets no gradient": program("h + scale['of'].tanh()", "scale['of'].mul_(2)"),
}


def reentrant(text):
    return text.replace("use_reentrant=False", "use_reentrant=True")


@pytest.mark.parametrize("kind", [str, reentrant])
@pytest.mark.parametrize("name", MISTAKES)
def test_other_values_are_told(name, kind):
    check_told(kind(MISTAKES[name]), "GL205", [12, 10, 14])


@pytest.mark.parametrize("kind", [str, reentrant])
@pytest.mark.parametrize("name", RIGHT)
def test_the_same_gradients_are_left_alone(name, kind):
    check_left_alone(kind(RIGHT[name]))


@pytest.mark.parametrize("name", MISTAKES)
def test_the_size_is_the_same_for_both_kinds(name):
    sizes = {watched(kind(MISTAKES[name]))[0][0].evidence["error"] for kind in (str, reentrant)}
    assert len(sizes) == 1


@pytest.mark.parametrize("kind", [str, reentrant])
def test_a_step_before_the_part_is_called_again_is_told(kind):
    text = kind(program("h.tanh()", "lin(x).sum().backward(); optimizer.step()"))
    told, raised = watched(text)
    assert raised is None
    (one,) = (found for found in told if found.code == "GL205")
    assert story(one)[-1] == 14
    assert one.evidence["error"].startswith("wrong by up to ")


@pytest.mark.parametrize("reentrant", [False, True])
def test_what_is_kept_of_checkpoints_goes_with_them(reentrant):
    records = Records()
    room = records.recomputing.room
    with observed(records):
        x = torch.rand(100, requires_grad=True)
        y = checkpoint(torch.exp, x, use_reentrant=reentrant)
        assert records.recomputing.room < room
        y.sum().backward()
        del y
        assert records.recomputing.room == room


def test_a_checkpoint_without_room_for_what_it_saves_is_left_alone():
    records = Records()
    records.recomputing.room = 4
    with observed(records):
        x = torch.rand(100, requires_grad=True)
        checkpoint(
            lambda x: torch.dropout(x, 0.5, True), x, preserve_rng_state=False, use_reentrant=False
        ).sum().backward()
    assert records.told.all() == []
    assert records.recomputing.room == 4
