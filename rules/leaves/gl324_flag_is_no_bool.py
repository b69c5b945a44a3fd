"""GL324: `requires_grad` is given something other than True or False."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Const,
    Event,
    Interpreter,
    Rule,
    Severity,
    State,
    Tensor,
    Tracker,
    Value,
    Violation,
    facts,
    source_text,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class FlagOfOtherType(Event):
    """`requires_grad` of a tensor is assigned a tensor, a number or None."""

    value: str


class FlagTypes(Tracker):
    """What is assigned to `requires_grad`."""

    derives = (FlagOfOtherType,)

    def on_attribute_written(self, m: Interpreter, s: State, fact: facts.AttributeWritten) -> None:
        """A tensor, or what certainly is the object itself, is no flag."""
        if fact.name != "requires_grad" or fact.instr is None:
            return
        of_tensor = s.get(fact.object, Tensor) is not None
        wrong = fact.value == fact.object or (of_tensor and _is_no_flag(s, fact.value))
        if wrong and self.once(id(fact.instr)):
            value = source_text(fact.site).rpartition("=")[2].strip()
            self.report(FlagOfOtherType(site=fact.site, value=value))


def _is_no_flag(s: State, value: Value) -> bool:
    if isinstance(value, Const):
        return not isinstance(value.value, bool)
    return s.get(value, Tensor) is not None


class FlagIsNoBool(Rule):
    """`requires_grad` is assigned something other than a bool.

    ## What it detects

    `p.requires_grad = value` where the value is a tensor, a number or None, or the object itself: often
    the variable of a loop has the name of the parameter that holds the flag.

    ## Why it is wrong

    PyTorch takes nothing but True and False, and raises.

    ## Example

    ```python
    import torch


    def train_only(tensors, flag):
        for flag in tensors:
            flag.requires_grad = flag  # <- GL324


    train_only([torch.ones(2), torch.ones(3)], True)
    ```

    ## Use instead

    ```python
    import torch


    def train_only(tensors, flag):
        for tensor in tensors:
            tensor.requires_grad = flag


    train_only([torch.ones(2), torch.ones(3)], True)
    ```

    ## References

    - [`torch.Tensor.requires_grad`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad.html)
    """

    code = "GL324"
    name = "flag-is-no-bool"
    severity = Severity.ERROR
    predicts = "requires_grad must be a bool"
    triggers = (when.REQUIRES_GRAD,)
    trackers = (FlagTypes,)

    def on_flag_of_other_type(self, event: FlagOfOtherType) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`requires_grad` is True or False, and `{event.value}` is neither",
            "assign a bool",
        )
