"""The text of an elementwise `autograd.Function` evaluated on a few numbers, and its derivative checked.

Forward and backward are executed with three numbers for each tensor: one row, where they work along one axis.
Whatever is not arithmetic element by element, a sum or a mean of everything or of each row (`rows`), ends the
evaluation: nothing is said of such a Function. Neither is anything said of forwards with jumps (comparisons,
rounding), of values that are clamped, of identities and of backwards that are not linear in the incoming
gradient: there the derivative is meant to be another one.
"""

from __future__ import annotations

import math
import operator
import re
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import StoryStep
from gradcheck_tool.interp.places import is_of_tests
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.named_operators import with_operators
from gradcheck_tool.library.torch import rows
from gradcheck_tool.library.torch.rows import Unknown
from gradcheck_tool.trackers.function_contracts import defect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gradcheck_tool.library.torch.function_text import FunctionBody, FunctionClass
    from gradcheck_tool.trackers.events import FunctionDefect

Vector = list[float]
COUNT = 3
POINTS = ((0.37, 0.52, 0.81), (0.83, 0.41, 0.64), (0.58, 0.75, 0.46))
INCOMING = (1.3, 0.7, 2.1)
# A number for an argument with a default, such as `eps`.
OPTION = 0.05
STEP = 1e-5
TOLERANCE = 0.05
# Classes whose names say that another derivative is wanted.
DELIBERATE = re.compile(
    r"surrog|straight|ste(?![a-z])|STE|revers|guided|deconv|trunc|clip|clamp|scal", re.IGNORECASE
)
MODULES = frozenset({"torch", "F", "math", "nn", "functional", "special"})

CONSTANTS = {"pi": math.pi, "e": math.e}


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _gelu(x: float) -> float:
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def _softplus(x: float) -> float:
    return math.log1p(math.exp(x))


UNARY: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "acos": math.acos,
    "asin": math.asin,
    "atan": math.atan,
    "cos": math.cos,
    "cosh": math.cosh,
    "erf": math.erf,
    "asinh": math.asinh,
    "erfc": math.erfc,
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "expm1": math.expm1,
    "gelu": _gelu,
    "log": math.log,
    "log10": math.log10,
    "log1p": math.log1p,
    "log2": math.log2,
    "logsigmoid": lambda x: -_softplus(-x),
    "mish": lambda x: x * math.tanh(_softplus(x)),
    "neg": operator.neg,
    "reciprocal": lambda x: 1 / x,
    "relu": lambda x: max(x, 0.0),
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x),
    "sin": math.sin,
    "sinh": math.sinh,
    "softplus": _softplus,
    "softsign": lambda x: x / (1 + abs(x)),
    "sqrt": math.sqrt,
    "square": lambda x: x * x,
    "tan": math.tan,
    "tanh": math.tanh,
}
SAME = frozenset({"clone", "contiguous", "detach", "float", "double"})
BINARY: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}
NAMED = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}
# Functions with limits: which of them their arguments are, in order.
LIMITS = {
    "clamp": ("min", "max"),
    "clip": ("min", "max"),
    "clamp_min": ("min",),
    "clamp_max": ("max",),
}
COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Library:
    """`torch`, `math` or a part of them."""


class Context:
    """What forward keeps for backward."""

    def __init__(self, inputs: int) -> None:
        self.attributes: dict[str, Any] = {"needs_input_grad": (True,) * inputs}


def wrong_derivative(c: FunctionClass) -> Iterator[FunctionDefect]:
    """An argument whose gradient is, at every point tried, not what forward's values say."""
    if c.forward is None or c.backward is None or DELIBERATE.search(c.name) or is_of_tests(c.module):
        return
    names = c.arguments()
    if not names or len(c.backward.params) != 2:
        return
    trials = [trial for data in _data(c) for trial in _trials(c, names, data)]
    for index in range(len(names)):
        pairs = [trial[index] for trial in trials]
        if pairs and all(pair is not None and not _agree(*pair) for pair in pairs):
            returned, true = pairs[0]  # type: ignore[misc]
            ends = [end for end in c.backward.returns() if end.value is not None]
            values = c.backward.values(ends[-1])
            made = c.backward.made.get(values[index]) if index < len(values) else None
            yield _defect(c, made.node if made is not None else ends[-1].node, index, returned, true)


