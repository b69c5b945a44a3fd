"""Names of libraries in functions that the work limit cuts short: they need no execution."""

from __future__ import annotations

from gradcheck_tool import NameUse
from gradcheck_tool.analysis.plans import ExecutionPlan
from tests.running import Analysis

SOURCE = """
import torch
from torch.autograd import Variable
from somewhere import rename
def long(x):
{body}
    return Variable(rename(x), volatile=True)
"""


def names(source: str, limit: int) -> list[tuple[str, tuple[str, ...]]]:
    analysis = Analysis(source, ExecutionPlan(limit=limit, starts=frozenset({"long"})))
    assert analysis.unfinished == (["long"] if limit < 1000 else [])
    return [(event.name, event.keywords) for event in analysis.of(NameUse) if event.name.startswith("torch")]


def test_a_function_that_is_cut_short_reports_the_names_that_an_executed_one_does() -> None:
    source = SOURCE.format(body="    x = x + 1\n" * 200)
    whole = names(source, limit=60_000)
    assert whole == [("torch.autograd.Variable", ("volatile",))]
    assert names(source, limit=100) == whole


def test_a_name_that_the_function_binds_itself_is_not_taken_for_the_one_of_the_module() -> None:
    source = SOURCE.format(body="    Variable = dict\n" + "    x = x + 1\n" * 200)
    assert names(source, limit=100) == []
