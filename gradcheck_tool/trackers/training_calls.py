"""Steps of optimizers and clearings of gradients, with what the gradients are then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import GradientsCleared, OptimizerStep
from gradcheck_tool.library.torch.gradient_kinds import gradient_kinds
from gradcheck_tool.library.torch.optimizers import params_of
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp import facts
    from gradcheck_tool.interp.api import Interpreter


class TrainingCalls(Tracker):
    """Reports each step and each clearing: rules compare all of a file."""

    derives = (GradientsCleared, OptimizerStep)

    def on_stepped(self, m: Interpreter, s: State, fact: facts.Stepped) -> None:
        """Report what the gradients are that an optimizer is about to apply."""
        self.report(
            OptimizerStep(
                site=fact.site,
                optimizer=fact.name,
                gradients=gradient_kinds(s, *params_of(s, fact.optimizer)),
                scaler=fact.scaler,
                in_loop=m.places.repeats(s, fact.site),
            )
        )

    def on_gradients_cleared(self, m: Interpreter, s: State, fact: facts.GradientsCleared) -> None:
        """Report whose gradients are cleared, and whether they have been applied."""
        self.report(GradientsCleared(site=fact.site, target=fact.target, fresh=fact.is_fresh))
