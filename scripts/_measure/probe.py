"""Watch one call: what its graph nodes save, free and share, found out by provoking the engine."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, get_gradient_edge, increment_version

if TYPE_CHECKING:
    from .facts import Fact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

MODIFIED = ("modified by an inplace operation", "has been modified inplace")
FREED = ("Trying to backward through the graph a second time",)
MULTIPLE = "returns multiple views"
OVERLAPPING = "more than one element of the written-to tensor refers to a single memory location"
IMPOSSIBLE = ("is not implemented", *MODIFIED)


@dataclass(frozen=True)
class Call:
    """A callable with its arguments bound to parameter names, in the order of the call.

    `invoke` takes the same mapping with other tensors in it. `facts` are those that guards may use. A rare
    call makes variants that apply only where their guards are known to hold.
    """

    name: str
    invoke: Callable[[Mapping[str, Any]], Any]
    arguments: Mapping[str, Any]
    facts: dict[str, Fact]
    source: str = ""
    is_rare: bool = False


@dataclass(frozen=True)
class Shown:
    """What one output is: see `gradcheck_tool.engine.optable.Output`.

    `dtype` and `shape` are all the descriptions that fit; None and `differentiable` None where the
    arguments cannot tell (none can require grad, all are 0-dim). `dense` is the kind of view when the
    arguments are contiguous; `strided`: the result is not contiguous then.
    """

    name: str
    dtype: frozenset[str]
    differentiable: bool | None
    view: str | None
    view_of: str | None
    shape: frozenset[str] | None
    dense: str | None = None
    strided: bool = False


Mask = frozenset[str]


@dataclass
class Observation:
    """Everything that was seen of one call.

    `saved` and `freed` are per mask of parameters that require grad; of a list of tensors all do. `elements`
    says for a list which of its tensors are saved where one requires grad: `all`, `own` or `others`. `guarded` says
    for parameters that are written whether the call refuses those whose elements share memory; `idempotent`:
    done once more it changes nothing. Slots are parameter names, or `out` (`out1`, ... for later outputs).
    """

    result: str = "value"
    outputs: list[Shown] = field(default_factory=list)
    masks: list[Mask] = field(default_factory=list)
    saved: dict[str, set[Mask]] = field(default_factory=dict)
    partly: set[str] = field(default_factory=set)
    elements: dict[str, str] = field(default_factory=dict)
    freed: set[Mask] = field(default_factory=set)
    tracked: set[str] = field(default_factory=set)
    refuses: set[str] = field(default_factory=set)
    unimplemented: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    unversioned: set[str] = field(default_factory=set)
    zero: set[str] = field(default_factory=set)
    second: dict[str, set[str]] = field(default_factory=dict)
    dense: set[str] = field(default_factory=set)
    apart: set[str] = field(default_factory=set)
    guarded: dict[str, bool] = field(default_factory=dict)
    idempotent: bool = False
    node: str = ""


def tensors_in(value: Any) -> Iterator[Tensor]:
    """All tensors inside nested lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)


def map_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same nesting with every tensor replaced."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(item, change) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(map_tensors(item, change) for item in value)
    if isinstance(value, dict):
        return {key: map_tensors(item, change) for key, item in value.items()}
    return value


def can_require_grad(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


_NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float32}


