"""What a Function takes for granted of its arguments, when made-up ones show a wrong gradient.

Code that is right for probabilities, triangular matrices or a converged iteration accepts other numbers
too, and says nothing about them. Where the gradient is right for such arguments, they are checked instead.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from itertools import permutations
from types import FunctionType
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.gradcheck.manifolds import is_diagonal
from gradcheck_tool.gradcheck.parsed import parsed
from gradcheck_tool.gradcheck.probes import Draws
from gradcheck_tool.gradcheck.prose import documentation
from gradcheck_tool.gradcheck.rng import preserved, seed_torch
from gradcheck_tool.gradcheck.session import quiet
from gradcheck_tool.gradcheck.tangents import POSES
from gradcheck_tool.gradcheck.target import backward_of
from gradcheck_tool.gradcheck.tree import flatten
from gradcheck_tool.harness.inputs.synthesised.screen import errors, is_plainly_wrong
from gradcheck_tool.harness.inputs.synthesised.specs import (
    CALLED,
    FLOATING,
    SIDE,
    SPECIAL,
    Plain,
    Spec,
    TensorSpec,
    plain,
)
from gradcheck_tool.harness.record.interception import intercepted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.harness.inputs.synthesised.budget import Budget
    from gradcheck_tool.harness.inputs.synthesised.direct import Maker
    from gradcheck_tool.harness.inputs.synthesised.search import State

GIVEN_ONLY: dict[str, Any] = {"variations": False}
"""Options that keep the check to the given values: others may be out of the domain."""

_QUICK: dict[str, Any] = {
    "contracts": False,
    "second_order": False,
    "forward_mode": False,
    "vmap": False,
    "brief": True,
    **GIVEN_ONLY,
}
_MANY = 8
_SECONDS = 6.0
_FAR, _NEAR = 0.1, 0.1
"""Relative errors: of what is no approximation, and of what an iteration may leave."""
_OTHER_DRAWS = (1, 2)
_SHARES = re.compile(
    r"simplex|prob|softmax|distribution|stochastic|measure|histogram|normali[sz]ed|sums? to|convex|mixture",
    re.IGNORECASE,
)
# Nothing is made for zeros and ones alone, or for large values: a gradient that is right there and wrong
# elsewhere is a mistake that does not show where the output is at its bounds.
_KINDS = (
    "positive-definite",
    *(kind for kind in SPECIAL if kind != "pose"),
    *(kind for kind in FLOATING[1:] if kind not in ("positive-definite", "one-zero", "wide")),
)


def judged(function: Any, args: Sequence[Any]) -> str:
    """What the gradient at exactly these arguments is: `ok`, `wrong`, `surrogate`, or `inconclusive`."""
    words = verdicts(function, args)
    return next((word for word in ("surrogate", "wrong", "inconclusive") if word in words), "ok")


def verdicts(function: Any, args: Sequence[Any]) -> set[str]:
    """What the gradients of the inputs are at exactly these arguments."""
    report = quiet(lambda: check_function(function, tuple(args), **_QUICK))
    return set() if isinstance(report, Exception) else {verdict.verdict for verdict in report.inputs}


def is_multiplied(function: Any, args: Sequence[Any]) -> bool:
    """Whether the gradient at exactly these arguments is a multiple of the right one.

    No function that was guessed explains that, but one that is a multiple of its argument.
    """
    if any(leaf is CALLED[-1].value for leaf in flatten(list(args))[0]):
        return False
    report = quiet(lambda: check_function(function, tuple(args), **_QUICK))
    findings = [] if isinstance(report, Exception) else report.findings
    return any((finding.evidence or {}).get("diagnosis") in ("factor", "sign") for finding in findings)


def calls_a_guess(args: Sequence[Any]) -> bool:
    """Whether some argument is a function or module: what it computes was guessed, too."""
    return any(callable(leaf) for leaf in flatten(list(args))[0])


def random_start(function: Any, args: Sequence[Any]) -> str:
    """Why a gradient that follows random numbers says nothing; empty where it does.

    It is what the Function itself gives for another problem, as solvers do, and for these arguments the start
    still shows.
    """
    inside: list[Any] = []
    with preserved(), torch.enable_grad():
        seed_torch(0)
        first = quiet(lambda: _tensors(function.apply(*args)))
        seed_torch(1)
        second = quiet(lambda: _tensors(function.apply(*args)))
        if isinstance(first, Exception) or isinstance(second, Exception):
            return ""
        if all(torch.equal(a, b) for a, b in zip(first, second, strict=True)):
            return ""
        with intercepted(lambda cls, *_: inside.append(cls)):
            sums = [y.sum() for y in first if y.requires_grad and not y.is_complex()]
            quiet(lambda: torch.autograd.grad(sums, _asked(args), allow_unused=True))
    if not any(cls is function for cls in inside):
        return ""
    return "backward calls the Function itself, which gives other outputs for other random numbers"


def _tensors(outputs: Any) -> list[torch.Tensor]:
    """The tensors among outputs."""
    return [y for y in flatten(outputs)[0] if isinstance(y, torch.Tensor)]


def _asked(args: Sequence[Any]) -> list[torch.Tensor]:
    """The tensors among arguments that require grad."""
    return [x for x in _tensors(list(args)) if x.requires_grad]


@dataclass(frozen=True, slots=True)
class Domain:
    """Arguments with some usual property.

    Attributes:
        state: those for which the gradient is right; None where none are found.
        near: for which kind an iteration is nearly right, while it is far off for others; else empty.
    """

    state: State | None
    near: str = ""


def right_domain(maker: Maker, state: State, budget: Budget) -> Domain:
    """Arguments with some usual property for which the gradient is right, or nearly so."""
    budget, near = budget.share(_SECONDS), ""
    far = _iterates(maker.function) and _is_far_off(maker.function, maker.arguments(state))
    felt = nonzero(maker.function, maker.arguments(state))
    shares, diagonal = _speaks_of_shares(maker.function), _with_diagonal_gradient(maker, state)
    for other in _others(state):
        if budget.over:
            break
        kinds = [spec.kind if isinstance(spec, TensorSpec) else "" for spec in other]
        if ("simplex" in kinds and not shares) or {
            i for i, k in enumerate(kinds) if k == "diagonal"
        } - diagonal:
            continue
        args = maker.arguments(other)
        poses = _has_poses(other)
        if not as_felt(felt, nonzero(maker.function, args)):
            continue
        if maker.attempt_with(args).problem:
            continue
        if far and not near and _is_near(maker.function, args):
            near = ", ".join(
                sorted({s.kind for s in other if isinstance(s, TensorSpec) and s.kind in _KINDS})
            )
        if not poses and is_plainly_wrong(maker.function, args):
            continue
        words = verdicts(maker.function, args)
        # Gradients of poses follow conventions, which show only where the values are poses.
        if words <= ({"ok", "surrogate"} if poses else {"ok"}) and _repeats(maker, other):
            return Domain(other)
    return Domain(None, near)


def _is_far_off(function: Any, args: Sequence[Any]) -> bool:
    return any(error is not None and error > _FAR for error in errors(function, args))


def _is_near(function: Any, args: Sequence[Any]) -> bool:
    found = errors(function, args, sure=_NEAR)
    return bool(found) and all(error is not None and error < _NEAR for error in found)


def _iterates(function: Any) -> bool:
    """Whether forward or backward, or a function of the same file that they call, goes through a loop."""
    for method in (function.forward, backward_of(function)):
        known = getattr(method, "__globals__", {})
        names = getattr(getattr(method, "__code__", None), "co_names", ())
        helpers = (known.get(name) for name in names)
        own = (h for h in helpers if isinstance(h, FunctionType) and h.__globals__ is known)
        for tree, _ in map(parsed, (method, *own)):
            if tree is not None and any(isinstance(node, (ast.For, ast.While)) for node in ast.walk(tree)):
                return True
    return False


def _speaks_of_shares(function: Any) -> bool:
    """Whether names or texts speak of numbers that add up to one.

    Along these, a gradient from which its mean is taken is right for any Function: they need evidence.
    """
    codes = (getattr(getattr(function, name, None), "__code__", None) for name in ("forward", "backward"))
    names = (name for code in codes if code is not None for name in (*code.co_varnames, *code.co_names))
    texts = (function.__name__, *documentation(function), *names)
    return any(_SHARES.search(text) for text in texts)


def _repeats(maker: Maker, state: State) -> bool:
    """Whether nothing is wrong for other numbers of the same kinds: a mask may hide a mistake by chance."""
    return all(judged(maker.function, maker.arguments(state, salt)) != "wrong" for salt in _OTHER_DRAWS)


def as_felt(before: list[bool], after: list[bool]) -> bool:
    """Whether no gradient has become zero: any is right where nothing depends on an input."""
    return not any(a and not b for a, b in zip(before, after, strict=False))


def nonzero(function: Any, args: Sequence[Any]) -> list[bool]:
    """For every tensor that requires grad, whether its gradient is not zero; empty where there is none."""
    return [g is not None and bool((g.to_dense() != 0).any()) for g in _pulled(function, args)]


def _pulled(function: Any, args: Sequence[Any]) -> list[torch.Tensor | None]:
    """The gradient of every tensor that requires one; empty where there is none."""
    given = [x.clone() if isinstance(x, torch.Tensor) else x for x in args]  # forward may write to them

    def pull() -> list[torch.Tensor | None]:
        outputs = [y for y in _tensors(function.apply(*given)) if y.requires_grad]
        sent = Draws(0).cotangent([y.detach() for y in outputs])
        return list(torch.autograd.grad(outputs, _asked(args), sent, allow_unused=True))

    with preserved(), torch.enable_grad():
        seed_torch(0)
        found = quiet(pull)
    return [] if isinstance(found, Exception) else found


def _with_diagonal_gradient(maker: Maker, state: State) -> set[int]:
    """The matrices to which backward gives a gradient on their diagonal alone: it takes them for diagonal."""
    places = [i for i in _places(state) if isinstance(spec := state[i], TensorSpec) and spec.grad]
    found = _pulled(maker.function, maker.arguments(state))
    if len(found) != len(places):
        return set()
    return {i for i, g in zip(places, found, strict=True) if g is not None and is_diagonal(g.to_dense())}


def _has_poses(state: State) -> bool:
    return any(isinstance(spec, TensorSpec) and spec.kind == "pose" for spec in state)


def _others(state: State) -> Iterator[State]:
    """A function that is its own adjoint; more steps of an iteration; poses; then other kinds of numbers, for
    these ranks and with one tensor of a smaller rank: the forward may take more axes than backward sums over.
    """
    linear = tuple(_linear(spec) for spec in state)
    if linear != state:
        yield linear
    more = tuple(_more(spec) for spec in state)
    if more != state:
        yield more
    yield from _with_kind(state, "pose", [i for i in _places(state) if _is_pose(state[i])])
    ranks = [state, *_of_lower_rank(state)]
    for base in ranks:
        yield from _of_two_kinds(base)
    yield from ranks[1:]
    for base in (*ranks, *([more] if more != state else [])):
        yield from _of_one_kind(base)


def _of_lower_rank(state: State) -> Iterator[State]:
    for index, spec in enumerate(state):
        if isinstance(spec, TensorSpec) and len(spec.shape) > 1:
            yield (*state[:index], spec.of_rank(len(spec.shape) - 1), *state[index + 1 :])


def _of_two_kinds(state: State) -> Iterator[State]:
    """A triangular and a symmetric matrix."""
    for first, second in permutations([i for i in _places(state) if _is_square(state[i])], 2):
        both = {first: "lower-triangular", second: "symmetric"}
        yield tuple(_of_kind(spec, both[i]) if i in both else spec for i, spec in enumerate(state))


def _of_one_kind(state: State) -> Iterator[State]:
    """All tensors of another kind; one of them."""
    for kind in _KINDS:
        yield from _with_kind(state, kind, _places(state))


def _with_kind(state: State, kind: str, places: list[int]) -> Iterator[State]:
    groups = [places, *([i] for i in places)] if len(places) > 1 else [places] * len(places)
    if kind == "diagonal":
        groups.reverse()  # the fewer, the more is judged
    for chosen in groups:
        yield tuple(_of_kind(spec, kind) if i in chosen else spec for i, spec in enumerate(state))


def _places(state: State) -> list[int]:
    return [i for i, spec in enumerate(state) if isinstance(spec, TensorSpec) and spec.differentiable]


def _is_pose(spec: Spec) -> bool:
    return isinstance(spec, TensorSpec) and len(spec.shape) > 0 and spec.shape[-1] in POSES


def _is_square(spec: Spec) -> bool:
    return isinstance(spec, TensorSpec) and len(spec.shape) > 1 and spec.shape[-1] == spec.shape[-2]


def _of_kind(spec: Spec, kind: str) -> Spec:
    return replace(spec, kind=kind, center=None) if isinstance(spec, TensorSpec) else spec


def _linear(spec: Spec) -> Spec:
    """A guessed function made linear: backward may be given the adjoint of what forward is given."""
    return CALLED[-1] if spec in CALLED else spec


def _more(spec: Spec) -> Spec:
    """A number that may count the steps of an approximation, several times as large."""
    small = isinstance(spec, Plain) and type(spec.value) is int and 1 < spec.value <= 2 * SIDE
    return plain(_MANY * spec.value) if small and isinstance(spec, Plain) else spec
