"""What happens to tensors on the way to a finding, for who draws its story: listens only when asked to.

Each moment knows the one before it on the same way through the program. Of two ways that nothing tells apart
the first goes on, as everywhere, so that the moments before any other are those of one feasible way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from gradcheck_tool.domain.events import StoryStep
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.values import NONE
from gradcheck_tool.trackers.notes import StoryNote
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.records import Frame
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value
    from gradcheck_tool.interp import facts
    from gradcheck_tool.interp.api import Interpreter

# Of a program that does more, the rest is not recorded.
MOST = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """One thing that happened.

    Attributes:
        step: what a story would say of it.
        calls: the calls that led there, the outermost first, with the name of what each runs.
        before: what happened before it.
    """

    step: StoryStep
    calls: tuple[tuple[Site, str], ...]
    before: Moment | None


class Recorder(Tracker):
    """Records moments. Each run needs a class of its own, which `recorder` makes."""

    moments: ClassVar[list[Moment]] = []

    _last = StoryNote[str, Moment]()

    def on_name_bound(self, m: Interpreter, s: State, fact: facts.NameBound) -> None:
        tensor: Tensor = s[fact.value]
        name = fact.instr.name
        site, version = m.site(s, fact.instr.node), _version(s, tensor)
        self._add(s, StoryStep(site, f"`{name}` names it", "alias", name, tensor.storage, version))

    def on_attribute_written(self, m: Interpreter, s: State, fact: facts.AttributeWritten) -> None:
        tensor = s.get(fact.value, Tensor)
        if tensor is not None and fact.instr is not None:
            version = _version(s, tensor)
            told = f"`.{fact.name}` keeps it"
            self._add(s, StoryStep(fact.site, told, "alias", f".{fact.name}", tensor.storage, version))

    def on_computed(self, m: Interpreter, s: State, fact: facts.Computed) -> None:
        result = s.get(fact.result, Tensor)
        node = s.get(result.grad_fn, Node) if result is not None and result.grad_fn is not None else None
        for slot in node.saved_tensors if node is not None and node.site == fact.site else ():
            told = f"`{fact.text}` saves `{slot.text}`"
            self._add(s, StoryStep(fact.site, told, "saved", slot.text, slot.storage, slot.version))

    def on_written(self, m: Interpreter, s: State, fact: facts.Written) -> None:
        tensor: Tensor = s[fact.tensor]
        is_seen = tensor.version_counter == NONE
        told = f"`{fact.how}` changes it" if is_seen else f"`{fact.how}` changes it, unseen by autograd"
        version = _version(s, tensor) if is_seen else None
        self._add(s, StoryStep(fact.site, told, "changed", tensor.name, tensor.storage, version))

    def on_backward_ran(self, m: Interpreter, s: State, fact: facts.BackwardRan) -> None:
        run = fact.run
        kept = " and keeps the graph" if run.retain else " and frees the graph"
        what = "computes gradients" if run.inputs is not None else "fills `.grad`"
        self._add(s, StoryStep(run.site, f"`{run.text}` {what}{kept}", "backward"))

    def on_gradients_cleared(self, m: Interpreter, s: State, fact: facts.GradientsCleared) -> None:
        self._add(s, StoryStep(fact.site, f"the gradients of `{fact.target}` are cleared", "cleared"))

    def on_gradients_applied(self, m: Interpreter, s: State, fact: facts.GradientsApplied) -> None:
        who = f"`{fact.text}` applies the gradients" if fact.name else "the gradient is applied"
        self._add(s, StoryStep(fact.site, who, "applied"))

    def on_grad_mode_switched(self, m: Interpreter, s: State, fact: facts.GradModeSwitched) -> None:
        if fact.site is not None and fact.on is not None:
            told = f"gradients are switched {'on' if fact.on else 'off'}"
            self._add(s, StoryStep(fact.site, told, "switched"))

    def on_path_ended(self, m: Interpreter, s: State, fact: facts.PathEnded) -> None:
        """The end of a way, on which PyTorch may have raised what a finding is about."""
        event = m.raised.get(getattr(fact.value, "id", 0))
        if event is not None and not fact.returns:
            self._add(s, StoryStep(event.site, "PyTorch raises here", "raised"))

    def _add(self, s: State, step: StoryStep) -> None:
        if len(self.moments) < MOST and s.frames:
            moment = Moment(step, _calls(s), self._last.get(s, ""))
            self._last.set(s, "", moment)
            self.moments.append(moment)


def recorder() -> type[Recorder]:
    """A tracker for one run, whose class has the moments."""
    return type("Recorder", (Recorder,), {"moments": []})


def _version(s: State, tensor: Tensor) -> Value:
    return s[tensor.storage].version_of(tensor.version_counter)  # type: ignore[no-any-return]


def _calls(s: State) -> tuple[tuple[Site, str], ...]:
    """The calls of functions of the program that are running, less what is executed on its own."""
    frames: list[Frame] = [s[ref] for ref in s.frames]
    return tuple(
        (frame.site, frame.function.name)
        for frame in frames
        if frame.site is not None and not frame.env.is_model and frame.site.node is not frame.function.node
    )