def _defect(c: FunctionClass, node: Any, index: int, returned: Vector, true: Vector) -> FunctionDefect:
    from dataclasses import replace

    name = c.arguments()[index]
    event = defect(c, node, "wrong-derivative", name)
    told = (
        f"at `{name}` = {_point(0, index)[0]:.3g} and an incoming gradient of {INCOMING[0]:.3g}, "
        f"backward returns {returned[0]:.3g} where the derivative gives {true[0]:.3g}"
    )
    return replace(event, story=(StoryStep(event.site, told),))


def _data(c: FunctionClass) -> tuple[Any, ...]:
    """What arguments without a gradient may be, since a derivative may hold for one kind of them only.

    Numbers like those of the others (None), a number that scales them, marks of a class or shares.
    """
    kept = c.differentiable()
    is_data = any(i not in kept and not c.is_option(i) for i in range(len(c.arguments())))
    return (None, 0.6, [0.0, 1.0, 0.0], [0.2, 0.5, 0.3]) if is_data else (None,)


def _trials(c: FunctionClass, names: Sequence[str], data: Any) -> list[list[tuple[Vector, Vector] | None]]:
    """What is found at each of the points; nothing where the Function cannot be evaluated."""
    try:
        return [_trial(c, names, at, data) for at in range(len(POINTS))]
    except (Unknown, ArithmeticError, LookupError, TypeError, ValueError):
        return []


def _point(at: int, argument: int) -> Vector:
    """The values of an argument in a trial."""
    return [x + 0.1 * argument for x in POINTS[(at + argument) % len(POINTS)]]


def _trial(c: FunctionClass, names: Sequence[str], at: int, data: Any) -> list[tuple[Vector, Vector] | None]:
    """For each argument: the gradient that backward returns and the true one, None where it returns none."""
    kept = c.differentiable()
    inputs = [
        OPTION if c.is_option(i) else _point(at, i) if data is None or i in kept else data
        for i, name in enumerate(names)
    ]
    ctx = Context(len(names))
    out = _forward(c, ctx, inputs)
    if c.setup is not None:
        _run(c.setup, [ctx, tuple(inputs), out], smooth=False)
    if out in inputs or not isinstance(out, (float, list)):
        raise Unknown
    incoming: Any = list(INCOMING[: len(out)]) if isinstance(out, list) else INCOMING[0]
    grads = _gradients(c, ctx, incoming, len(names))
    doubled = _gradients(
        c, ctx, [2 * g for g in incoming] if isinstance(out, list) else 2 * incoming, len(names)
    )
    found: list[tuple[Vector, Vector] | None] = []
    for index, grad in enumerate(grads):
        if grad is None:
            found.append(None)
            continue
        if not _agree([2 * g for g in grad], doubled[index] or []):
            raise Unknown
        found.append((grad, _numeric(c, inputs, index, incoming)))
    return found


def _forward(c: FunctionClass, ctx: Context, inputs: list[Any]) -> Any:
    """What forward returns; with a `setup_context` it takes the inputs only."""
    arguments = [*inputs] if c.setup is not None else [ctx, *inputs]
    return _run(c.forward, arguments, smooth=True)  # type: ignore[arg-type]


def _gradients(c: FunctionClass, ctx: Context, incoming: Any, count: int) -> list[Vector | None]:
    result = _run(c.backward, [ctx, incoming], smooth=False)  # type: ignore[arg-type]
    grads = list(result) if isinstance(result, tuple) else [result]
    if len(grads) < count:
        raise Unknown
    if any(grad is not None and not (isinstance(grad, list) and len(grad) == COUNT) for grad in grads):
        raise Unknown
    return grads[:count]