class Run:
    """One forward of a call with fresh arguments, of which those in `mask` require grad.

    Arguments that require grad are clones of leaves, so that in-place calls are legal; a clone's node
    saves nothing. `prepare` changes each argument's memory layout before use.
    """

    def __init__(
        self,
        call: Call,
        mask: Mask,
        prepare: Callable[[Tensor], Tensor] | None = None,
        *,
        only_first: bool = False,
        seed: int = 0,
    ) -> None:
        self.only_first = only_first
        self.leaves: dict[str, list[Tensor]] = {}
        self.slots: dict[str, list[Tensor]] = {}
        arguments = {name: self._fresh(name, value, mask, prepare) for name, value in call.arguments.items()}
        self.numbers = [value for value in arguments.values() if type(value) in _NUMBERS]
        given = [tensor for tensors in self.slots.values() for tensor in tensors]
        self.versions = {id(tensor): tensor._version for tensor in given}
        self.data = {id(tensor): tensor.detach().clone() for tensor in given}
        torch.manual_seed(seed)
        self.returned = call.invoke(arguments)
        self.outputs = list(tensors_in(self.returned))
        self.roots = [get_gradient_edge(tensor) for tensor in self.outputs if tensor.requires_grad]
        torch.manual_seed(seed + 1)
        self.cotangents = [torch.rand_like(tensor) for tensor in self.outputs if tensor.requires_grad]

    def _fresh(self, name: str, value: Any, mask: Mask, prepare: Callable[[Tensor], Tensor] | None) -> Any:
        def change(tensor: Tensor) -> Tensor:
            fresh = tensor.detach().clone(memory_format=torch.contiguous_format)
            is_chosen = name in mask and not (self.only_first and name in self.leaves)
            if is_chosen and can_require_grad(tensor):
                leaf = fresh.requires_grad_()
                self.leaves.setdefault(name, []).append(leaf)
                fresh = leaf.clone()
            if prepare is not None:
                fresh = prepare(fresh)
            self.slots.setdefault(name, []).append(fresh)
            return fresh

        return map_tensors(value, change)

    @property
    def all_leaves(self) -> list[Tensor]:
        return [leaf for leaves in self.leaves.values() for leaf in leaves]

    def backward(self, retain: bool, create: bool = False) -> tuple[Tensor | None, ...]:
        """Gradients of the leaves for random cotangents."""
        roots: list[GradientEdge] = self.roots
        return torch.autograd.grad(
            roots,
            self.all_leaves,
            self.cotangents,
            retain_graph=retain,
            create_graph=create,
            allow_unused=True,
        )

    def raises(self, texts: tuple[str, ...], retain: bool) -> bool:
        """Whether a backward raises an error with one of these texts; other errors go through."""
        try:
            self.backward(retain)
        except RuntimeError as error:
            if any(text in str(error) for text in texts):
                return True
            raise
        return False

    def protects(self, tensor: Tensor) -> bool:
        """Whether a write to `tensor` now makes backward raise; the graph stays usable."""
        version = tensor._version
        increment_version(tensor)
        try:
            return self.raises(MODIFIED, retain=True)
        finally:
            torch._C._autograd._unsafe_set_version_counter((tensor,), (version,))


def masks_of(parameters: list[str]) -> list[Mask]:
    """Which parameters require grad: every combination of up to four, else each, all, all but one."""
    if len(parameters) <= 4:
        sizes = range(1, len(parameters) + 1)
        return [frozenset(chosen) for size in sizes for chosen in itertools.combinations(parameters, size)]
    every = frozenset(parameters)
    singles = [frozenset([name]) for name in parameters]
    return [*singles, *(every - single for single in singles), every]


def transposed_layout(tensor: Tensor) -> Tensor:
    """The same values in memory that is not contiguous (where there are two dimensions or more)."""
    if tensor.layout is not torch.strided or tensor.dim() < 2:
        return tensor
    order = [tensor.dim() - 1, *range(tensor.dim() - 1)]
    back = [*range(1, tensor.dim()), 0]
    return tensor.permute(order).contiguous().permute(back)


