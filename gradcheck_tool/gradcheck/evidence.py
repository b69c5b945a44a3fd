"""Analytic and reference gradients of one wrong input, side by side, as the diagnosis needs them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.compare import dense, gradients, gradients_once
from gradcheck_tool.gradcheck.probes import Cotangent, Draws, basis, like_contiguous
from gradcheck_tool.gradcheck.problem import LARGE, identical
from gradcheck_tool.gradcheck.session import quiet
from gradcheck_tool.gradcheck.stencil import coarsest, scales, slope, steps_of, wide

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.compare import Mismatch
    from gradcheck_tool.gradcheck.problem import Problem
    from gradcheck_tool.gradcheck.stencil import Gap

Pull = Callable[[Cotangent], list[Tensor]]

_MOST = 8
"""Wrong entries that are listed one by one."""

_MANY = 10_000
"""Entries from which on fewer are measured one by one, at one step: every one costs eight forwards."""

FULL_JACOBIAN = 200
"""Inputs with at most this many entries are measured entry by entry once a probe has failed."""


@dataclass
class Evidence:
    """For input `index`: rows of `analytic` and `reference`, one a cotangent, flattened over the input.

    `known` marks the entries whose reference was measured; `tolerance` is per row and entry. `klass` is the
    custom Function that is checked, None where it is a function of another kind.
    """

    problem: Problem
    index: int
    cotangents: list[Cotangent]
    analytic: Tensor
    reference: Tensor
    tolerance: Tensor
    known: Tensor
    all_analytic: list[Tensor]
    all_reference: list[Tensor] | None
    pull_analytic: Pull
    pull_reference: Pull | None
    none_returned: bool
    klass: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the input."""
        return tuple(self.problem.values[self.index].shape)

    @property
    def off(self) -> Tensor:
        """Which known entries are wrong, per row."""
        gap = (self.analytic - self.reference).abs()
        return ((gap > self.tolerance) | ~torch.isfinite(gap)) & self.known

    @property
    def few(self) -> bool:
        """Whether some of very many entries are wrong, so few that no change of the whole explains them."""
        return self.known.numel() > _MANY and int(self.off.any(0).sum()) <= _MOST

    def same(self, a: Tensor, b: Tensor, slack: float = 1.0) -> bool:
        """Whether two sets of rows agree on the known entries within the tolerance."""
        gap = (a - b).abs()
        return bool(((gap <= slack * self.tolerance) | ~self.known).all())


def _pulled(problem: Problem, cotangents: list[Cotangent]) -> tuple[list[list[Tensor]], Pull]:
    """Gradients for several cotangents, and the function for more of them.

    All go through one graph, where that gives the first ones, which were computed on a graph of their own,
    again in the end.
    """
    values = problem.values

    def anew(cotangent: Cotangent) -> list[Tensor]:
        return [dense(g, v).clone() for g, v in zip(gradients(problem, cotangent), values, strict=True)]

    if not problem.shared.held:  # the next call changes what a module holds, and with it the graph
        leaves, outputs = problem.graph(values)

        def again(cotangent: Cotangent) -> list[Tensor]:
            got = problem.pull(leaves, outputs, like_contiguous(cotangent), retain=True)
            return [dense(g, v).clone() for g, v in zip(got, values, strict=True)]

        known = quiet(lambda: gradients_once(problem, cotangents[0]))
        rows = quiet(lambda: [again(v) for v in [*cotangents[1:], cotangents[0]]])
        if not isinstance(rows, Exception) and not isinstance(known, Exception):
            first = [dense(g, v) for g, v in zip(known, values, strict=True)]
            if all(map(identical, first, rows[-1])):
                return [first, *rows[:-1]], again
    return [anew(v) for v in cotangents], anew


Columns = dict[int, Sequence[int]]
Measured = list[tuple[complex, Tensor, Tensor]]


def numeric_jacobian(problem: Problem, columns: Columns) -> dict[int, Measured]:
    """Measured derivatives of all outputs (flattened together) with respect to chosen entries.

    Returns per input a list of (1 or 1j: the part of the entry that was moved, matrix with a row an
    output and a column an entry, error bar of each).
    """
    base = problem.base
    few = 1 if sum(v.numel() for v in problem.values) > _MANY else 2
    differences = _Differences(problem, base, steps_of(problem, base)[:few])
    return {
        index: [
            (part, *differences.columns(index, flats, part))
            for part in ((1, 1j) if problem.values[index].is_complex() else (1,))
        ]
        for index, flats in columns.items()
    }


