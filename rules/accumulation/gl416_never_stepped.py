"""GL416: an optimizer is made, and never steps."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gradcheck_tool import (
    OPTIMIZERS,
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
    Value,
    Violation,
    facts,
    nodes,
    places,
    source_text,
    when,
)

# What is done with an optimizer without letting it step, or showing it to code that may.
_QUIET = r"zero_grad|state_dict|load_state_dict|param_groups|add_param_group|defaults|scaler"
# What an optimizer is wrapped by, in whose place the result comes.
_PREPARED = r"\s*=\s*[\w.]*\bprepare\(\s*"
_COMMENT = re.compile(r"#[^\n]*")


@dataclass(slots=True, eq=False, kw_only=True)
class NeverStepped(Event):
    """An optimizer that is made beside a backward gets gradients cleared at most, and nobody else has it."""

    triggers = (when.OPTIMIZER,)

    optimizer: str


class Steps(Tracker):
    """Reads what is done with the optimizers that functions and constructors make."""

    derives = (NeverStepped,)

    def on_object_made(self, m: Interpreter, s: State, fact: facts.ObjectMade) -> None:
        """A class is defined: which optimizers do its methods keep?"""
        record = s.get(fact.object, Class)
        if record is None or record.open or not all(_is_in_sight(s, base) for base in record.mro):
            return
        module = record.env.module
        text = _COMMENT.sub("", module.source)
        for func in (s.get(value, Func) for value in record.attrs.values()):
            body = func.function.worked_out(FunctionBody) if func is not None else None
            for i in _kept(body, text) if body is not None else ():
                if _is_idle(rf"\.{i.name}", text):
                    self._report(module, i.node, f"self.{i.name}", ((record.name, i.name),))

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Which optimizers do functions, or the script, make for themselves?"""
        module = fact.module
        if places.is_of_tests(module):
            # A test may look at what a backward computes, and clear that as training code does.
            return
        for function in (module.body, *module.functions):
            body = function.worked_out(FunctionBody)
            made = [i for i in body.instrs if isinstance(i, nodes.StoreName) and _is_made(body, i.src)]
            if not made:
                continue
            is_script = function is module.body
            text = _COMMENT.sub("", module.source if is_script else source_text(Site(module, function.node)))
            for i in made:
                is_own = i.scope is nodes.Scope.LOCAL or is_script
                if is_own and _is_idle(rf"(?<![.\w]){i.name}", text):
                    self._report(module, i.node, i.name, ())

    def _report(
        self, module: nodes.ModuleIR, node: Any, name: str, unless: tuple[tuple[str, str], ...]
    ) -> None:
        self.report(NeverStepped(site=Site(module, node), optimizer=name, unless=unless))


def _is_in_sight(s: State, base: Value) -> bool:
    """Is it a class of the repository, or one of torch's, which steps nothing?"""
    of_torch = isinstance(base, LibraryObject) and base.name.startswith(("builtins.", "torch.nn."))
    return of_torch or s.get(base, Class) is not None


def _kept(body: FunctionBody, text: str) -> Iterator[nodes.SetAttr]:
    """Where a method keeps an optimizer that it makes as an attribute of its object."""
    own = (i for i in body.instrs if isinstance(i, nodes.SetAttr) and body.source(i.obj) in body.params[:1])
    return (i for i in own if _is_made(body, i.src) or _is_made_as_others(body, i.src, text))


def _is_made_as_others(body: FunctionBody, reg: int, text: str) -> bool:
    """Is it what a function makes of parameters that makes others which step (`get_optimizer(...)`)?"""
    made = body.made.get(reg)
    func = body.made.get(made.func) if isinstance(made, nodes.Call) else None
    if not isinstance(made, nodes.Call) or not isinstance(func, nodes.LoadName) or not made.args:
        return False
    given = body.made.get(made.args[0].value)
    asked = body.made.get(given.func) if isinstance(given, nodes.Call) else None
    if not isinstance(asked, nodes.GetAttr) or asked.name != "parameters":
        return False
    others = re.findall(rf"\.(\w+)\s*=\s*{func.name}\(", text)
    return any(re.search(rf"\.{name}\s*\.step\(", text) is not None for name in others)