def observe(call: Call) -> Observation | None:
    """Everything about one call, or None where the call does not work at all."""
    try:
        plain = Run(call, frozenset())
    except Exception:
        return None
    seen = Observation(result=_result_kind(plain.returned))
    parameters = [n for n, ts in plain.slots.items() if any(can_require_grad(t) for t in ts)]
    for parameter in parameters:
        _watch_single(call, parameter, seen)
    usable = [name for name in parameters if name not in seen.refuses]
    _watch_writes(plain, seen)
    _watch_overlap(call, plain, seen)
    seen.idempotent = bool(seen.writes) and _changes_nothing_more(call, seen.writes)
    full = Run(call, frozenset(usable))
    others = tuple(_changed_run(call, change) for change in (_as_integer, _as_batch, _as_oblong))
    seen.outputs = [_describe(index, full, others, bool(usable)) for index in range(len(full.outputs))]
    _watch_views(call, frozenset(usable), seen)
    for mask in masks_of(sorted(usable)):
        if mask & seen.tracked and not mask & seen.unimplemented:
            _watch_mask(call, mask, seen)
    tracked = frozenset(seen.tracked - seen.unimplemented)
    if tracked:
        seen.node = _node_name(full, seen)
        _watch_elements(call, tracked, seen)
        _watch_second(call, tracked, seen)
        _watch_layout(call, tracked, seen)
        _watch_swaps(call, tracked, seen)
    return seen


def _result_kind(returned: Any) -> str:
    if isinstance(returned, Tensor):
        return "tensor"
    if isinstance(returned, tuple) and returned and all(isinstance(item, Tensor) for item in returned):
        return "tuple"
    if isinstance(returned, list) and any(True for _ in tensors_in(returned)):
        return "list"
    if returned is None:
        return "none"
    return "nested" if any(True for _ in tensors_in(returned)) else "value"


def _watch_single(call: Call, parameter: str, seen: Observation) -> None:
    """Does this parameter alone make a result require grad, is it refused, is its gradient zero?"""
    try:
        run = Run(call, frozenset([parameter]))
    except Exception:
        seen.refuses.add(parameter)
        return
    if not run.roots:
        return
    seen.tracked.add(parameter)
    try:
        gradients = run.backward(retain=True)
    except (RuntimeError, NotImplementedError) as error:
        if any(text in str(error) for text in IMPOSSIBLE):
            seen.unimplemented.add(parameter)
            return
        raise
    zero = all(gradient is not None and not gradient.any() for gradient in gradients)
    run.backward(retain=False)
    if zero and not run.raises(FREED, retain=False):
        seen.zero.add(parameter)


def _watch_writes(run: Run, seen: Observation) -> None:
    for name, tensors in run.slots.items():
        for tensor in tensors:
            if tensor._version != run.versions[id(tensor)]:
                seen.writes.add(name)
            elif tensor.layout is torch.strided and not _equal(tensor, run.data[id(tensor)]):
                seen.unversioned.add(name)


def _watch_overlap(call: Call, run: Run, seen: Observation) -> None:
    """Are written tensors refused, and one given as `out`, where their elements share memory?"""
    targets = {name: run.slots[name][0] for name in seen.writes if len(run.slots[name]) == 1}
    if seen.result == "tensor" and "out" in call.facts and "out" not in run.slots:
        targets["out"] = run.outputs[0]
    for name, target in targets.items():
        if target.layout is torch.strided and target.dim() and len(target) > 1:
            shared = torch.empty_like(target)[:1].expand_as(target)
            arguments = {n: map_tensors(value, torch.clone) for n, value in call.arguments.items()}
            try:
                call.invoke({**arguments, name: shared})
                seen.guarded[name] = False
            except Exception as error:  # what else may be wrong with such a target does not matter here
                if OVERLAPPING in str(error):
                    seen.guarded[name] = True


def _changes_nothing_more(call: Call, written: set[str]) -> bool:
    """Does the same call, made again on what it has written, leave that as it is?"""
    arguments = {name: map_tensors(value, torch.clone) for name, value in call.arguments.items()}
    call.invoke(arguments)
    once = [tensor.clone() for name in sorted(written) for tensor in tensors_in(arguments[name])]
    call.invoke(arguments)
    twice = [tensor for name in sorted(written) for tensor in tensors_in(arguments[name])]
    return all(_equal(now, before) for now, before in zip(twice, once, strict=True))


def _equal(now: Tensor, before: Tensor) -> bool:
    return now.shape == before.shape and torch.equal(torch.nan_to_num(now), torch.nan_to_num(before))


def _as_integer(tensor: Tensor) -> Tensor:
    return (tensor * 4).ceil().to(torch.int64) if tensor.is_floating_point() else tensor


