"""GL522: a module's own `train` does not pass the mode on."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    TRUE,
    Class,
    Event,
    Func,
    FunctionBody,
    Interpreter,
    LibraryObject,
    Rule,
    Severity,
    Site,
    State,
    Tracker,
    Violation,
    facts,
    nodes,
    places,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class ModeForgotten(Event):
    """`train(self, mode=True)` of a module calls `train()` of something, and nothing in it reads `mode`."""

    triggers = (when.TRAIN_METHOD,)

    module: str
    mode: str
    call: str


class TrainMethods(Tracker):
    """Reads the `train` of classes when they are defined."""

    derives = (ModeForgotten,)

    def on_object_made(self, m: Interpreter, s: State, fact: facts.ObjectMade) -> None:
        """Read a class that leaves `eval` to `nn.Module`, which calls `train(False)`."""
        record = s.get(fact.object, Class)
        func = s.get(record.attrs["train"], Func) if record is not None and "train" in record.attrs else None
        if record is None or func is None or not _has_eval_of_module(s, record, func):
            return
        mode = _mode(func)
        if not mode or any(isinstance(i, nodes.LoadName) and i.name == mode for i in _code(func)):
            return
        for call in _switched_on(func.function.worked_out(FunctionBody)):
            if self.once(id(call)):
                site = Site(record.env.module, call.node)
                text = places.text_of(site, call.node)
                self.report(ModeForgotten(site=site, module=record.name, mode=mode, call=text))


class ModeNotPassedOn(Rule):
    """A module's own `train(mode)` puts layers into training mode, whatever the mode is.

    ## What it detects

    A `train(self, mode=True)` of an `nn.Module` that calls `train()` or `train(True)` of a layer or of
    `super()` and nowhere reads `mode`.

    ## Why it is wrong

    `eval()` calls `train(False)`. A method that does not look at the mode switches training on: dropout and
    batch norm behave in evaluation as they do in training. Nothing is raised.

    ## Example

    ```python
    import torch
    from torch import nn


    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(3)

        def train(self, mode=True):
            self.norm.train()  # <- GL522
            return self

        def forward(self, x):
            return self.norm(x)


    block = Block().eval()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(3)

        def train(self, mode=True):
            self.norm.train(mode)
            return self

        def forward(self, x):
            return self.norm(x)


    block = Block().eval()
    ```

    ## References

    - [`torch.nn.Module.train`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.train)
    """

    code = "GL522"
    name = "mode-not-passed-on"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the layers stay in training mode"
    symptom = "assert block.norm.training"
    trackers = (TrainMethods,)

    def on_mode_forgotten(self, event: ModeForgotten) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`eval()` of `{event.module}` calls `train(False)`, which calls `{event.call}`, whatever "
            f"`{event.mode}` is",
            f"pass `{event.mode}` on",
        )


def _has_eval_of_module(s: State, record: Class, train: Func) -> bool:
    """Does it derive from `nn.Module` and keep its `eval`? Out of sight, the name `mode` tells a base."""
    inherited = [s.get(base, Class) for base in record.mro]
    if any(base is not None and "eval" in base.attrs for base in inherited):
        return False
    known = (base.name for base in record.mro if isinstance(base, LibraryObject))
    return (record.open and _mode(train) == "mode") or any(name.startswith("torch.nn.") for name in known)


def _mode(func: Func) -> str:
    """The parameter of `train(self, mode=True)`; empty where the method is another one."""
    names = [parameter.name for parameter in func.function.params]
    return names[1] if len(names) == 2 and func.defaults.get(names[1]) == TRUE else ""


def _code(func: Func) -> Iterator[nodes.Instr]:
    function: nodes.Function = func.function
    return function.instructions()


def _switched_on(body: FunctionBody) -> Iterator[nodes.Call]:
    """The calls of `train()` and `train(True)`."""
    for call in body.instrs:
        func = body.made.get(call.func) if isinstance(call, nodes.Call) else None
        if isinstance(call, nodes.Call) and isinstance(func, nodes.GetAttr) and func.name == "train":
            given = [body.made.get(argument.value) for argument in call.args]
            if all(isinstance(one, nodes.Const) and one.value is True for one in given):
                yield call
