"""GL707: a custom Function returns its outputs in a list."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    NONE,
    Class,
    Event,
    Func,
    FunctionBody,
    Interpreter,
    List,
    Rule,
    Severity,
    Site,
    State,
    Tensor,
    Tracker,
    Violation,
    as_tuple,
    facts,
    function_of,
    in_class,
    nodes,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class ListReturned(Event):
    """The forward of a custom Function returns tensors in a list, while an input requires grad.

    The site is where the list is built.
    """

    triggers = when.CUSTOM_FUNCTIONS

    function: str


class ReturnedLists(Tracker):
    """Looks at what forward returns."""

    derives = (ListReturned,)

    def on_callback_ran(self, m: Interpreter, s: State, fact: facts.CallbackRan) -> None:
        """Does forward return a list of tensors, with inputs that have a history?"""
        returned, cls = s.get(fact.value, List), s.get(fact.owner, Class)
        if fact.by != "forward" or not fact.versions or returned is None or cls is None:
            return
        forward = s.get(function_of(s, in_class(s, fact.owner, "forward") or NONE), Func)
        where = _list_built(forward) if forward is not None else None
        if where is not None and any(s.get(item, Tensor) is not None for item in returned.items):
            self.report(ListReturned(site=where, function=cls.name))


def _list_built(forward: Func) -> Site | None:
    """Where a list is built that the function returns."""
    body = forward.function.worked_out(FunctionBody)
    made = (body.maker(end.value) for end in body.returns() if end.value is not None)
    lists = (instr for instr in made if isinstance(instr, nodes.BuildList))
    return next((Site(forward.env.module, instr.node) for instr in lists), None)


class OutputsInList(Rule):
    """A custom Function returns its outputs in a list.

    ## What it detects

    A `forward` of a `torch.autograd.Function` that returns a list of tensors.

    ## Why it is wrong

    Only tensors and tuples of tensors are given a history; those in a list come out as constants.
    Nothing is raised at the call.

    ## Example

    ```python
    import torch


    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return [x * 2, x * 3]  # <- GL707

        @staticmethod
        def backward(ctx, first, second):
            return 2 * first + 3 * second


    x = torch.ones(2, requires_grad=True)
    outputs = Both.apply(x)
    ```

    ## Use instead

    ```python
    import torch


    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            return 2 * first + 3 * second


    x = torch.ones(2, requires_grad=True)
    outputs = Both.apply(x)
    ```

    ## Fix safety

    Gradients flow where none did, so the fix is unsafe.

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    """

    code = "GL707"
    name = "outputs-in-list"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the outputs have no history"
    symptom = "assert not outputs[0].requires_grad"

    trackers = (ReturnedLists,)

    def on_list_returned(self, event: ListReturned) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.function}.forward` returns a list, whose tensors get no history",
            "return a tuple",
            fix=self.unsafe_fix("Return a tuple", as_tuple(event.site)),
        )