@dataclass(frozen=True)
class _Differences:
    """Single-entry differences around one point, at the better of several steps."""

    problem: Problem
    base: list[Tensor]
    steps: list[float]

    def columns(self, index: int, flats: Sequence[int], part: complex) -> tuple[Tensor, Tensor]:
        """Derivatives of all outputs by the chosen entries, and their error bars."""
        scale = scales(self.problem.values)[index].reshape(-1)
        pairs = []
        for flat in flats:
            direction = [
                torch.zeros_like(wide(v), memory_format=torch.contiguous_format) for v in self.problem.values
            ]
            direction[index].view(-1)[flat] = torch.tensor(part * scale[flat].item())
            pairs.append(self._column(direction, index, flat))
        return torch.stack([c for c, _ in pairs], 1), torch.stack([e for _, e in pairs], 1)

    def _column(self, direction: list[Tensor], index: int, flat: int) -> tuple[Tensor, Tensor]:
        size = sum(y.numel() for y in self.base)
        device = self.base[0].device
        kind = torch.promote_types(torch.float64, wide(self.base[0]).dtype)
        best = torch.zeros(size, dtype=kind, device=device)
        bar = torch.full((size,), float("inf"), dtype=torch.float64, device=device)
        for step in self.steps:
            measured = slope(self.problem, self.problem.values, direction, step, self.base)
            if measured is None:
                continue
            unit = abs(complex(measured.dx[index].reshape(-1)[flat].item()))
            column = torch.cat([d.reshape(-1) for d in measured.dy]) / unit
            noise = torch.cat([s.reshape(-1) for s in measured.sigma]) * (8 / step / unit)
            error = noise + torch.cat([d.reshape(-1).abs() for d in measured.rough]) * (2 / unit)
            better = error < bar
            best = torch.where(better, column.to(best.dtype), best)
            bar = torch.where(better, error, bar)
        return best, bar


def gather(
    m: Mismatch,
    body: Problem | None,
    draws: Draws,
    found: Sequence[int],
    klass: Any,
    *,
    entries: bool = True,
) -> Evidence:
    """Collect evidence about a mismatch, from `body` where it is trusted, else by finite differences.

    `found` are entries already known to be wrong; they are measured in any case. Without `entries`, the body
    is not asked for a gradient of every single entry of the outputs.
    """
    problem, index = m.problem, m.index
    outputs = problem.base
    total = sum(y.numel() for y in outputs)
    thorough = entries or body is None
    more = 4 if thorough and problem.values[index].numel() <= LARGE else 2
    cotangents = [m.cotangent, *(draws.cotangent(outputs) for _ in range(more))]
    if total <= 64 and thorough:
        cotangents += [basis(outputs, k) for k in range(total)]
    rows, pull = _pulled(problem, cotangents)
    all_analytic = [torch.stack([row[i].reshape(-1) for row in rows]) for i in range(len(problem.wrt))]
    none = m.analytic is None
    if body is not None:
        references, body_pull = _pulled(body, cotangents)
        pull_reference: Pull | None = body_pull
        all_reference: list[Tensor] | None = [
            torch.stack([row[i].reshape(-1) for row in references]) for i in range(len(problem.wrt))
        ]
        assert all_reference is not None
        mine = all_reference[index]
        known = torch.ones_like(mine[0], dtype=torch.bool)
        tolerance = _slack(mine, problem)
    else:
        mine, tolerance, known, all_reference, pull_reference = _measured(
            problem, index, cotangents, draws, found
        )
    return Evidence(
        problem, index, cotangents, all_analytic[index], mine, tolerance, known, all_analytic, all_reference,
        pull, pull_reference, none, klass,
    )  # fmt: skip


def _slack(reference: Tensor, problem: Problem) -> Tensor:
    """Rounding of a reference that PyTorch computed, in the precision that its digits show."""
    rms = torch.nan_to_num(reference.abs()).square().mean(1, keepdim=True).sqrt()
    parts = torch.view_as_real(reference) if reference.is_complex() else reference
    single = torch.equal(parts, parts.to(torch.float32).to(parts.dtype))
    eps = torch.finfo(torch.float32 if single else coarsest(problem.values)).eps
    relative = max(1e-9, 64 * eps, 64 * torch.finfo(coarsest(problem.values)).eps)
    return (relative * (reference.abs() + 0.01 * rms) + 1e-290).expand_as(reference)


def _measured(
    problem: Problem, index: int, cotangents: list[Cotangent], draws: Draws, found: Sequence[int]
) -> tuple[Tensor, Tensor, Tensor, list[Tensor] | None, Pull | None]:
    values = problem.values
    sizes = [v.numel() for v in values]
    small = sum(sizes) <= FULL_JACOBIAN
    if small:
        columns: Columns = {i: range(n) for i, n in enumerate(sizes)}
    else:
        picked = (
            {*found, *draws.integers(sizes[index], 40 if sizes[index] <= _MANY else 8)}
            if sizes[index] > FULL_JACOBIAN
            else range(sizes[index])
        )
        columns = {index: sorted(picked)}
    jacobians = numeric_jacobian(problem, columns)

    def pulled(i: int, cotangent: Cotangent) -> tuple[Tensor, Tensor]:
        flat = torch.cat([wide(v).reshape(-1) for v in cotangent if v is not None])
        row = torch.zeros(sizes[i], dtype=wide(values[i]).dtype, device=values[i].device)
        error = torch.full((sizes[i],), float("inf"), dtype=torch.float64, device=values[i].device)
        where = torch.tensor(list(columns[i]), dtype=torch.long, device=values[i].device)
        error[where] = 1e-290
        for part, matrix, bar in jacobians[i]:
            kind = torch.promote_types(matrix.dtype, flat.dtype)
            row[where] += (part * (matrix.to(kind).T @ flat.to(kind).conj()).real).to(row.device)
            error[where] += (bar.T @ flat.abs()).to(row.device)
        return row, error

    rows = [pulled(index, v) for v in cotangents]
    reference = torch.stack([r for r, _ in rows])
    errors = torch.stack([e for _, e in rows])
    known = torch.isfinite(errors).all(0)
    rms = torch.nan_to_num(reference.abs()).square().mean(1, keepdim=True).sqrt()
    tolerance = torch.nan_to_num(errors, posinf=0.0) + 1e-7 * (reference.abs() + 0.01 * rms) + 1e-290
    if not small:
        return reference, tolerance, known, None, None
    everything = [torch.stack([pulled(i, v)[0] for v in cotangents]) for i in range(len(sizes))]

    def pull_reference(cotangent: Cotangent) -> list[Tensor]:
        return [pulled(i, cotangent)[0].reshape(values[i].shape) for i in range(len(sizes))]

    return reference, tolerance, known, everything, pull_reference


