"""How two backward calls use the same graph: the story and the cause."""

from __future__ import annotations

from gradcheck_tool import FreedGraph
from tests.cases import TRAINING
from tests.running import events


def test_the_line_that_freed_the_graph_and_raises_is_the_last_step_of_the_story() -> None:
    """The story of a graph that an iteration before has freed ends where the next one runs the same line."""
    source = TRAINING + "x = net(torch.ones(2)).exp()\nfor _ in range(2):\n    x.sum().backward()\n"
    (event,) = events(source, FreedGraph)
    assert [step.message.rpartition(" ")[2] for step in event.story] == ["here", "here", "again"]
    assert event.story[1].site.node is event.story[2].site.node is event.site.node
