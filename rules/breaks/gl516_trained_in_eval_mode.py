"""GL516: a module is trained on in evaluation mode."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    FALSE,
    TRUE,
    Event,
    Instance,
    Interpreter,
    Ref,
    Rule,
    RunNote,
    Severity,
    Site,
    State,
    StateNote,
    StoryNote,
    StoryStep,
    Symbol,
    Tracker,
    Violation,
    facts,
    module_tree,
    places,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class EvalModeTraining(Event):
    """A module is trained in evaluation mode, by a place that has trained it in training mode before.

    The site is the call of `eval()`. After it a forward without gradients, or one at a place that has never
    trained the module, evaluated it, and nothing called `train()`. Only emitted for modules to which the mode
    matters (dropout, batch norm).
    """

    triggers = when.TRAINING

    module: str
    call: str
    optimizer: str


class Modes(Tracker):
    """Follows what `train()` and `eval()` reach, and where modules then run."""

    derives = (EvalModeTraining,)
    callees = frozenset({"train"})
    # Where `eval()` has reached a module; None once `train()` has.
    eval_call = StateNote[Site | None]()
    # The calls that led there, the innermost first.
    around = StoryNote[Ref, tuple[Site, ...]]()
    # `train()` or `eval()` has reached it.
    switched = StateNote[bool]()
    evaluated = StateNote[bool]()
    # It was evaluated with gradients on.
    recorded = StateNote[bool]()
    # A place that has trained the module runs it with gradients, after it was evaluated.
    stale = StateNote[bool]()
    # A pass has given its parameters gradients since then.
    differentiated = StateNote[bool]()
    # `train()` is called on it, and it has not run in training mode since.
    wanted = StateNote[bool]()
    trained = RunNote[tuple[int, int], bool]()

    def on_mode_switched(self, m: Interpreter, s: State, fact: facts.ModeSwitched) -> None:
        """Note the mode on all modules that it reaches."""
        around = tuple(filter(None, (s[frame].site for frame in reversed(s.frames))))
        for ref in fact.modules:
            self.around.set(s, ref, around)
            self.evaluated.clear(s, ref)
            self.stale.clear(s, ref)
            self.differentiated.clear(s, ref)
            self.eval_call.set(s, ref, fact.site if fact.training == FALSE else None)
            self.switched.set(s, ref, True)
        if fact.training == TRUE:
            self.wanted.set(s, fact.modules[0], True)

    def on_called(self, m: Interpreter, s: State, fact: facts.Called) -> None:
        """`train()` of something unknown (`getattr(self, name).train()`) may reach any module."""
        key = fact.func.key if isinstance(fact.func, Symbol) else None
        if isinstance(key, tuple) and key[0] == "attr" and key[2] == "train":
            for ref, _ in s.records(Instance):
                if self.eval_call.get(s, ref) is not None:
                    self.eval_call.set(s, ref, None)

    def on_module_called(self, m: Interpreter, s: State, fact: facts.ModuleCalled) -> None:
        """Is the module trained or evaluated here?"""
        ref, place = fact.module, (fact.module.id, id(fact.call.site.node))
        training = s[ref].attrs.get("training")
        # What is given to be trained is in training mode, as long as nobody has switched it.
        is_new = training != FALSE and not self.switched.get(s, ref)
        if s.grad is True and (training == TRUE or is_new):
            self.trained[place] = True
            self.wanted.clear(s, ref)
        elif training == FALSE and self.eval_call.get(s, ref) is not None:
            if not self.evaluated.get(s, ref) and (s.grad is False or place not in self.trained):
                self.evaluated.set(s, ref, True)
                self.recorded.set(s, ref, s.grad is not False)
            elif s.grad is True and self.evaluated.get(s, ref) and not self.stale.get(s, ref):
                self._train(s, ref, place)

    def on_backward_ran(self, m: Interpreter, s: State, fact: facts.BackwardRan) -> None:
        """What is differentiated is no evaluation: an attack, for one."""
        for ref, _ in s.records(Instance):
            if self.stale.get(s, ref) and not set(fact.run.leaves).isdisjoint(_parameters(s, ref)):
                self.differentiated.set(s, ref, True)
            if self.evaluated.get(s, ref) and self.recorded.get(s, ref) and not self.stale.get(s, ref):
                self.evaluated.clear(s, ref)

    def _train(self, s: State, ref: Ref, place: tuple[int, int]) -> None:
        """A module that has been evaluated runs with gradients: is it meant to be trained here?"""
        if place in self.trained or self.wanted.get(s, ref):
            self.stale.set(s, ref, True)

    def on_stepped(self, m: Interpreter, s: State, fact: facts.Stepped) -> None:
        """Is a module whose parameters are moved trained in evaluation mode?"""
        for ref, record in s.records(Instance):
            site = self.eval_call.get(s, ref)
            if site is None or not self.stale.get(s, ref):
                continue
            moved = _parameters(s, ref)
            if not self.differentiated.get(s, ref):
                moved = {p for p in moved if s[p].grad_state in ("fresh", "mixed")}
            inner = [at for _, at in module_tree.modules(s, ref)]
            if moved.isdisjoint(fact.parameters) or all(module_tree.is_modal(s, at) is False for at in inner):
                continue
            if any(s[at].attrs.get("training") == TRUE for at in inner):
                # A part that is in training mode again was chosen: the rest is meant to stay as it is.
                continue
            if self.once(id(site.node)):
                call = places.text_of(site, site.node)
                told = (
                    *_led_there(site, self.around.get(s, ref) or (), fact.site),
                    StoryStep(site, f"`{call}` switches evaluation mode on here"),
                    StoryStep(fact.site, f"`{fact.name}` goes on training here"),
                )
                module, name = record.name, fact.name
                self.report(EvalModeTraining(site=site, story=told, module=module, call=call, optimizer=name))


def _led_there(site: Site, around: tuple[Site, ...], trained: Site) -> Iterator[StoryStep]:
    """The call in the file that trains which leads to `eval()` in another one."""
    near = [call for call in around if call.module is trained.module is not site.module]
    for call in near[:1]:
        yield StoryStep(call, f"`{places.text_of(call, call.node)}` leads to the evaluation")


def _parameters(s: State, ref: Ref) -> set[Ref]:
    return {p for _, p in module_tree.named_parameters(s, ref)[0]}


class TrainedInEvalMode(Rule):
    """A module is evaluated during training and stays in evaluation mode.

    ## What it detects

    A module that is put into evaluation mode, evaluated (without gradients, or by a line that has not trained
    it), and then trained by the same line that has trained it in training mode before, with no `train()` in
    between. Also one for which `train()` was called and which was never run in that mode. Only modules with
    layers to which the mode matters are reported, and none of which a part was put into training mode again.

    ## Why it is wrong

    From the first evaluation on dropout does nothing and batch norm uses frozen statistics while
    the weights go on changing. Nothing is raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.train()
    for epoch in range(3):
        optimizer.zero_grad()
        loss = model(torch.randn(8, 2)).pow(2).mean()
        loss.backward()
        optimizer.step()
        model.eval()  # <- GL516
        with torch.no_grad():
            score = model(torch.randn(8, 2)).mean()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        model.train()
        optimizer.zero_grad()
        loss = model(torch.randn(8, 2)).pow(2).mean()
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            score = model(torch.randn(8, 2)).mean()
    model.train()
    ```

    ## Fix safety

    There is no fix: where training continues is for the author to decide.

    ## References

    - [`torch.nn.Module.eval`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.eval)
    - [Evaluation mode](https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval)
    """

    code = "GL516"
    name = "trained-in-eval-mode"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "dropout and batch norm stay switched off for the rest of the training"
    symptom = "assert not model.training"
    trackers = (Modes,)

    def on_eval_mode_training(self, event: EvalModeTraining) -> Iterator[Violation]:
        module = f"`{event.module}`" if event.module else "the module"
        yield self.finding(
            event,
            f"{module} stays in evaluation mode after `{event.call}`, and `{event.optimizer}` goes on "
            "training it",
            "call `train()` before the next training step",
        )
