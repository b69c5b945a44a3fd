"""GL212: `.data` or `.grad` of a tensor that nothing else holds is assigned."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gradcheck_tool import (
    FALSE,
    Event,
    FunctionBody,
    Interpreter,
    Rule,
    Severity,
    State,
    Tensor,
    Tracker,
    Violation,
    facts,
    nodes,
    places,
    when,
)

# Methods whose result is another object, whatever the tensor is.
_NEW = frozenset({"view", "view_as", "detach", "clone", "unsqueeze", "select", "narrow", "permute"})


@dataclass(slots=True, eq=False, kw_only=True)
class TemporaryWritten(Event):
    """`x[i].data = value`: the attribute of a tensor that an index or a method has just made is assigned.

    `target` is the text of that tensor, `source` of the one that it is a part or a copy of.
    """

    triggers = (when.WRITE_TO_TEMPORARY,)

    target: str
    source: str
    attribute: str


class Temporaries(Tracker):
    """Looks at the tensors whose attributes are assigned."""

    derives = (TemporaryWritten,)

    def on_attribute_written(self, m: Interpreter, s: State, fact: facts.AttributeWritten) -> None:
        """Has the target been made by the statement itself?"""
        i = fact.instr
        if i is None or i.augmented or fact.name not in ("data", "grad", "requires_grad"):
            return
        if s.get(fact.object, Tensor) is None or (fact.name == "requires_grad" and fact.value == FALSE):
            return
        body = places.running_function(s).worked_out(FunctionBody)
        made = body.made.get(i.obj)
        source = _source(body, made)
        if made is None or source is None or s.get(m.get(s, source[0]), Tensor) is None:
            return
        if m.get(s, source[0]) != fact.object and self.once(id(i)):
            site = m.site(s, i.node)
            self.report(
                TemporaryWritten(
                    site=site,
                    target=places.text_of(site, made.node),
                    source=places.text_of(site, source[1]),
                    attribute=fact.name,
                )
            )


class WriteToTemporary(Rule):
    """The data or the gradient of a tensor that is dropped at once is assigned.

    ## What it detects

    `x[i].data = value` of a tensor `x`, and the same with `.grad` and `.requires_grad` and after
    `view()`, `detach()`, `clone()` and other methods that return a new tensor.

    ## Why it is wrong

    An index makes a new tensor object. Assigning `.data` gives this object other memory instead of writing
    into that of `x`, which nothing refers to afterwards: `x` is unchanged. Nothing is raised.

    ## Example

    ```python
    import torch

    weight = torch.nn.Parameter(torch.ones(3, 2))
    weight[0].data = torch.zeros(2)  # <- GL212
    loss = (weight**2).sum()
    loss.backward()
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.nn.Parameter(torch.ones(3, 2))
    with torch.no_grad():
        weight[0] = torch.zeros(2)
    loss = (weight**2).sum()
    loss.backward()
    ```

    ## References

    - [Tensor views](https://docs.pytorch.org/docs/stable/tensor_view.html)
    """

    code = "GL212"
    name = "write-to-temporary"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the assignment has no effect"
    symptom = "assert weight.grad[0, 0] == 2"
    trackers = (Temporaries,)

    def on_temporary_written(self, event: TemporaryWritten) -> Iterator[Violation]:
        advice = {
            "data": f"write into it: `{event.target}.copy_(...)`",
            "grad": f"write into the gradient of `{event.source}`",
            "requires_grad": f"set it on `{event.source}`",
        }
        yield self.finding(
            event,
            f"`{event.target}` is a new tensor that nothing else refers to: assigning its "
            f"`.{event.attribute}` does not change `{event.source}`",
            advice[event.attribute],
        )


def _source(body: FunctionBody, made: nodes.Instr | None) -> tuple[int, Any] | None:
    """Of what an index or a method makes a tensor, as register and node; None where something may keep it."""
    node: Any = made.node if made is not None else None
    if isinstance(made, nodes.GetItem):
        return made.obj, node.value
    func = body.made.get(made.func) if isinstance(made, nodes.Call) else None
    return (func.obj, node.func.value) if isinstance(func, nodes.GetAttr) and func.name in _NEW else None
