"""What the `backward` of a custom `autograd.Function` gets and returns, as the engine checks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import FunctionError, Site
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Dict, Func, List
from gradcheck_tool.domain.shapes import size_text
from gradcheck_tool.domain.values import NONE, Const, Tup, Value, unknown
from gradcheck_tool.engine.errors import story, with_gaps
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_text import return_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter


@dataclass(frozen=True)
class Applied:
    """One application of a Function that a pass differentiates.

    `made` is where it was applied, `site` the call that runs the pass, `inputs` its arguments. `of_class`:
    its `backward` is a class method.
    """

    name: str
    func: Func
    made: Site
    site: Site
    inputs: Tup
    of_class: bool = False

    @property
    def params(self) -> list[ir.Parameter]:
        """The parameters of `backward` that the engine fills: the context and the gradients."""
        params: list[ir.Parameter] = self.func.function.params
        return params[self.of_class :]


def refuse(m: Interpreter, s: State, a: Applied, where: Site, kind: str, text: str, error: str) -> None:
    """Let the engine raise what it has against this Function."""
    steps = (
        story(a.made, f"`{a.name}` is applied to {_inputs(len(a.inputs.items))} here", "called"),
        story(a.site, "PyTorch raises when this backward runs it", "raised"),
    )
    event = FunctionError(site=where, story=steps, text=text, kind=kind, function=a.name, detail=text)
    m.raise_exception(s, error, event)


def _inputs(number: int) -> str:
    return "1 input" if number == 1 else f"{number} inputs"


def takes(m: Interpreter, s: State, a: Applied, outputs: int) -> bool:
    """Can `backward` be called with a gradient for each output? Lets Python raise where it cannot.

    One that is written to raise, whatever it gets, has nothing to take.
    """
    params = a.params
    if any(p.kind is not ir.ParamKind.POSITIONAL for p in params) or _only_raises(a.func.function):
        return True
    needed = sum(p.name not in a.func.defaults for p in params)
    if needed <= outputs + 1 <= len(params):
        return True
    text = f"{a.name}.backward() takes {len(params)} positional arguments but {outputs + 1} were given"
    if outputs + 1 < needed:
        text = f"{a.name}.backward() missing {needed - outputs - 1} required positional argument"
    where = Site(a.func.env.module, a.func.function.node)
    refuse(m, s, a, where, "backward-arguments", text, "TypeError")
    return False


def _only_raises(function: ir.Function) -> bool:
    return type(function.blocks[function.entry].terminator) is ir.Raise


def check(m: Interpreter, s: State, a: Applied, value: Value, others: Sequence[Value]) -> None:
    """As many gradients as inputs (further Nones are allowed), each None or a tensor that fits its input.

    `others` is what all ways through this call return: they differ by tests of what is not known, and where
    one has None for an input, the gradient of another is not certain to be there.
    """
    got = list(value.items) if isinstance(value, Tup) else [value]
    expected = len(a.inputs.items)
    is_known = isinstance(value, (Tup, Const)) or s.get(value, Tensor) or s.get(value, List)
    is_open = a.inputs.open or (isinstance(value, Tup) and value.open)
    surplus = [v for v in got[expected:] if v != NONE]
    if value == NONE and any(other != NONE for other in others) and _may_end_without_return(a.func.function):
        # The end of a chain of tests for every supported option: forward has come to one that has a branch.
        return
    if is_known and not is_open and (len(got) < expected or surplus):
        kind = "not-a-tuple" if s.get(value, List) is not None else "gradient-count"
        text = f"returned an incorrect number of gradients (expected {expected}, got {len(got)})"
        where = _where(a, len(got), kind)
        refuse(m, s, a, where, kind, f"function {a.name}Backward {text}", "RuntimeError")
        return
    for index, gradient in enumerate(got):
        given = a.inputs.items[index] if index < expected else unknown()
        fault = _fault(s, a.name, index, given, gradient)
        if fault is not None and not any(_leaves_out(other, index) for other in others):
            refuse(m, s, a, _where(a, len(got), fault[0]), *fault, "RuntimeError")
            return


def _may_end_without_return(function: ir.Function) -> bool:
    ends = [block.terminator for block in function.blocks.values()]
    return any(isinstance(end, ir.Return) and end.value is None for end in ends)


def _leaves_out(value: Value, index: int) -> bool:
    return isinstance(value, Tup) and value.items[index : index + 1] == (NONE,)


def _where(a: Applied, count: int, kind: str) -> Site:
    made = ir.BuildList if kind == "not-a-tuple" else None
    return return_of(a.func, count, made) or a.site


def _fault(s: State, name: str, index: int, given: Value, gradient: Value) -> tuple[str, str] | None:
    """The kind and the text of what the engine has against one gradient."""
    if gradient == NONE:
        return None
    tensor, like = s.get(gradient, Tensor), s.get(given, Tensor)
    if tensor is None:
        kind = _python_type(s, gradient)
        if not kind:
            return None
        text = f"expected Variable or None (got {kind})"
        return "not-a-tuple" if kind == "list" else "gradient-misfit", text
    if isinstance(given, Const) or s.get(given, List) is not None or s.get(given, Dict) is not None:
        return "gradient-misfit", (
            f"function {name}Backward returned a gradient different than None at position {index + 1}, but "
            "the corresponding forward input was not a Variable"
        )
    if like is not None and like.requires_grad and not _fits(like.shape, tensor.shape):
        sizes = f"got {size_text(tensor.shape)} but expected shape compatible with {size_text(like.shape)}"
        text = f"Function {name}Backward returned an invalid gradient at index {index}"
        return "gradient-misfit", with_gaps(f"{text} - {sizes}")
    return None


def _python_type(s: State, value: Value) -> str:
    """The name of a value's type where it is certainly neither None nor a tensor."""
    if isinstance(value, Const):
        return type(value.value).__name__
    if isinstance(value, Tup):
        return value.cls or "tuple"
    return "list" if s.get(value, List) is not None else ""


def _fits(shape: tuple[int | None, ...] | None, gradient: tuple[int | None, ...] | None) -> bool:
    """May a gradient of this shape be summed to the input's? Yes where a size is not known.

    What is empty stands for an input that is left out, mostly on one way of several, and is not judged.
    """
    if shape is None or gradient is None or 0 in shape:
        return True
    if len(gradient) < len(shape):
        return False
    pairs = zip(reversed(shape), reversed(gradient))  # noqa: B905  leading sizes are summed over
    return all(a is None or b is None or a in (1, b) for a, b in pairs)
