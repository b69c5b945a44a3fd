"""Checks at another pace: quick ones, and those that nobody waits for any more."""

from dataclasses import replace

import pytest

from gradcheck_tool.analysis import plans
from gradcheck_tool.analysis.import_context import ImportContext
from gradcheck_tool.analysis.pace import Outdated, Pace
from gradcheck_tool.analysis.program import check_source
from tests.running import RULES
from tests.server.long_program import LONG

FIXTURES = "fixtures"
SHORT = "import torch\n\nx = torch.ones(3, requires_grad=True)\ny = x.exp()\ny.mul_(2)\ny.sum().backward()\n"


def quick(program):
    """What a quick check finds, and whether it may not be all."""
    around = ImportContext(pace=Pace(is_quick=True))
    return check_source(program, "program.py", RULES, around), around.extent.is_short


def test_a_quick_check_says_where_it_may_have_left_something_out():
    assert quick(SHORT) == (check_source(SHORT, "program.py", RULES), False)
    assert quick(LONG) == ([], True)


FLATTENED = """
import torch
from torch import nn

def flatten(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])

net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
params = list(net.parameters())
for step in range(3):
    torch.autograd.grad(flatten(net.parameters()).pow(2).sum(), params)
"""


def test_a_single_way_goes_through_all_elements_that_are_known(monkeypatch):
    monkeypatch.setattr(plans, "QUICK_LIMIT", 1)
    exec(compile(FLATTENED, "program.py", "exec"), {"__name__": "program"})
    assert quick(FLATTENED) == ([], True)


@pytest.mark.slow
def test_a_quick_check_that_left_nothing_out_finds_what_a_whole_one_finds(pytestconfig):
    complete = 0
    for path in sorted((pytestconfig.rootpath / FIXTURES).rglob("*.py")):
        program = path.read_text(encoding="utf-8")
        found, is_short = quick(program)
        if not is_short:
            complete += 1
            assert found == check_source(program, "program.py", RULES), path
    assert complete


def test_what_took_too_long_for_all_ways_follows_a_single_way_at_once():
    pace = Pace(is_quick=True)
    blocks = []
    for number in range(2):
        around = ImportContext(pace=replace(pace, pause=lambda number=number: blocks.append(number)))
        check_source(LONG, "program.py", RULES, around)
        assert around.extent.is_short
    assert blocks.count(1) < blocks.count(0)
    # What is short again is followed along all ways the next time.
    check_source(SHORT, "program.py", RULES, ImportContext(pace=pace))
    assert not pace.long["program.py"]
    around = ImportContext(pace=pace)
    assert [one.code for one in check_source(SHORT, "program.py", RULES, around)] == ["GL201"]
    assert not around.extent.is_short


def test_what_ends_a_check_comes_from_where_it_is_asked():
    def pause():
        raise Outdated

    with pytest.raises(Outdated):
        check_source(SHORT, "program.py", RULES, ImportContext(pace=Pace(pause=pause)))


def test_an_outdated_check_stops_before_it_executes_anything(monkeypatch):
    def pause():
        raise Outdated

    executed = []
    monkeypatch.setattr("gradcheck_tool.analysis.entries.analyze", lambda *_: executed.append(1) or [])
    with pytest.raises(Outdated):
        check_source(SHORT, "program.py", RULES, ImportContext(pace=Pace(pause=pause)))
    assert not executed
