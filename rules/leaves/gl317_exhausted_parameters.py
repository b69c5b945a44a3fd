"""GL317: an iterator of parameters is used twice."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gradcheck_tool import (
    Event,
    Generator,
    Interpreter,
    Iter,
    Rule,
    RunNote,
    Severity,
    State,
    Tensor,
    Tracker,
    Tup,
    Value,
    Violation,
    facts,
    module_tree,
    places,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class ExhaustedParameters(Event):
    """An iterator of parameters (`model.parameters()` kept in a variable) is used up already.

    `call` is the text of the use, `use` is `clip` or `loop`.
    """

    triggers = (*when.TRAINING, when.CLIP_GRAD)

    iterator: str
    call: str
    use: str


class Exhausted(Tracker):
    """Looks at what loops and clipping go through."""

    derives = (ExhaustedParameters,)
    # Generators that have given parameters, and nothing else.
    of_parameters = RunNote[Value, bool]()

    def on_used(self, m: Interpreter, s: State, fact: facts.Used) -> None:
        """Is it an iterator of parameters at its end?"""
        site = fact.site
        if fact.by == "drained":
            if all(module_tree.parameters_in(s, item) for item in fact.items):
                self.of_parameters[fact.value] = True
        elif fact.by == "clip" and self._is_exhausted(s, fact.value) and self.once(id(site.node)):
            text, call = places.text_of(site, site.node.args[0].value), places.text_of(site, site.node)
            self.report(ExhaustedParameters(site=site, iterator=text, call=call, use="clip"))
        elif fact.by == "loop":
            node = self._exhausted_in(s, fact.value, site.node)
            if node is not None and self.once(id(site.node)):
                text, call = places.text_of(site, node), f"for ... in {places.text_of(site, site.node)}"
                self.report(ExhaustedParameters(site=site, iterator=text, call=call, use="loop"))

    def _exhausted_in(self, s: State, value: Value, node: Any) -> Any:
        """The expression of the iterator that ends a loop at once: what it goes through, or a part."""
        if self._is_exhausted(s, value):
            return node
        record = s.get(value, Iter)
        if record is None or record.kind not in ("zip", "enumerate"):
            return None
        written = getattr(node, "args", ())
        is_one_each = len(written) >= len(record.parts) and not any(arg.star for arg in written)
        return next(
            (
                written[n].value if is_one_each else node
                for n, part in enumerate(record.parts)
                if self._is_exhausted(s, part)
            ),
            None,
        )

    def _is_exhausted(self, s: State, value: Value) -> bool:
        generator = s.get(value, Generator)
        if generator is not None:
            return generator.block is None and value in self.of_parameters
        record = s.get(value, Iter)
        if record is None or record.kind != "drained":
            return False
        items = record.parts[0].items if record.parts and isinstance(record.parts[0], Tup) else ()
        last = items[-1] if items else None
        tensor = s.get(last.items[-1] if isinstance(last, Tup) and last.items else last, Tensor)
        return tensor is not None and tensor.is_param is True


class ParametersUsedUp(Rule):
    """An iterator of parameters is used again after something has used it up.

    ## What it detects

    `model.parameters()` kept in a variable and given to two consumers, such as an optimizer and
    `clip_grad_norm_`, or two loops (`zip` and `enumerate` of it included).

    ## Why it is wrong

    `parameters()` returns a generator, which can be iterated only once. The second consumer sees nothing:
    no gradient is clipped, no parameter is frozen or counted.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    parameters = model.parameters()
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    (100 * model(torch.ones(4, 2))).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)  # <- GL317
    optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    parameters = list(model.parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    (100 * model(torch.ones(4, 2))).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
    ```

    ## References

    - [`torch.nn.Module.parameters`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.parameters)
    """

    code = "GL317"
    name = "parameters-used-up"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the second use sees no parameters"
    symptom = "assert norm == 0"
    trackers = (Exhausted,)

    def on_exhausted_parameters(self, event: ExhaustedParameters) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.iterator}` is a generator that is exhausted, so `{event.call}` sees no parameters",
            "keep `list(model.parameters())` instead",
        )
