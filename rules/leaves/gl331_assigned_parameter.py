"""GL331: a tensor that is no Parameter is assigned to an attribute that is one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Class,
    Condition,
    Event,
    Instance,
    Interpreter,
    Ref,
    Rule,
    Severity,
    Site,
    State,
    StateNote,
    StoryStep,
    Tensor,
    Tracker,
    Trigger,
    Violation,
    callee_text,
    facts,
    module_tree,
)


@dataclass(slots=True, eq=False, kw_only=True)
class ParameterAssigned(Event):
    """A module's Parameter `name` is assigned a tensor that is none."""

    name: str


# Functions that put what is computed in the place of a Parameter: `weight_norm`, `orthogonal`.
_COMPUTES = re.compile(r"(?:_norm|orthogonal|_parametrization)$")


class Assignments(Tracker):
    """Compares what is assigned to attributes with what the modules have registered there."""

    derives = (ParameterAssigned,)
    is_computed = StateNote[bool]()

    def __init__(self, m: Interpreter) -> None:
        super().__init__(m)
        self._known: dict[int, bool] = {}

    def on_called(self, m: Interpreter, s: State, fact: facts.Called) -> None:
        """Is the weight of a layer computed from now on?"""
        if not self._computes(m.site(s, fact.instr.node)):
            return
        for value in (*fact.args, *fact.kwargs.values()):
            if isinstance(value, Ref) and s.get(value, Instance) is not None:
                self.is_computed.set(s, value, True)

    def _computes(self, site: Site) -> bool:
        """Does the text of a call say that it computes? It is read once, as calls are frequent facts."""
        place = id(site.node)
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = _COMPUTES.search(callee_text(site)) is not None
        return known

    def on_attribute_written(self, m: Interpreter, s: State, fact: facts.AttributeWritten) -> None:
        """`nn.Module.__setattr__` is asked, unless a class has one of its own."""
        owner, given = s.get(fact.object, Instance), s.get(fact.value, Tensor)
        held = s.get(owner.attrs.get(fact.name), Tensor) if owner is not None else None
        if owner is None or given is None or held is None or held.is_param is not True:
            return
        if given.is_param is not False or not module_tree.is_module(s, owner) or _is_own(s, owner):
            return
        if isinstance(fact.object, Ref) and self.is_computed.get(s, fact.object):
            return
        if self.once(id(fact.site.node)):
            made = StoryStep(held.site, f"`{fact.name}` is made a Parameter here", "made")
            self.report(ParameterAssigned(site=fact.site, story=(made,) if held.site else (), name=fact.name))


def _is_own(s: State, owner: Instance) -> bool:
    """Does the class of an object decide itself what assigning to an attribute does?"""
    cls = s.get(owner.cls, Class)
    bases = [s.get(base, Class) for base in cls.mro] if cls is not None else []
    return any(base is not None and "__setattr__" in base.attrs for base in bases)


class AssignedParameter(Rule):
    """A tensor is assigned to an attribute of a module that holds a Parameter.

    ## What it detects

    `self.weight = tensor` or `layer.weight = tensor` where the attribute is an `nn.Parameter` and the tensor,
    such as the result of an operation, is none.

    ## Why it is wrong

    A module keeps its Parameters registered under their names, and refuses anything else but None there.
    With a plain tensor the training of the Parameter would end without a word.

    ## Example

    ```python
    import torch
    from torch import nn
    from torch.nn import functional


    class Projected(nn.Module):
        def __init__(self):
            super().__init__()
            self.directions = nn.Parameter(torch.ones(2, 3))

        def project(self):
            self.directions = functional.normalize(self.directions, dim=1)  # <- GL331

        def forward(self, x):
            return x @ self.directions.t()


    net = Projected()
    net.project()  # <- raises
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn
    from torch.nn import functional


    class Projected(nn.Module):
        def __init__(self):
            super().__init__()
            self.directions = nn.Parameter(torch.ones(2, 3))

        def project(self):
            with torch.no_grad():
                self.directions.copy_(functional.normalize(self.directions, dim=1))

        def forward(self, x):
            return x @ self.directions.t()


    net = Projected()
    net.project()
    ```

    ## Fix safety

    There is no fix: whether the Parameter is to get new values, or the result another name, is for the author
    to decide.

    ## References

    - [`torch.nn.parameter.Parameter`](https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html)
    """

    code = "GL331"
    name = "assigned-parameter"
    severity = Severity.ERROR
    predicts = "cannot assign"
    triggers = (
        Trigger(
            pattern=r"\bself\.\w+\s*=[^=]",
            in_file=("Parameter(", "register_parameter("),
            where=Condition.BINDS_PARAMETER,
            callers=False,
        ),
        Trigger(
            word=(".weight", ".bias"), pattern=r"\.(?:weight|bias)\s*=[^=]", in_file=("nn.",), callers=False
        ),
    )
    trackers = (Assignments,)

    def on_parameter_assigned(self, event: ParameterAssigned) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.name}` is a Parameter, to which a module assigns nothing but a Parameter or None",
            "copy the values into it under `torch.no_grad()`, or give the result another name",
        )
