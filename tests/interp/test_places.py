"""What the text of a place says: the loops around it, and how an object is called there."""

from __future__ import annotations

from gradcheck_tool import OptimizerStep
from tests.cases import TRAINING
from tests.running import events


def test_an_optimizer_is_named_as_the_program_names_it() -> None:
    source = TRAINING + "class Box: pass\nbox = Box()\nbox.opt = opt\nbox.opt.step()\n"
    assert [(e.optimizer, e.in_loop) for e in events(source, OptimizerStep)] == [("box.opt", False)]
