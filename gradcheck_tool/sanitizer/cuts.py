"""Where values go on without their graph, and constant terms that such values end in.

A value is followed from the operation that cuts it off through operations that make no node. It is
interesting again where it is added to a loss: a constant term has no gradient.
"""

from __future__ import annotations

import sys
import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.sanitizer.grad_mode import records_graph, switched_off
from gradcheck_tool.sanitizer.graphs import leaves_of
from gradcheck_tool.sanitizer.memory import tensors_in
from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sites import here, site_of
from gradcheck_tool.sanitizer.tokens import token_of
from gradcheck_tool.sanitizer.unseen import unseen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

    from gradcheck_tool.sanitizer.functions import Call, Functions
    from gradcheck_tool.sanitizer.grad_mode import Switch
    from gradcheck_tool.sanitizer.passes import Pass, Passes
    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.steps import Steps

_MOST_LOOKS = 50_000
"""After so many operations that cut something off nothing more is learned from the next one."""
_LAST_WALK = 64
"""The leaves behind a cut are looked for in the 1st, 2nd, 4th, ... value, up to this one."""
_MOST_CUTS = 16
"""So many cuts are known of one value."""
_aten = torch.ops.aten
_NUMBERS = (_aten._local_scalar_dense.default,)
_MADE_OF_NUMBERS = (_aten.lift_fresh.default,)
_SUMS = (_aten.add.Tensor, _aten.add_.Tensor, _aten.sub.Tensor)


@dataclass(slots=True, eq=False)
class Cut:
    """A place where values go on without their graph.

    Attributes:
        operation: what does it, by its name in PyTorch; `backward` where gradients get no graph.
        site: where the program does it.
        tracked: whether grad mode was on.
        switch: what had switched it off.
        function: the custom Function that gives values without a graph.
        times: how often it happened.
        leaves: the tokens of the leaves that the values depend on.
        walks: the same for each value that was looked at.
        shared: whether a value was used before and after a pass, so that it had to be cut off.
    """

    operation: str
    site: Site
    tracked: bool
    switch: Switch | None = None
    function: type[Any] | None = None
    times: int = 0
    leaves: set[int] = field(default_factory=set)
    walks: list[set[int]] = field(default_factory=list)
    shared: bool = False

    @property
    def gives_numbers(self) -> bool:
        """Do the values go on as Python numbers?"""
        return self.operation in ("_local_scalar_dense", "tolist")

    @property
    def message(self) -> str:
        """What happens there, in words."""
        if self.function is not None:
            return f"`{self.operation}` is applied here, and gives this without a graph"
        if self.operation == "backward":
            return "these gradients have no graph of their own (create_graph is off)"
        if self.gives_numbers:
            return "this makes Python numbers of tensors with a graph"
        if not self.tracked:
            return f"`{self.operation}` is computed without a graph here: grad mode is off"
        return f"`{self.operation}` cuts the graph off here"


@dataclass(slots=True, eq=False)
class Constant:
    """A value without its graph, and all that is computed of it without a node.

    Attributes:
        cuts: what has cut off its parts.
        used: how many passes there had been when a node used it first; -1 before that.
    """

    cuts: tuple[Cut, ...]
    used: int = -1


@dataclass(slots=True, eq=False)
class Term:
    """A constant that is added to something with a graph.

    Attributes:
        cut: where its graph was cut off; None where that is not known.
        values: the first value, and whether there were others.
    """

    site: Site
    cut: Cut | None
    times: int = 0
    value: float = 0.0
    varies: bool = False