def _numeric(c: FunctionClass, inputs: list[Any], index: int, incoming: Any) -> Vector:
    """The true gradient of one argument, by central differences."""
    gradient = []
    for element in range(COUNT):
        ends = []
        for sign in (1, -1):
            moved = [list(values) if isinstance(values, list) else values for values in inputs]
            moved[index][element] += sign * STEP
            out = _forward(c, Context(len(inputs)), moved)
            ends.append(
                sum(a * b for a, b in zip(out, incoming, strict=True))
                if isinstance(out, list)
                else out * incoming
            )
        gradient.append((ends[0] - ends[1]) / (2 * STEP))
    return gradient


def _agree(a: Vector, b: Vector) -> bool:
    return len(a) == len(b) and all(
        abs(x - y) <= TOLERANCE * max(abs(x), abs(y), 1e-3) for x, y in zip(a, b, strict=True)
    )


# -- evaluation -------------------------------------------------------------------------------------------


def _run(body: FunctionBody, arguments: list[Any], smooth: bool) -> Any:
    """What the function returns for these arguments.

    Raises:
        Unknown: where it does anything else than elementwise arithmetic; with `smooth`, comparisons too.
    """
    params = body.parameters
    if len(params) != len(arguments) or any(p.kind is not ir.ParamKind.POSITIONAL for p in params):
        raise Unknown
    names: dict[str, Any] = {p.name: value for p, value in zip(params, arguments, strict=True)}
    regs: dict[int, Any] = {}
    at = body.function.entry
    for _ in range(len(body.function.blocks)):
        block = body.function.blocks[at]
        for instr in with_operators(block.instrs):
            _step(instr, names, regs, smooth)
        end = block.terminator
        if isinstance(end, ir.Return):
            return None if end.value is None else regs[end.value]
        if isinstance(end, ir.Jump) and not end.back:
            at = end.target
        elif isinstance(end, ir.Branch) and isinstance(regs[end.condition], bool):
            at = end.then if regs[end.condition] else end.otherwise
        else:
            raise Unknown
    raise Unknown


def _step(i: ir.Instr, names: dict[str, Any], regs: dict[int, Any], smooth: bool) -> None:
    if isinstance(i, ir.Const):
        regs[i.dst] = float(i.value) if type(i.value) is int else i.value
    elif isinstance(i, ir.LoadName):
        if i.name not in names and i.name not in MODULES:
            raise Unknown
        regs[i.dst] = names.get(i.name, Library())
    elif isinstance(i, ir.Import) and {i.module.partition(".")[0], i.attribute or "torch"} <= MODULES:
        regs[i.dst] = Library()
    elif isinstance(i, ir.StoreName):
        names[i.name] = regs[i.src]
    elif isinstance(i, ir.Copy):
        regs[i.dst] = regs[i.src]
    elif isinstance(i, ir.BuildTuple):
        regs[i.dst] = tuple(regs[reg] for reg, _ in i.items)
    elif isinstance(i, ir.Unpack) and i.star is None and len(regs[i.src]) == len(i.dsts):
        regs.update(zip(i.dsts, regs[i.src], strict=True))
    elif isinstance(i, ir.GetItem) and isinstance(regs[i.obj], tuple) and isinstance(regs[i.index], float):
        regs[i.dst] = regs[i.obj][int(regs[i.index])]
    elif isinstance(i, ir.SetAttr) and isinstance(regs[i.obj], Context):
        regs[i.obj].attributes[i.name] = regs[i.src]
    elif isinstance(i, ir.GetAttr):
        regs[i.dst] = _attribute(regs[i.obj], i.name)
    elif isinstance(i, ir.Call):
        regs[i.dst] = _call(i, regs, smooth)
    elif isinstance(i, (ir.BinOp, ir.UnaryOp, ir.Compare)):
        regs[i.dst] = _operate(i, regs, smooth)
    else:
        raise Unknown


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, Library):
        return owner if name in MODULES else CONSTANTS.get(name, (None, name))
    if isinstance(owner, Context):
        if name in owner.attributes:
            return owner.attributes[name]
        return (owner, name)
    if isinstance(owner, rows.Extreme) and name == "values":
        return owner.values
    if isinstance(owner, list) and name == "shape":
        return rows.SHAPE
    if isinstance(owner, (list, float)):
        return (owner, name)
    raise Unknown