def _as_batch(tensor: Tensor) -> Tensor:
    return torch.stack([tensor, tensor])


def _as_oblong(tensor: Tensor) -> Tensor:
    """Shorter by one along the last dimension but one, by two along that before, and so on.

    No square is its own transpose then, and what broadcasts does so still.
    """
    for cut in range(1, tensor.dim()):
        size = tensor.shape[-1 - cut]
        tensor = tensor.narrow(-1 - cut, 0, size - cut) if size > cut + 1 else tensor
    return tensor


def _changed_run(call: Call, change: Callable[[Tensor], Tensor]) -> Run | None:
    """The same call with other tensors, where PyTorch accepts that."""
    arguments = {name: map_tensors(value, change) for name, value in call.arguments.items()}
    try:
        return Run(replace(call, arguments=arguments), frozenset())
    except Exception:
        return None


def _describe(position: int, run: Run, others: Sequence[Run | None], could: bool) -> Shown:
    """One output of a run in which everything requires grad that can (`could`: something can).

    `others` are runs with integers, with one dimension more, and with sizes that differ.
    """
    integer, batch, oblong = (
        other if other and len(other.outputs) == len(run.outputs) else None for other in others
    )
    tensor = run.outputs[position]
    view, source = _aliasing(tensor, run)
    dtype = _dtype_classes(tensor, run)
    if integer is not None:
        dtype &= _dtype_classes(integer.outputs[position], integer)
    differentiable = tensor.requires_grad if could else None
    fields = getattr(type(run.returned), "_fields", None) or _struct_fields(run.returned)
    name = fields[position] if fields and position < len(fields) else ""
    shape = _shape_classes(tensor, run)
    if shape is not None and batch is not None and batch.outputs[position].dim() > 0:
        shape -= {"scalar"}
    more = _shape_classes(oblong.outputs[position], oblong) if oblong is not None else None
    if shape is not None and more is not None:
        shape = (shape & more) | ((shape | more) & {"telling"})
    strided = any(_is_strided(each.outputs[position]) for each in (run, batch, oblong) if each is not None)
    return Shown(name, dtype, differentiable, view, source, shape, view, strided)


def _is_strided(tensor: Tensor) -> bool:
    return tensor.layout is not torch.strided or not tensor.is_contiguous()


def _struct_fields(returned: Any) -> list[str]:
    """Field names of torch.return_types, in order."""
    count = getattr(returned, "n_sequence_fields", 0)
    names = [n for n in dir(type(returned)) if not n.startswith("_") and n not in dir(tuple)] if count else []
    by_position = {id(getattr(returned, n)): n for n in names if not n.startswith("n_")}
    return [by_position.get(id(item), "") for item in returned] if count else []


def _aliasing(tensor: Tensor, run: Run) -> tuple[str | None, str | None]:
    for name, tensors in run.slots.items():
        for given in tensors:
            if tensor is given:
                return "same", name
            if tensor.layout is torch.strided is given.layout and _same_storage(tensor, given):
                return ("view" if _same_counter(tensor, given) else "unversioned"), name
    return None, None


def _same_counter(one: Tensor, other: Tensor) -> bool:
    """Whether a write to one is counted for the other."""
    before = other._version
    increment_version(one)
    counted = other._version != before
    torch._C._autograd._unsafe_set_version_counter((one,), (one._version - 1,))
    return counted


def _same_storage(one: Tensor, other: Tensor) -> bool:
    first, second = one.untyped_storage(), other.untyped_storage()
    return first.data_ptr() == second.data_ptr() and first.nbytes() > 0


def _dtype_class(dtype: torch.dtype) -> str:
    if dtype is torch.bool:
        return "bool"
    if dtype.is_complex:
        return "complex"
    return "float" if dtype.is_floating_point else "int"


