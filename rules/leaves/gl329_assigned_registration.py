"""GL329: what registers something returns None, which then takes its place."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Class,
    Event,
    Func,
    FunctionBody,
    Interpreter,
    Rule,
    Severity,
    Site,
    State,
    Tracker,
    Violation,
    facts,
    nodes,
    when,
)

_METHODS = {
    "register_buffer": "buffer",
    "register_parameter": "Parameter",
    "add_module": "module",
    "register_module": "module",
}


@dataclass(slots=True, eq=False, kw_only=True)
class RegistrationAssigned(Event):
    """`self.name = self.register_buffer("name", value)`: None takes the place of the value.

    `method` is what is called, `kind` what it registers.
    """

    triggers = (when.ASSIGNED_REGISTRATION,)

    attribute: str
    method: str
    kind: str


class Registrations(Tracker):
    """Reads the methods of classes when they are defined."""

    derives = (RegistrationAssigned,)

    def on_object_made(self, m: Interpreter, s: State, fact: facts.ObjectMade) -> None:
        """Read the methods of a class that leaves registering to its base."""
        record = s.get(fact.object, Class)
        if record is None:
            return
        for value in record.attrs.values():
            func = s.get(value, Func)
            if func is None:
                continue
            for store, method in _assigned(func.function.worked_out(FunctionBody)):
                if not _is_overridden(s, record, method) and self.once(id(store)):
                    self.report(
                        RegistrationAssigned(
                            site=Site(record.env.module, store.node),
                            attribute=store.name,
                            method=method,
                            kind=_METHODS[method],
                        )
                    )


class AssignedRegistration(Rule):
    """What a module registers is replaced by the None that registering returns.

    ## What it detects

    `self.name = self.register_buffer("name", value)` in an `nn.Module`, and the same with
    `register_parameter`, `add_module` and `register_module`.

    ## Why it is wrong

    These methods return None, and assigning an attribute replaces what is registered under its name:
    the buffer, the Parameter or the layer becomes None. A Parameter is not trained, a buffer is neither
    moved nor saved, and what computes with it raises.

    ## Example

    ```python
    import torch
    from torch import nn


    class Weighted(nn.Module):
        def __init__(self, weights):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.weights = self.register_buffer("weights", weights)  # <- GL329

        def forward(self, x):
            return self.layer(x) * self.weights  # <- raises


    Weighted(torch.ones(3))(torch.ones(2, 3)).sum().backward()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Weighted(nn.Module):
        def __init__(self, weights):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.register_buffer("weights", weights)

        def forward(self, x):
            return self.layer(x) * self.weights


    Weighted(torch.ones(3))(torch.ones(2, 3)).sum().backward()
    ```

    ## References

    - [`torch.nn.Module.register_buffer`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer)
    """

    code = "GL329"
    name = "assigned-registration"
    severity = Severity.ERROR
    predicts = "NoneType"
    trackers = (Registrations,)

    def on_registration_assigned(self, event: RegistrationAssigned) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.method}` returns None, which replaces the {event.kind} `{event.attribute}`",
            "call it without assigning its result",
        )


def _assigned(body: FunctionBody) -> Iterator[tuple[nodes.SetAttr, str]]:
    """The attributes that get what registers something under their name, and the method that does it."""
    for store in body.instrs:
        call = body.made.get(store.src) if isinstance(store, nodes.SetAttr) else None
        func = body.made.get(call.func) if isinstance(call, nodes.Call) else None
        if not (isinstance(store, nodes.SetAttr) and isinstance(call, nodes.Call)):
            continue
        if not isinstance(func, nodes.GetAttr) or func.name not in _METHODS or len(call.args) < 2:
            continue
        name, value = (body.made.get(given.value) for given in call.args[:2])
        is_same = body.source(func.obj) == body.source(store.obj) in body.params
        is_none = isinstance(value, nodes.Const) and value.value is None
        if is_same and not is_none and isinstance(name, nodes.Const) and name.value == store.name:
            yield store, func.name


def _is_overridden(s: State, record: Class, method: str) -> bool:
    """Does a class of the program say itself what the method returns?"""
    bases = [s.get(base, Class) for base in record.mro]
    return method in record.attrs or any(base is not None and method in base.attrs for base in bases)
