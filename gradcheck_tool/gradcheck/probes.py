"""Directions and cotangents: random first, then structured ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.stencil import scales, wide

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradcheck_tool.gradcheck.problem import Values

Cotangent = list[Tensor | None]


_BLOCK = 65_521
"""Numbers that are drawn for a large tensor, and repeated. A prime: neither rows nor columns repeat them."""


def _filled(like: Tensor, draw: Callable[[Sequence[int]], Tensor]) -> Tensor:
    """A tensor of the shape and on the device of `like`; `draw` makes numbers of a given shape."""
    if like.numel() <= 2 * _BLOCK:
        return draw(like.shape).to(like.device)
    count = like.numel()
    many = draw((_BLOCK,)).to(like.device).repeat(count // _BLOCK + 1)
    return many[:count].reshape(like.shape)


def _away_from_zero(centred: Tensor) -> Tensor:
    """Numbers in [-0.5, 0.5) moved out of (-0.5, 0.5)."""
    return centred.add_(torch.sgn(centred), alpha=0.5)


def _turned(uniform: Tensor) -> Tensor:
    turn = uniform * 2 * torch.pi
    return torch.polar(torch.ones_like(turn), turn)


def _powers(uniform: Tensor, reach: float) -> Tensor:
    """Powers of ten from 10 to the minus `reach` to 10 to the `reach`."""
    return torch.pow(10.0, reach * (2 * uniform - 1))


class Draws:
    """Seeded draws that do not touch the global random state."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def magnitudes(self, like: Tensor) -> Tensor:
        """Uniform in [0.5, 1], real double precision, on the device of `like`.

        Bounded away from zero: no entry can be missed by bad luck. Not all equal: equal magnitudes would
        evaluate the same rounding points again and let entries cancel.
        """
        return _filled(like, lambda shape: 0.5 + 0.5 * self._rand(shape))

    def signs(self, like: Tensor) -> Tensor:
        """Random signs; random phases for complex tensors."""
        if like.is_complex():
            return _filled(like, lambda shape: _turned(self._rand(shape)))
        return _filled(like, lambda shape: torch.sgn(self._rand(shape).sub_(0.5)))

    def signed(self, like: Tensor) -> Tensor:
        """Magnitudes with random signs, or phases."""
        if like.is_complex():
            return self.magnitudes(like) * self.signs(like)
        return _filled(like, lambda shape: _away_from_zero(self._rand(shape).sub_(0.5)))

    def uniform(self, like: Tensor) -> Tensor:
        """Uniform in [0, 1), real double precision."""
        return _filled(like, self._rand)

    def _rand(self, shape: Sequence[int]) -> Tensor:
        return torch.rand(shape, generator=self._generator, dtype=torch.float64)

    def direction(self, values: Values, only: Sequence[int] | None = None) -> list[Tensor]:
        """A random direction per input, scaled to each entry; zero for inputs not in `only`."""
        out = []
        for i, (value, scale) in enumerate(zip(values, scales(values), strict=True)):
            if only is not None and i not in only:
                out.append(torch.zeros_like(wide(value)))
            else:
                out.append(self.signed(value).mul_(scale))
        return out

    def cotangent(self, outputs: Values, *, sign: int = 0) -> Cotangent:
        """A random cotangent for every output: signed, or all of one `sign`."""
        out: Cotangent = []
        for y in outputs:
            draw = self.magnitudes(y) * float(sign) if sign else self.signed(y)
            out.append(draw.to(y.dtype))
        return out

    def spread(self, outputs: Values) -> Cotangent:
        """A signed cotangent whose sizes range from 1e-3 to 1e3: clipping in a backward shows."""
        out: Cotangent = []
        for y in outputs:
            reach = 3.0 if y.dtype != torch.float16 else 1.0
            size = _filled(y, lambda shape, most=reach: _powers(self._rand(shape), most))  # type: ignore[misc]
            out.append((size * self.signs(y)).to(y.dtype))
        return out

    def jitter(self, value: Tensor, amount: float) -> Tensor:
        """`value` moved by a random part of its scale, away from kinks and ties; signs are kept."""
        (scale,) = scales([value])
        moved = wide(value) + amount * scale * self.signed(value)
        return moved.to(value.dtype)

    def integers(self, high: int, count: int) -> list[int]:
        """`count` integers below `high`."""
        return [int(k) for k in torch.randint(0, max(high, 1), (count,), generator=self._generator)]


def one_output(cotangent: Cotangent, index: int) -> Cotangent:
    """The cotangent for one output only; zeros elsewhere."""
    return [v if k == index or v is None else torch.zeros_like(v) for k, v in enumerate(cotangent)]


def basis(outputs: Values, flat: int) -> Cotangent:
    """The unit cotangent number `flat`, counted through all outputs."""
    out: Cotangent = []
    for y in outputs:
        v = torch.zeros(y.shape, dtype=y.dtype, device=y.device)
        if 0 <= flat < y.numel():
            v.view(-1)[flat] = 1
        flat -= y.numel()
        out.append(v)
    return out


def like_contiguous(cotangent: Cotangent) -> Cotangent:
    """Fresh contiguous copies, so that no backward can change the caller's tensors."""
    return [None if v is None else v.detach().clone(memory_format=torch.contiguous_format) for v in cotangent]