def _dtype_classes(tensor: Tensor, run: Run) -> frozenset[str]:
    """The kind of dtype; `same` if the tensor arguments promote to it, `promoted` if all numbers do too."""
    given = [one for tensors in run.slots.values() for one in tensors]
    if not given:
        return frozenset([_dtype_class(tensor.dtype)])
    kind = _dtype_class(tensor.dtype)
    same = functools.reduce(torch.promote_types, (one.dtype for one in given))
    promoted = functools.reduce(torch.promote_types, (_NUMBERS[type(number)] for number in run.numbers), same)
    fitting = [
        name for name, dtype in (("same", same), ("promoted", promoted)) if _dtype_class(dtype) == kind
    ]
    return frozenset([kind, *fitting])


def _shape_classes(tensor: Tensor, run: Run) -> frozenset[str] | None:
    """Which descriptions fit the shape: `scalar`, that of a parameter, or all tensors' broadcast.

    It is `telling` too if no two sizes are equal (a square could be its own transpose), and `alone` if
    there is only one tensor.
    """
    if run.slots and all(one.dim() == 0 for tensors in run.slots.values() for one in tensors):
        return None
    sizes = [size for size in tensor.shape if size > 1]
    found = {"telling"} if len(set(sizes)) == len(sizes) else set()
    if tensor.dim() == 0:
        found.add("scalar")
    given = {name: [run.data[id(one)].shape for one in tensors] for name, tensors in run.slots.items()}
    if sum(len(each) for each in given.values()) == 1:
        found.add("alone")
    found |= {name for name, each in given.items() if each == [tensor.shape]}
    try:
        if torch.broadcast_shapes(*(size for each in given.values() for size in each)) == tensor.shape:
            found.add("broadcast")
    except RuntimeError:
        pass
    return frozenset(found)


def _watch_views(call: Call, mask: Mask, seen: Observation) -> None:
    """Views whose in-place edit is forbidden because one call made several of them."""
    for position, shown in enumerate(seen.outputs):
        if shown.view != "view" or not shown.differentiable:
            continue
        run = Run(call, mask)
        try:
            run.outputs[position].mul_(2)
        except RuntimeError as error:
            if MULTIPLE in str(error):
                seen.outputs[position] = replace(shown, view="multi")


def _slot_names(run: Run) -> Iterator[tuple[str, Tensor]]:
    for name, tensors in run.slots.items():
        for tensor in tensors:
            yield name, tensor
    for position, tensor in enumerate(run.outputs):
        yield f"out{position or ''}", tensor


def _watch_mask(call: Call, mask: Mask, seen: Observation) -> None:
    """What is protected and what is freed with exactly these parameters requiring grad."""
    seen.masks.append(mask)
    run = Run(call, mask)
    hits: dict[str, list[bool]] = {}
    for name, tensor in _slot_names(run):
        if tensor.layout is torch.strided:
            hits.setdefault(name, []).append(run.protects(tensor))
    for name, values in hits.items():
        if any(values):
            seen.saved.setdefault(name, set()).add(mask)
        if any(values) and not all(values):
            seen.partly.add(name)
    run.backward(retain=False)
    if run.raises(FREED, retain=False):
        seen.freed.add(mask)


def _watch_elements(call: Call, tracked: Mask, seen: Observation) -> None:
    """Which tensors of a list are saved where only the first of them requires grad."""
    for name in tracked & set(seen.saved):
        run = Run(call, frozenset([name]), only_first=True)
        if len(run.slots[name]) < 2 or not run.roots:
            continue
        first, *others = [run.protects(tensor) for tensor in run.slots[name]]
        kinds = {(True, True): "all", (True, False): "own", (False, True): "others"}
        seen.elements[name] = kinds.get((first, all(others)), "?")


def _node_name(run: Run, seen: Observation) -> str:
    """Name of the outermost node that the call made; empty where it hands an argument through."""
    for shown, tensor in zip(seen.outputs, run.outputs, strict=True):
        if tensor.grad_fn is not None and (shown.view != "same" or shown.view_of in seen.writes):
            return str(tensor.grad_fn.name())
    return ""


