"""Which rounds a program goes through: a look that finds nothing is the last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gradcheck_tool.analysis import entries
from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.rulebook.ruleset import RuleSet

if TYPE_CHECKING:
    from gradcheck_tool.analysis.plans import ExecutionPlan

RULES = RuleSet.load()
HEAD = (
    "import torch\n\n\ndef train(x):\n    w = torch.ones(2, requires_grad=True)\n    loss = (w * x).sum()\n"
)
CALLS = "".join(f"\n\ndef mix{n}(x):\n    return mix{n - 1}(mix{n - 1}(x))\n" for n in range(1, 13))
LONG = f"import torch\n\n\ndef mix0(x):\n    return x + 1\n{CALLS}\n\ndef train(x):\n    mix12(x)\n    x.sum().backward()\n"


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[ExecutionPlan]:
    """The plans that are carried out."""
    seen: list[ExecutionPlan] = []
    analyze = entries.analyze

    def watched(module: Any, imports: Any, plan: ExecutionPlan, *rest: Any) -> Any:
        seen.append(plan)
        return analyze(module, imports, plan, *rest)

    monkeypatch.setattr(entries, "analyze", watched)
    return seen


@pytest.mark.parametrize(
    ("source", "rounds"),
    [
        ("import torch\n\n\ndef shape(x):\n    return x.shape\n", 0),
        (HEAD + "    loss.backward()\n", 1),
        (HEAD + "    loss.backward()\n    loss.detach()\n", 2),
        (HEAD + "    loss.backward()\n    loss.detach()\n\n\ntrain(torch.ones(2))\n", 1),
        (HEAD + "    loss.backward()\n    loss.backward()\n\n\ntrain(torch.ones(2))\n", 2),
        (LONG, 1),
    ],
    ids=[
        "nothing to find",
        "a look finds nothing",
        "a look finds something",
        "it runs by itself",
        "an error ends it",
        "a look takes long",
    ],
)
def test_each_round_is_there_for_a_reason(plans: list[ExecutionPlan], source: str, rounds: int) -> None:
    check_source(source, "program.py", RULES)
    assert len(plans) == rounds


def test_what_trains_gets_more_of_a_look_than_the_rest(plans: list[ExecutionPlan]) -> None:
    check_source(LONG + "\n\ndef other(x):\n    x.requires_grad_()\n", "program.py", RULES)
    (look,) = plans
    assert look.starts == {"train", "other"}
    assert look.long == {"train"}
    assert look.long_total > look.total