def localise(
    problem: Problem, cotangent: Cotangent, analytic: Tensor, index: int, draws: Draws
) -> tuple[list[int], bool]:
    """Flat indices of wrong entries, and whether the wrong set is too dense.

    A single one is weighed: moved by its row, by its column, ..., it changes the disagreement by the number
    of the row and column. Several are found by adaptive group testing.
    """
    search = _Search.of(problem, cotangent, analytic, index, draws)
    only = search.weighed()
    return ([only], False) if only is not None else search.halved()


@dataclass(frozen=True)
class _Search:
    """Moves parts of one input at random; every move costs eight forwards."""

    problem: Problem
    cotangent: Cotangent
    grads: list[Tensor | None]
    index: int
    full: Tensor
    base: list[Tensor]
    step: float

    @classmethod
    def of(
        cls, problem: Problem, cotangent: Cotangent, analytic: Tensor, index: int, draws: Draws
    ) -> _Search:
        values = problem.values
        base = problem.base
        (scale,) = scales([values[index]])
        full = scale * draws.signed(values[index])
        grads = [analytic.to(values[index].dtype) if i == index else None for i in range(len(values))]
        return cls(problem, cotangent, grads, index, full, base, steps_of(problem, base)[0])

    def along(self, part: Tensor) -> Gap | None:
        """The disagreement when the input is moved along `part`."""
        values = self.problem.values
        direction = [part if i == self.index else torch.zeros_like(wide(v)) for i, v in enumerate(values)]
        measured = slope(self.problem, values, direction, self.step, self.base)
        return None if measured is None else measured.gap(self.cotangent, self.grads)

    def fails(self, low: int, high: int) -> bool:
        """Whether entries from `low` to below `high` show a disagreement."""
        part = torch.zeros_like(self.full, memory_format=torch.contiguous_format).view(-1)
        part[low:high] = self.full.reshape(-1)[low:high]
        gap = self.along(part.reshape(self.full.shape))
        return gap is not None and not gap.explained

    def weighed(self) -> int | None:
        """The wrong entry, if there is one only: moved alone it disagrees, and all others agree."""
        whole = self.along(self.full)
        if self.full.is_complex() or whole is None or whole.explained:
            return None
        place = []
        for axis, size in enumerate(self.full.shape):
            code = torch.linspace(0.5, 1.0, size, dtype=self.full.dtype, device=self.full.device)
            shape = [-1 if k == axis else 1 for k in range(self.full.dim())]
            weighed = self.along(self.full * code.reshape(shape))
            if weighed is None:
                return None
            place.append(round((weighed.size / whole.size - 0.5) * 2 * (size - 1)))
        if not all(0 <= k < size for k, size in zip(place, self.full.shape, strict=True)):
            return None
        others = self.full.clone()
        others[tuple(place)] = 0
        rest = self.along(others)
        flat = sum(k * stride for k, stride in zip(place, self._strides(), strict=True))
        alone = rest is not None and rest.explained and self.fails(flat, flat + 1)
        return flat if alone else None

    def _strides(self) -> list[int]:
        return [math.prod(self.full.shape[axis + 1 :]) for axis in range(self.full.dim())]

    def halved(self) -> tuple[list[int], bool]:
        """A wrong entry among n is found in about 2 log2(n) tests. Groups are halves of halves, so
        neighbouring wrong entries share tests.
        """
        found: list[int] = []
        groups = [(0, self.full.numel())]
        while groups:
            groups.sort(key=lambda g: g[0] - g[1])
            low, high = groups.pop(0) if len(groups) < 4 * _MOST else groups.pop()
            if high - low == 1:
                found.append(low)
                if len(found) >= _MOST:
                    return found, True
                continue
            middle = (low + high) // 2
            halves = [(low, middle), (middle, high)]
            groups += [half for half in halves if self.fails(*half)]
            if len(groups) > 4 * _MOST:
                return [*found, *(low for low, _ in groups[:_MOST])], True
        return found, False