def _watch_second(call: Call, mask: Mask, seen: Observation) -> None:
    """What the gradient of each parameter depends on, apart from the incoming gradient.

    `out` stands for the call's own nodes: differentiating again passes through them.
    """
    run = Run(call, mask)
    reachable = _nodes_from([edge.node for edge in run.roots], stop=set())
    own = {node for node in reachable if not _is_argument(node) and not _is_leaf(node)}
    leaf_of = {id(leaf): name for name, leaves in run.leaves.items() for leaf in leaves}
    try:
        gradients = run.backward(retain=True, create=True)
    except (RuntimeError, NotImplementedError):
        return
    index = 0
    for name, leaves in run.leaves.items():
        depends: set[str] = set()
        for _ in leaves:
            gradient = gradients[index]
            index += 1
            if gradient is not None and gradient.grad_fn is not None:
                depends |= _reached([gradient.grad_fn], own, leaf_of)
        seen.second[name] = depends


def _nodes_from(starts: list[Any], stop: set[Any]) -> set[Any]:
    """Every node reachable from `starts`; a node of `stop` is included, what is behind it is not."""
    found: set[Any] = set()
    todo = list(starts)
    while todo:
        node = todo.pop()
        if node is None or node in found:
            continue
        found.add(node)
        if node not in stop:
            todo.extend(following for following, _ in node.next_functions)
    return found


def _reached(starts: list[Any], own: set[Any], leaf_of: dict[int, str]) -> set[str]:
    """Names of the leaves that are met, and `out` where a node of the call's own graph is."""
    depends: set[str] = set()
    for node in _nodes_from(starts, stop=own):
        if node in own:
            depends.add("out")
        elif _is_leaf(node):
            depends.add(leaf_of[id(node.variable)])
    return depends


def _is_leaf(node: Any) -> bool:
    return bool(node.name() == "torch::autograd::AccumulateGrad")


def _is_argument(node: Any) -> bool:
    """The clone that stands between a leaf and the call."""
    following = [after for after, _ in node.next_functions if after is not None]
    return node.name() == "CloneBackward0" and len(following) == 1 and _is_leaf(following[0])


def _watch_swaps(call: Call, mask: Mask, seen: Observation) -> None:
    """Which saved arguments are held through a view: other memory given to them leaves the gradients alone."""
    for name in seen.saved.keys() & seen.tracked:
        run = Run(call, mask)
        usual = run.backward(retain=True)
        for tensor in run.slots[name]:
            tensor.data = torch.randn_like(tensor)
        try:
            pairs = zip(usual, run.backward(retain=True), strict=True)
            alike = [_equal(a, b) for a, b in pairs if a is not None and b is not None]
        except RuntimeError:
            continue
        if all(alike) and _depends_on(call, mask, name):
            seen.apart.add(name)


def _depends_on(call: Call, mask: Mask, name: str) -> bool:
    """Do the gradients depend on the values of a saved argument at all? (Those of `x ** 1` do not.)"""
    run = Run(call, mask)
    usual = run.backward(retain=True)
    for tensor in run.slots[name]:
        tensor.data.copy_(torch.randn_like(tensor))
    pairs = zip(usual, run.backward(retain=True), strict=True)
    return not all(_equal(a, b) for a, b in pairs if a is not None and b is not None)


def _watch_layout(call: Call, mask: Mask, seen: Observation) -> None:
    """What changes when the arguments are not contiguous: lost protection, a view that becomes a copy."""
    try:
        run = Run(call, mask, prepare=transposed_layout)
        protected = {
            name
            for name, tensor in _slot_names(run)
            if tensor.layout is torch.strided and run.protects(tensor)
        }
    except (RuntimeError, NotImplementedError):
        return
    always = {name for name, masks in seen.saved.items() if mask in masks}
    seen.dense = always - protected
    for position, (shown, tensor) in enumerate(zip(seen.outputs, run.outputs, strict=False)):
        view, source = _aliasing(tensor, run)
        if (shown.view is None) != (view is None) or (shown.view == "same") != (view == "same"):
            seen.outputs[position] = replace(shown, view="maybe", view_of=shown.view_of or source)
