"""One call under check as a function of its differentiable inputs; every evaluation is counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.dress import Dress, dressed
from gradcheck_tool.gradcheck.tree import Rebuild, flatten

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.rng import RandomState
    from gradcheck_tool.gradcheck.world import World

LARGE = 100_000
"""Inputs with more entries than this are given fewer variations: every evaluation costs."""

ROUNDING = 1e-5
"""Relative differences below this may be float32 rounding inside a Function: no layout, subset or state
explains so little."""

Values = Sequence[Tensor]
Grads = list[Tensor | None]


@dataclass
class Evaluations:
    """How many forward and backward calls of the checked Function were made."""

    forwards: int = 0
    backwards: int = 0

    @property
    def total(self) -> int:
        """Forward and backward calls together."""
        return self.forwards + self.backwards


@dataclass
class Shared:
    """What all variations of one call have in common."""

    count: Evaluations
    rng: RandomState
    copies: bool = False
    """forward changes its arguments: give it fresh ones, and non-leaf ones where they require grad."""
    stuck: bool = False
    """forward did not return for a derived input."""
    stairs: bool = False
    """forward iterates until a tolerance, and on a small scale its value is a staircase."""
    by_backward: bool = False
    """`torch.autograd.grad` is refused (reentrant checkpointing); `.backward()` is used."""
    held: Mapping[int, Tensor] = field(default_factory=dict)
    """Arguments, by position, that another argument holds, too; see `gradcheck.held`."""
    worn: Mapping[int, Dress] = field(default_factory=dict)
    """What arguments, by position, are besides their numbers; see `gradcheck.dress`."""
    frees: bool = False
    """forward frees the memory of an argument: nothing but the Function may read what it kept."""
    world: World | None = None
    """The settings of the process, where a call changes them."""
    recording: bool = False
    """The call needs a graph to be recorded, as it is in training, or computes something else without."""


@dataclass
class Memo:
    """What has been computed at the inputs of one problem and is shared by all checks of it."""

    cotangent: list[Tensor | None] | None = None
    """The signed cotangent that checks use which need only one."""
    gradients: dict[int, tuple[list[Tensor | None], Grads]] = field(default_factory=dict)
    """By the identity of the cotangent, beside that cotangent."""
    regular: dict[int, tuple[list[Tensor | None], bool]] = field(default_factory=dict)
    """By the identity of the cotangent, whether the outputs that it uses have no kink nearby."""
    graph: tuple[list[Tensor], list[Tensor]] | None = None
    """Leaves and outputs of a graph through which no backward has gone yet."""
    accepted: bool | None = None
    """Whether forward takes these inputs and gives finite outputs; None where that was not asked."""


def is_real_number(leaf: Any) -> bool:
    """Whether `leaf` is a tensor of floating-point or complex numbers."""
    return isinstance(leaf, Tensor) and (leaf.is_floating_point() or leaf.is_complex())


@dataclass(frozen=True)
class Problem:
    """`call(*args, **kwargs)` as a map from the inputs that require grad to the differentiable outputs."""

    call: Callable[..., Any]
    leaves: tuple[Any, ...]
    build: Rebuild
    wrt: tuple[int, ...]
    outs: tuple[int, ...]
    shared: Shared

    @property
    def values(self) -> list[Tensor]:
        """The inputs that are differentiated, detached."""
        return [*self._values]

    @cached_property
    def _values(self) -> tuple[Tensor, ...]:
        return tuple(self.leaves[i].detach() for i in self.wrt)

    @cached_property
    def base(self) -> list[Tensor]:
        """The differentiable outputs at the inputs themselves, computed once."""
        return [y.clone() for y in self.forward(self.values)]

    @cached_property
    def memo(self) -> Memo:
        """What else has been computed at the inputs themselves."""
        return Memo()

    def begin(self) -> bool:
        """Run the forward with a graph that is kept for the first backward, and remember the outputs; whether
        these can be differentiated and are finite.
        """
        leaves, outputs = self.graph(self.values)
        self.start(leaves, outputs)
        return all(y.requires_grad for y in outputs) and all(
            bool(torch.isfinite(y.abs() if y.is_complex() else y).all()) for y in self.base
        )

    def start(self, leaves: list[Tensor], outputs: list[Tensor]) -> None:
        """Remember a graph at the inputs themselves, for the first backward, and its outputs."""
        vars(self)["base"] = [y.detach().clone() for y in outputs]
        if not self.shared.held:  # the next call changes what a module holds, and with it the graph
            self.memo.graph = (leaves, outputs)

    def forget(self) -> None:
        """Compute anew what is asked for from now on."""
        vars(self).pop("base", None)
        vars(self).pop("memo", None)

    def with_leaves(self, leaves: Sequence[Any]) -> Problem:
        """The same call with other arguments of the same structure."""
        return replace(self, leaves=tuple(leaves))

    def with_values(self, values: Values) -> Problem:
        """The same call at another point."""
        leaves = list(self.leaves)
        for position, value in zip(self.wrt, values, strict=True):
            leaves[position] = value
        return self.with_leaves(leaves)

    def with_call(self, call: Callable[..., Any]) -> Problem:
        """The same arguments given to another callable."""
        return replace(self, call=call)

    def cast(self, dtype: torch.dtype) -> Problem:
        """The same call with all floating and complex arguments in the precision of `dtype`."""
        return self.with_leaves([_cast(leaf, dtype) for leaf in self.leaves])

    def raw(self, leaves: Sequence[Any]) -> list[Any]:
        """Call with exactly these leaves; the flat outputs."""
        leaves = list(leaves)
        for position, tensor in self.shared.held.items():
            if leaves[position] is not tensor:
                tensor.data = leaves[position].detach()
                leaves[position] = tensor
        args, kwargs = self.build(dressed(leaves, self.shared.worn))
        self.shared.count.forwards += 1
        self.shared.rng.seed()
        try:
            outputs = self.call(*args, **kwargs)
            return [outputs] if isinstance(outputs, Tensor) else flatten(outputs)[0]
        finally:
            self._put_back()

    def _put_back(self) -> None:
        if self.shared.world is not None:
            self.shared.world.put_back()

    def arguments(self, values: Values) -> list[Any]:
        """All leaves with `values` in the places of the differentiated inputs."""
        leaves = list(self.leaves)
        if self.shared.copies:
            leaves = [x.clone() if isinstance(x, Tensor) else x for x in leaves]
        for position, value in zip(self.wrt, values, strict=True):
            leaves[position] = value
        return leaves

    def forward(self, values: Values) -> list[Tensor]:
        """The differentiable outputs at `values`, without a graph; the inputs require grad all the same."""
        given = [v.detach().requires_grad_() for v in values]
        if self.shared.copies:
            with torch.enable_grad():
                given = [copied(v) for v in given]
        with torch.set_grad_enabled(self.shared.recording):
            flat = self.raw(self.arguments(given))
        return [flat[i].detach() for i in self.outs]

    def graph(self, values: Values, needs: Sequence[bool] | None = None) -> tuple[list[Tensor], list[Tensor]]:
        """Fresh leaves at `values` and the differentiable outputs computed from them."""
        wanted = needs if needs is not None else [True] * len(values)
        leaves = [
            self._leaf(p, v.detach(), needed) for p, v, needed in zip(self.wrt, values, wanted, strict=True)
        ]
        with torch.enable_grad():
            given = [copied(v) if self.shared.copies else v for v in leaves]
            flat = self.raw(self.arguments(given))
        return leaves, [flat[i] for i in self.outs]

    def _leaf(self, position: int, value: Tensor, needed: bool) -> Tensor:
        leaf = value
        if position in self.shared.held:
            leaf = self.shared.held[position]
            leaf.data, leaf.grad = value, None
        return leaf.requires_grad_(needed)

    def vjp(
        self, values: Values, cotangents: Sequence[Tensor | None], needs: Sequence[bool] | None = None
    ) -> Grads:
        """The gradients that the Function returns, on a graph of its own; None for inputs not asked for.

        A cotangent of None leaves that output out of the loss.
        """
        leaves, outputs = self.graph(values, needs)
        return self.pull(leaves, outputs, cotangents)

    def pull(
        self, leaves: Values, outputs: Values, cotangents: Sequence[Tensor | None], *, retain: bool = False
    ) -> Grads:
        """Backward through `outputs`; None where no gradient arrives."""
        used = [(y, v) for y, v in zip(outputs, cotangents, strict=True) if v is not None and y.requires_grad]
        asked = [x for x in leaves if x.requires_grad]
        if not used or not asked:
            return [None] * len(leaves)
        self.shared.count.backwards += 1
        try:
            got = self._gradients([y for y, _ in used], asked, [v for _, v in used], retain=retain)
        finally:
            self._put_back()
        found = iter([g.to_dense() if g is not None and g.is_sparse else g for g in got])
        return [next(found) if x.requires_grad else None for x in leaves]

    def _gradients(self, ys: Values, xs: Values, vs: Values, *, retain: bool) -> Sequence[Tensor | None]:
        if not self.shared.by_backward:
            try:
                return torch.autograd.grad(ys, xs, vs, allow_unused=True, retain_graph=retain)
            except RuntimeError as error:
                if "not compatible with .grad()" not in str(error) and "use_reentrant" not in str(error):
                    raise
                self.shared.by_backward = True
        for x in xs:
            x.grad = None
        torch.autograd.backward(list(ys), list(vs), retain_graph=retain)
        return [x.grad for x in xs]


def copied(value: Tensor) -> Tensor:
    """A copy with the same strides where they do not overlap."""
    return value.clone()


def identical(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements; NaN equals NaN."""
    a, b = (t if t.layout == torch.strided else t.to_dense() for t in (a, b))
    if torch.complex32 in (a.dtype, b.dtype):
        a, b = a.to(torch.complex64), b.to(torch.complex64)
    if a.shape != b.shape or torch.equal(a, b):
        return a.shape == b.shape
    return bool(((a == b) | (torch.isnan(a) & torch.isnan(b))).all().item()) if is_real_number(a) else False


def _cast(leaf: Any, dtype: torch.dtype) -> Any:
    if not is_real_number(leaf):
        return leaf
    wanted = dtype.to_complex() if leaf.is_complex() and dtype.is_floating_point else dtype
    return leaf.detach().to(wanted).requires_grad_(leaf.requires_grad)


def generators_of(target_cls: Any, call: Any, leaves: Sequence[Any]) -> list[Any]:
    """Objects reachable by name from the Function's code that may be private random generators."""
    found = list(leaves)
    functions = [call]
    if target_cls is not None:
        found += list(vars(target_cls).values())
        functions = [getattr(target_cls, n, None) for n in ("forward", "backward", "vjp", "setup_context")]
    for function in functions:
        code = getattr(function, "__code__", None)
        if code is None:
            continue
        space = getattr(function, "__globals__", {})
        found += [space[name] for name in code.co_names if name in space]
        found += [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    return found


def _filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def raised_by_engine(error: BaseException) -> bool:
    """Whether `error` was raised by this package itself and not by the code under check or by PyTorch."""
    trace, filename = error.__traceback__, ""
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        trace = trace.tb_next
    return Path(filename).parent == Path(__file__).parent and filename != __file__
