"""GL808: a reentrant checkpoint whose inputs need no gradient."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradcheck_tool import (
    NONE,
    TRUE,
    Const,
    Event,
    Instance,
    Interpreter,
    Ref,
    Rule,
    Severity,
    State,
    Tensor,
    Tracker,
    Value,
    Violation,
    facts,
    module_tree,
    requires,
    when,
    with_keyword,
)

CHECKPOINT = "torch.utils.checkpoint.checkpoint"


@dataclass(slots=True, eq=False, kw_only=True)
class ConstantCheckpoint(Event):
    """A reentrant checkpoint of a module that trains is given no tensor that requires grad."""

    triggers = (when.CHECKPOINT,)

    call: str


class Checkpoints(Tracker):
    """Looks at what reentrant checkpoints are given."""

    derives = (ConstantCheckpoint,)

    def on_library_called(self, m: Interpreter, s: State, fact: facts.LibraryCalled) -> None:
        """Does one get no input that requires grad?"""
        call = fact.call
        if fact.name == CHECKPOINT:
            run, given = call.get(0, "function"), call.args[1:]
        elif fact.name == f"{CHECKPOINT}_sequential" and call.get(1, "segments") != Const(1):
            run, given = call.get(0, "functions"), [call.get(2, "input") or NONE]
        else:
            return
        if call.kwargs.get("use_reentrant") == TRUE and _trains(s, run) and _is_constant(s, given):
            self.report(ConstantCheckpoint(site=call.site, call=str(call.text)))


def _is_constant(s: State, given: Sequence[Value]) -> bool:
    """Are all arguments constants or tensors that do not require grad?"""
    tensors = [value for value in given if isinstance(value, Ref) and s.get(value, Tensor) is not None]
    known = len(tensors) == sum(not isinstance(value, Const) for value in given)
    return known and requires(s, tensors) is False


def _trains(s: State, func: Value | None) -> bool:
    """Is it a module some of whose parameters require grad?"""
    if not isinstance(func, Ref) or s.get(func, Instance) is None:
        return False
    return any(s[parameter].requires_grad for _, parameter in module_tree.named_parameters(s, func)[0])


class ReentrantWithoutGrad(Rule):
    """A reentrant checkpoint gets no input that requires a gradient.

    ## What it detects

    `torch.utils.checkpoint.checkpoint(..., use_reentrant=True)` of a function with trainable
    parameters, where no tensor argument requires a gradient (typically the first layers of a model).

    ## Why it is wrong

    The reentrant variant looks at its inputs only: if none requires a gradient, the output has no
    history and the parameters inside get no gradient. PyTorch warns.

    ## Example

    ```python
    import torch
    from torch.utils.checkpoint import checkpoint

    layer = torch.nn.Linear(2, 2)
    output = checkpoint(layer, torch.randn(4, 2), use_reentrant=True)  # <- GL808
    ```

    ## Use instead

    ```python
    import torch
    from torch.utils.checkpoint import checkpoint

    layer = torch.nn.Linear(2, 2)
    output = checkpoint(layer, torch.randn(4, 2), use_reentrant=False)
    ```

    ## Fix safety

    The two variants differ in what they support, so the fix is unsafe.

    ## References

    - [`torch.utils.checkpoint`](https://docs.pytorch.org/docs/stable/checkpoint.html)
    """

    code = "GL808"
    name = "reentrant-without-grad"
    severity = Severity.ERROR
    effect = "warns"
    predicts = "None of the inputs have requires_grad=True. Gradients will be None"
    trackers = (Checkpoints,)

    def on_constant_checkpoint(self, event: ConstantCheckpoint) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"no input of `{event.call}` requires a gradient, so the parameters inside get none",
            "pass use_reentrant=False",
            fix=self.unsafe_fix(
                "Pass use_reentrant=False", with_keyword(event.site, "use_reentrant", "False")
            ),
        )
