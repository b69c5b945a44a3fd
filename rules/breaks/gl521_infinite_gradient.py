"""GL521: `where` hides a value whose derivative is infinite, but not the derivative."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    Interpreter,
    Ref,
    Rule,
    Severity,
    Site,
    State,
    StoryNote,
    StoryStep,
    Tensor,
    Tracker,
    Trigger,
    Violation,
    facts,
)

# What a mask has to test for the first and for the second value not to be chosen where the operand is zero.
_KEEPS_OFF_ZERO = {"self": frozenset({">", "!=", ">="}), "other": frozenset({"<=", "==", "<"})}
_COMPARISON = re.compile(r"(?P<operand>[\w.]+)\s*(?P<sign>[<>=!]=?)\s*(?P<limit>[\d.]+(?:e-?\d+)?)")
_NEXT_TO_NOTHING = 1e-3

# Operations whose derivative is infinite where their operand is zero.
STEEP = frozenset({"sqrt", "rsqrt", "log", "log2", "log10", "reciprocal"})


@dataclass(slots=True, eq=False, kw_only=True)
class HiddenInfinity(Event):
    """`where` chooses between an operation and something else by a test of the very operand."""

    operand: str
    operation: str


class HiddenInfinities(Tracker):
    """Steep operations on what the mask of a `where` tests."""

    derives = (HiddenInfinity,)
    steep = StoryNote[Ref, tuple[Ref, str, Site]]()

    def on_computed(self, m: Interpreter, s: State, fact: facts.Computed) -> None:
        """`x.sqrt()`, and then `where(x > 0, ...)` of it."""
        operand = fact.operands.get("self")
        if fact.operation in STEEP and isinstance(operand, Ref) and isinstance(fact.result, Ref):
            self.steep.set(s, fact.result, (operand, fact.operation, fact.site))
        elif fact.operation == "where" and isinstance(fact.result, Ref):
            tensor: Tensor = s[fact.result]
            if tensor.requires_grad is not True:
                return
            for name, keeps_off_zero in _KEEPS_OFF_ZERO.items():
                chosen = fact.operands.get(name)
                known = self.steep.get(s, chosen) if isinstance(chosen, Ref) else None
                if known is not None:
                    self._chosen(s, fact.site, keeps_off_zero, *known)

    def _chosen(
        self, s: State, site: Site, keeps_off_zero: frozenset[str], operand: Ref, operation: str, steep: Site
    ) -> None:
        tensor: Tensor = s[operand]
        name = str(tensor.name)
        if (
            tensor.requires_grad is True
            and any(self._tests(site, name, sign) for sign in keeps_off_zero)
            and self.once(steep)
        ):
            story = (StoryStep(steep, f"the derivative of `{operation}` is infinite at zero", "made"),)
            self.report(HiddenInfinity(site=site, story=story, operand=name, operation=operation))

    def _tests(self, site: Site, operand: str, sign: str) -> bool:
        """Does the mask of a `where` compare an operand with zero, or with next to nothing?"""
        for argument in getattr(site.node, "args", ()):
            compared = _COMPARISON.fullmatch(self.text(site, argument.value))
            if compared and compared["operand"] == operand and compared["sign"] == sign:
                return float(compared["limit"]) < _NEXT_TO_NOTHING
        return False


class InfiniteGradient(Rule):
    """`where` hides the values that an operation cannot take, but not their derivatives.

    ## What it detects

    `torch.where(x > 0, x.sqrt(), other)`: the mask tests the operand of `sqrt`, `log`, `reciprocal` and the
    like, in a tensor that requires a gradient. `gradlint run` reports gradients that are NaN or Inf when a
    step applies them, whatever made them.

    ## Why it is wrong

    `where` hands a gradient of zero to what it has not chosen, which is multiplied by the derivative of the
    operation: where that is infinite, the product is NaN. Nothing is raised, and the next step makes all
    parameters NaN.

    ## Example

    ```python
    import torch

    x = torch.tensor([0.0, 4.0], requires_grad=True)
    root = torch.where(x > 0, x.sqrt(), 0.0)  # <- GL521
    root.sum().backward()
    ```

    ## Use instead

    ```python
    import torch

    x = torch.tensor([0.0, 4.0], requires_grad=True)
    safe = torch.where(x > 0, x, 1.0)
    root = torch.where(x > 0, safe.sqrt(), 0.0)
    root.sum().backward()
    ```

    ## References

    - [Gradient is NaN for a masked value](https://github.com/pytorch/pytorch/issues/15506)
    """

    code = "GL521"
    name = "infinite-gradient"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the gradient is NaN or Inf"
    symptom = "assert x.grad.isnan().any()"
    triggers = (Trigger("where(", r"\.(?:sqrt|rsqrt|log|log2|log10|reciprocal)\("),)
    trackers = (HiddenInfinities,)

    def on_hidden_infinity(self, event: HiddenInfinity) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`where` hides `{event.operation}` of `{event.operand}` where it is infinite, but not its "
            "derivative: the gradient is NaN there",
            "give the operation a safe value: `where(mask, x, 1)` before it",
        )
