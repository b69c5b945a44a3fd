"""GL523: `train()`, `eval()` or these methods themselves where a condition stands."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    TRUE,
    Bound,
    Event,
    FunctionBody,
    Instance,
    Interpreter,
    Method,
    Rule,
    Severity,
    State,
    Tracker,
    Violation,
    facts,
    module_tree,
    nodes,
    places,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class SwitchAsCondition(Event):
    """`if model.train():` switches the mode of the module instead of asking for it.

    `mode` is None for `if model.train:`, which does not even switch it.
    """

    triggers = (when.SWITCH_AS_CONDITION,)

    module: str
    call: str
    mode: str | None


class Switches(Tracker):
    """Looks at what becomes of the module that `train()` and `eval()` return."""

    derives = (SwitchAsCondition,)

    def on_mode_switched(self, m: Interpreter, s: State, fact: facts.ModeSwitched) -> None:
        """Is the result tested?"""
        body = places.running_function(s).worked_out(FunctionBody)
        calls = [i for i in body.instrs if isinstance(i, nodes.Call) and i.node is fact.site.node]
        if any(_is_tested(body, call.dst) for call in calls) and self.once(id(fact.site.node)):
            self.report(
                SwitchAsCondition(
                    site=fact.site,
                    module=places.receiver_text(fact.site, "the module"),
                    call=places.text_of(fact.site, fact.site.node),
                    mode="training" if fact.training == TRUE else "evaluation",
                )
            )

    def on_attribute_read(self, m: Interpreter, s: State, fact: facts.AttributeRead) -> None:
        """Is the method itself tested, which is always there?"""
        i = fact.instr
        record = s.get(fact.object, Instance)
        if i.name not in ("train", "eval") or record is None or not module_tree.is_module(s, record):
            return
        body = places.running_function(s).worked_out(FunctionBody)
        if isinstance(fact.value, (Bound, Method)) and _is_tested(body, i.dst) and self.once(id(i.node)):
            site = m.site(s, i.node)
            call = places.text_of(site, i.node)
            module = call.rpartition(".")[0]
            self.report(SwitchAsCondition(site=site, module=module, call=call, mode=None))


class ModeSwitchAsCondition(Rule):
    """A condition switches the mode of a module instead of reading it.

    ## What it detects

    `if model.train():`, `while model.eval():`, `self.train() and ...`, of an `nn.Module`; and
    `if self.train:`, where `train` is the method.

    ## Why it is wrong

    `train()` and `eval()` switch the mode and return the module, which is true: the condition always holds,
    and a module in evaluation mode is in training mode from then on. A method itself is true, too. Nothing is
    raised.

    ## Example

    ```python
    import torch
    from torch import nn


    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            if self.train():  # <- GL523
                x = x + torch.randn_like(x)
            return self.layer(x)


    net = Noisy().eval()
    output = net(torch.ones(2, 3))
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            if self.training:
                x = x + torch.randn_like(x)
            return self.layer(x)


    net = Noisy().eval()
    output = net(torch.ones(2, 3))
    ```

    ## References

    - [`torch.nn.Module.train`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.train)
    """

    code = "GL523"
    name = "mode-switch-as-condition"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the condition always holds, and the module's mode is switched"
    symptom = "assert net.training"
    trackers = (Switches,)

    def on_switch_as_condition(self, event: SwitchAsCondition) -> Iterator[Violation]:
        does = f"puts `{event.module}` into {event.mode} mode" if event.mode else "does not ask for the mode"
        yield self.finding(
            event,
            f"`{event.call}` is {'always' if event.mode else 'a method, which is always'} true and {does}",
            f"to ask for the mode, read `{event.module}.training`",
        )


def _is_tested(body: FunctionBody, reg: int) -> bool:
    uses = list(body.uses(reg))
    return any(
        isinstance(use, nodes.Branch) or (isinstance(use, nodes.UnaryOp) and use.op == "not") for use in uses
    )