def _is_made(body: FunctionBody, reg: int) -> bool:
    """Is it the result of a call such as `optim.Adam(...)`?"""
    made = body.made.get(reg)
    func = body.made.get(made.func) if isinstance(made, nodes.Call) else None
    if isinstance(func, nodes.GetAttr):
        owner = body.made.get(func.obj)
        of_torch = isinstance(owner, (nodes.GetAttr, nodes.LoadName)) and owner.name == "optim"
        return of_torch and func.name in OPTIMIZERS
    return isinstance(func, nodes.LoadName) and func.name in OPTIMIZERS


def _is_idle(name: str, text: str) -> bool:
    """Does a text that back-propagates mention an optimizer without letting it step or handing it on?

    Where gradients are used by hand, an optimizer may be there to clear them.
    """
    quiet = (
        rf"{name}\s*(?::[\w\s.,|\[\]'\"]+)?=(?!=)",
        rf"{name}\s*\.(?:{_QUIET})\b",
        rf"{name}{_PREPARED}(?:self(?=\.))?{name}\b(?=\s*\))",
        rf"(?:LR|[sS]cheduler|schedule\w*)\(\s*(?:optimizer\s*=\s*)?(?:self(?=\.))?{name}\b(?=\s*[,)])",
    )
    if re.search(r"\bbackward\(", text) is None or re.search(r"\.grad\b(?!\()", text) is not None:
        return False
    mentions = len(re.findall(rf"{name}\b", text))
    return mentions == sum(len(re.findall(pattern, text)) for pattern in quiet)


class OptimizerNeverSteps(Rule):
    """An optimizer is created and its gradients are cleared, but it never steps.

    ## What it detects

    An optimizer of `torch.optim` in a function, class or script that back-propagates, of which nothing is
    used but `zero_grad`, its state and its learning rate, and which nothing else gets. A test may look at
    gradients alone.

    ## Why it is wrong

    The parameters that it holds keep their values. Where one optimizer steps in the place of another, that
    one steps twice.

    ## Example

    ```python
    import torch

    encoder, decoder = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    start = decoder.weight.detach().clone()
    of_encoder = torch.optim.SGD(encoder.parameters(), lr=0.1)
    of_decoder = torch.optim.SGD(decoder.parameters(), lr=0.1)  # <- GL416
    for _ in range(3):
        loss = decoder(encoder(torch.ones(4, 2))).pow(2).mean()
        of_encoder.zero_grad()
        of_decoder.zero_grad()
        loss.backward()
        of_encoder.step()
    ```

    ## Use instead

    ```python
    import torch

    encoder, decoder = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    start = decoder.weight.detach().clone()
    of_encoder = torch.optim.SGD(encoder.parameters(), lr=0.1)
    of_decoder = torch.optim.SGD(decoder.parameters(), lr=0.1)
    for _ in range(3):
        loss = decoder(encoder(torch.ones(4, 2))).pow(2).mean()
        of_encoder.zero_grad()
        of_decoder.zero_grad()
        loss.backward()
        of_encoder.step()
        of_decoder.step()
    ```

    ## Fix safety

    There is no fix: a step may be missing, or have another optimizer's name.

    ## References

    - [`torch.optim`: taking an optimization step](https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step)
    """

    code = "GL416"
    name = "never-stepped"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the parameters keep their values"
    symptom = "assert torch.equal(decoder.weight, start)"
    trackers = (Steps,)

    def on_never_stepped(self, event: NeverStepped) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.optimizer}` never steps: the parameters that it holds are not trained",
            f"call `{event.optimizer}.step()` after the backward",
        )
