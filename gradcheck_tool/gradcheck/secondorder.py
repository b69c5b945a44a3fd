"""The derivative of `backward`: right, refused loudly, or silently wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck.compare import dense, difference, gradients
from gradcheck_tool.gradcheck.problem import LARGE, Grads, Problem
from gradcheck_tool.gradcheck.session import Session, finite, quiet
from gradcheck_tool.gradcheck.stencil import Judgement, judge
from gradcheck_tool.gradcheck.tree import flatten

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.probes import Cotangent

_LEAST = 1e-6
"""Second derivatives of special functions are known to PyTorch to this relative precision only."""


def check(session: Session) -> None:
    """Compare the graph of the gradient with finite differences of the gradient itself."""
    if session.wrong_inputs() or session.manifolds:
        return
    problem = session.problem
    cotangent = session.cotangent(problem)
    for attempt in range(2):
        point = (
            problem
            if attempt == 0
            else problem.with_values([session.draws.jitter(v, 0.05) for v in problem.values])
        )
        verdicts = quiet(lambda point=point: _judged(session, point, cotangent))  # type: ignore[misc]
        if isinstance(verdicts, Exception):
            session.notes.append("the second derivative is refused: backward cannot be differentiated")
            return
        if verdicts is None:
            return
        wrong = [
            i for i, v in enumerate(verdicts) if v.wrong and abs(v.gap.size) > _LEAST * abs(v.gap.numeric)
        ]
        if not wrong:
            return
    if session.declared is None:
        _report(session, wrong, verdicts)


def _is_single_use(session: Session) -> bool:
    """Whether the Function plainly leaves autograd: numpy arrays on ctx, or tensors that it overwrites."""
    if session.problem.shared.copies:
        return True
    _, outputs = session.problem.graph(session.problem.values)
    kept = [flatten(list(getattr(y.grad_fn, "__dict__", {}).values()))[0] for y in outputs]
    return any(type(item).__module__ == "numpy" for items in kept for item in items)


def _judged(session: Session, problem: Problem, cotangent: Cotangent) -> list[Judgement] | None:
    """One verdict per input about d<w, gradients>/d input; None where there is nothing to doubt."""
    values = problem.values
    made, weights, second = _second(session, problem, cotangent, None)
    if not made or not finite([g for g in second if g is not None]):
        return None
    if session.body is not None:
        body = session.body.with_leaves(problem.leaves)
        exact = quiet(lambda: _second(session, body, cotangent, weights)[2])
        if not isinstance(exact, Exception) and not _differ(second, exact, values):
            return None
    if sum(v.numel() for v in values) > LARGE:
        return None
    gradient_map = _GradientMap(problem, cotangent, made)
    chosen: Cotangent = [weights[i] for i in made]
    out = []
    for i in range(len(values)):
        direction = session.draws.direction(values, [i])
        grads: Grads = [
            dense(g, values[k]).to(values[k].dtype) if k == i else None for k, g in enumerate(second)
        ]
        out.append(judge(gradient_map.problem, values, direction, [(chosen, grads)])[0])
    return out


def _differ(second: Grads, exact: Grads, values: list[Tensor]) -> bool:
    return any(
        bool((difference(a, b, v, 1e-7) != 0).any()) for a, b, v in zip(second, exact, values, strict=True)
    )


def _second(
    session: Session, problem: Problem, cotangent: Cotangent, weights: Cotangent | None
) -> tuple[list[int], Cotangent, Grads]:
    """Which gradients have a graph, the weights w, and the derivative of <w, gradients> by the inputs."""
    leaves, outputs = problem.graph(problem.values)
    sent = [None if v is None else v.clone().requires_grad_() for v in cotangent]
    pairs = [(y, v) for y, v in zip(outputs, sent, strict=True) if v is not None]
    problem.shared.count.backwards += 1
    first = torch.autograd.grad(
        [y for y, _ in pairs], leaves, [v for _, v in pairs], create_graph=True, allow_unused=True
    )
    made = [i for i, g in enumerate(first) if g is not None and g.requires_grad]
    if not made:
        return [], [], []
    if weights is None:
        weights = [session.draws.cotangent([g])[0] if g is not None else None for g in first]
    roots = [(first[i], weights[i]) for i in made if weights[i] is not None]
    problem.shared.count.backwards += 1
    # `backward`, not `grad`: only it runs the node with which `once_differentiable` refuses.
    torch.autograd.backward([g for g, _ in roots], [w for _, w in roots])
    return made, weights, [x.grad for x in leaves]


class _GradientMap:
    """inputs -> gradients of <cotangent, outputs>, as a problem that can be differenced."""

    def __init__(self, problem: Problem, cotangent: Cotangent, made: list[int]) -> None:
        self.problem = _Differenced(
            problem.call, problem.leaves, problem.build, problem.wrt, problem.outs, problem.shared
        ).of(cotangent, made)


class _Differenced(Problem):
    """A problem whose forward is the gradient of another one."""

    cotangent: Cotangent
    made: list[int]

    def of(self, cotangent: Cotangent, made: list[int]) -> _Differenced:
        """Set which gradients, for which cotangent, are the outputs."""
        object.__setattr__(self, "cotangent", cotangent)
        object.__setattr__(self, "made", made)
        return self

    def forward(self, values: list[Tensor]) -> list[Tensor]:  # type: ignore[override]
        """The gradients at `values`."""
        plain = Problem(self.call, self.leaves, self.build, self.wrt, self.outs, self.shared)
        got = gradients(plain.with_values(values), self.cotangent)
        return [dense(got[i], values[i]).to(values[i].dtype) for i in self.made]


def _report(session: Session, wrong: list[int], verdicts: list[Judgement]) -> None:
    i = wrong[0]
    gap = verdicts[i].gap
    lost = abs(gap.analytic) <= 1e-9 * abs(gap.numeric)
    how = "zero: backward treats something that depends on the input as a constant" if lost else "wrong"
    session.add(
        "GC108",
        "second-order",
        f"the first derivative is right, the second derivative with respect to input {i} is silently {how}; "
        "@once_differentiable above backward refuses it loudly",
        severity=Severity.INFO if _is_single_use(session) else None,
        input=i,
        analytic=gap.analytic,
        numeric=gap.numeric,
        numeric_error=gap.error,
        ratio=gap.analytic / gap.numeric if gap.numeric else None,
    )