@dataclass(slots=True)
class Cuts:
    """The cuts of a process.

    Attributes:
        watching: whether operations without node are looked at.
        last: the last cut.
        known: every cut, by place and operation.
        terms: constant terms, by place.
    """

    passes: Passes
    steps: Steps
    functions: Functions
    watching: bool = True
    last: Cut | None = None
    known: dict[tuple[Site, str], Cut] = field(default_factory=dict)
    terms: dict[Site, Term] = field(default_factory=dict)
    _looks: int = 0
    _constants: dict[int, tuple[weakref.ref[Tensor], Constant]] = field(default_factory=dict)

    def operation(self, func: Any, args: tuple[Any, ...], name: str, frame: FrameType) -> Constant | None:
        """An operation makes no node: the value without graph that its result comes from, if any."""
        if self.passes.current is not None or self.steps.under_way:
            return None
        if name.startswith("new_") or name.endswith("_like"):
            return None  # takes the shape alone
        given = list(tensors_in(args))
        if name.endswith("_"):
            del given[:1]  # what is written to stays what it is
        tracked = [tensor for tensor in given if tensor.requires_grad]
        constants = list(filter(None, map(self._constant, given))) if self._constants else []
        if tracked:
            cut = self._cut(func, tracked, name, frame)
            return None if cut is None else _joined([Constant((cut,)), *constants])
        if constants:
            return _joined(constants)
        if self.functions.has_inside and records_graph():
            left = next(filter(None, map(self.functions.made_in, given)), None)
            if left is not None and not _is_in_function(frame):
                return self._left_by(left)
        if func in _MADE_OF_NUMBERS and self.last is not None and self.last.gives_numbers:
            return Constant((self.last,)) if site_of(frame) is self.last.site else None
        return None

    @unseen
    def listed(self, tensor: Tensor) -> None:
        """The program makes a list of a tensor."""
        is_looked_at = self.watching and self.passes.current is None and not self.steps.under_way
        if is_looked_at and tensor.requires_grad:
            self._cut(None, [tensor], "tolist", sys._getframe(1))

    @unseen
    def from_array(self, result: Tensor) -> None:
        """A tensor is made of an array: what the same function has cut off last goes on in it."""
        site, last = here(), self.last
        if site is not None and last is not None and site.frames[0][0] is last.site.frames[0][0]:
            self.result(result, Constant((last,)))

    def result(self, result: Any, constant: Constant) -> None:
        """What an operation gives goes on without graph."""
        for tensor in tensors_in(result if isinstance(result, (tuple, list)) else (result,)):
            key = id(tensor)
            gone = weakref.ref(tensor, lambda _, key=key: self._constants.pop(key, None))  # type: ignore[misc]
            self._constants[key] = gone, constant

    def of(self, tensors: Iterable[Tensor]) -> Cut | None:
        """The last place where values that have no graph were cut off from one."""
        constants = (self._constant(tensor) for tensor in tensors if not tensor.requires_grad)
        return next((one.cuts[-1] for one in constants if one is not None), None)

    def gradients(self, begun: Pass, result: Any) -> None:
        """A pass gives gradients."""
        if begun.creates or begun.site is None or not isinstance(result, (tuple, list)):
            return
        self.result(result, Constant((self._known(begun.site, "backward", tracked=True),)))

    def node(self, func: Any, args: tuple[Any, ...], site: Site | None) -> None:
        """An operation makes a node: which values without graph does it use, and is one added to a loss?"""
        if self._constants:
            self._used(args)
        if func not in _SUMS or site is None or len(args) < 2:
            return
        pair = [value for value in args[:2] if isinstance(value, Tensor) and value.dim() == 0]
        if len(pair) < 2 or pair[0].requires_grad == pair[1].requires_grad or self.passes.current is not None:
            return
        constant = pair[0] if pair[1].requires_grad else pair[1]
        known = self._constant(constant)
        cut = None if known is None else known.cuts[0]
        term = self.terms.get(site)
        value = float(constant) if constant.device.type == "cpu" else 0.0
        if term is None:
            term = self.terms[site] = Term(site, cut, value=value)
        term.times += 1
        term.varies = term.varies or value != term.value

    def _used(self, args: tuple[Any, ...]) -> None:
        for tensor in tensors_in(args):
            constant = self._constant(tensor)
            if constant is None:
                continue
            if constant.used < 0:
                constant.used = self.passes.total
            elif constant.used != self.passes.total:
                for cut in constant.cuts:
                    cut.shared = True

    def _constant(self, tensor: Tensor) -> Constant | None:
        known = self._constants.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else None

    def _cut(self, func: Any, tracked: list[Tensor], name: str, frame: FrameType) -> Cut | None:
        self._looks += 1
        self.watching = self._looks < _MOST_LOOKS
        site = site_of(frame)
        if site is None or _is_in_function(frame):
            return None
        cut = self._known(site, name, tracked=records_graph())
        times = cut.times
        if func in _NUMBERS or (times <= _LAST_WALK and not times & (times - 1)):
            leaves = {token_of(leaf) for tensor in tracked for leaf in leaves_of(tensor)}
            cut.leaves |= leaves
            if func not in _NUMBERS:
                cut.walks.append(leaves)
        self.last = cut
        return cut

    def _left_by(self, call: Call) -> Constant | None:
        """What is computed of a value that a custom Function has given without a graph."""
        if call.site is None:
            return None
        cut = self._known(call.site, call.function.__name__, tracked=True)
        cut.function = call.function
        return Constant((cut,))

    def _known(self, site: Site, name: str, *, tracked: bool) -> Cut:
        cut = self.known.get((site, name))
        if cut is None:
            cut = self.known[site, name] = Cut(name, site, tracked, switch=switched_off())
        cut.times += 1
        return cut


@contextmanager
def lists_watched(cuts: Cuts) -> Iterator[None]:
    """Each list that is made of a tensor with a graph is told to `cuts`: no operation does that."""
    original: Any = Tensor.tolist

    @wraps(original)
    def tolist(tensor: Tensor) -> Any:
        cuts.listed(tensor)
        return original(tensor)

    with replaced(Tensor, tolist=tolist):
        yield


def _joined(constants: list[Constant]) -> Constant:
    """What is computed of several constants."""
    first = constants[0]
    if all(one is first for one in constants):
        return first
    cuts = dict.fromkeys(cut for one in constants for cut in one.cuts)
    return Constant(tuple(islice(cuts, _MOST_CUTS)), max(one.used for one in constants))


def _is_in_function(frame: FrameType | None) -> bool:
    """Does an `autograd.Function` run, whose forward never has a graph?"""
    while frame is not None:
        if frame.f_code.co_name == "apply" and frame.f_code.co_filename.endswith("function.py"):
            return True
        frame = frame.f_back
    return False