def _operate(i: ir.BinOp | ir.UnaryOp | ir.Compare, regs: dict[int, Any], smooth: bool) -> Any:
    if isinstance(i, ir.UnaryOp):
        if i.op != "-":
            raise Unknown
        return _each(operator.neg, regs[i.value])
    left, right = regs[i.left], regs[i.right]
    if isinstance(i, ir.BinOp):
        if i.op not in BINARY:
            raise Unknown
        return _pairs(BINARY[i.op], left, right)
    if smooth or i.op not in COMPARE:
        raise Unknown
    test = COMPARE[i.op]
    return _pairs(lambda a, b: float(test(a, b)), left, right)


def _call(i: ir.Call, regs: dict[int, Any], smooth: bool) -> Any:
    func = regs[i.func]
    if not isinstance(func, tuple):
        raise Unknown
    owner, name = func
    args = [regs[arg.value] for arg in i.args if arg.name is None]
    named = {arg.name: regs[arg.value] for arg in i.args if arg.name is not None}
    if owner is not None and not isinstance(owner, Context):
        args, owner = [owner, *args], None
    if name in LIMITS and args:
        limits = dict(zip(LIMITS[name], args[1:], strict=False)) | named
        return _limited(args[0], limits)
    if owner is None and args and rows.knows(name, args, named):
        return rows.call(name, args, named, regs)
    if named:
        raise Unknown
    if isinstance(owner, Context):
        if name != "save_for_backward":
            raise Unknown
        owner.attributes["saved_tensors"] = tuple(args)
        return None
    if len(args) == 1:
        return _unary(name, args[0])
    if len(args) == 3 and name == "where" and not smooth:
        return _pairs(operator.add, _chosen(args[0], args[1], True), _chosen(args[0], args[2], False))
    if len(args) == 2 and name in NAMED:
        return _pairs(BINARY[NAMED[name]], args[0], args[1])
    raise Unknown


def _limited(value: Any, limits: dict[str, Any]) -> Any:
    """`clamp` of what is within the limits: beyond them another derivative may be meant."""
    if not limits.keys() <= {"min", "max"}:
        raise Unknown
    result = value
    for name, limit in limits.items():
        if limit is not None:
            result = _pairs(max if name == "min" else min, result, limit)
    if result != value:
        raise Unknown
    return result


def _chosen(mask: Any, value: Any, when: bool) -> Any:
    """The value where the mask says so, and zero elsewhere."""
    return _pairs(lambda chosen, x: x if bool(chosen) is when else 0.0, mask, value)


def _unary(name: str, value: Any) -> Any:
    if name in UNARY:
        return _each(UNARY[name], value)
    if name in SAME:
        return value
    if name in ("sum", "mean", "numel") and isinstance(value, list):
        return {"sum": sum(value), "mean": sum(value) / COUNT, "numel": float(COUNT)}[name]
    raise Unknown


def _each(func: Callable[[float], float], value: Any) -> Any:
    if isinstance(value, list):
        return [func(x) for x in value]
    if isinstance(value, float):
        return func(value)
    raise Unknown


def _pairs(func: Callable[[float, float], float], left: Any, right: Any) -> Any:
    if not isinstance(left, (list, float)) or not isinstance(right, (list, float)):
        raise Unknown
    if isinstance(left, float) and isinstance(right, float):
        return func(left, right)
    size = max(len(side) for side in (left, right) if isinstance(side, list))
    a, b = (rows.widened(side, size) for side in (left, right))
    return [func(x, y) for x, y in zip(a, b, strict=True)]
