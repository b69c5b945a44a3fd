"""Tensors and operations: what PyTorch's engine does when an op is called, on abstract states.

Sources: the saved-tensor and view semantics are those of torch/csrc/autograd (VariableTypeUtils.h
`check_inplace`, `rebase_history`; variable.cpp `grad_fn`), restated over abstract tensors.

An op that the tables do not know makes unknown what its name or its keywords (`f_`, `out=`) say that it
writes to. Known unsoundness: what else it does is nothing at all, so errors that it would cause are missed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import (
    EngineError,
    InvalidTensorUse,
    LeafWrite,
    StoryStep,
    ViewWrite,
)
from gradcheck_tool.domain.graph import (
    ConstantInput,
    GraphCut,
    Node,
    SavedTensor,
    SavingHooks,
    Storage,
    Tensor,
)
from gradcheck_tool.domain.values import NONE, VERSION, Ref, Symbol, Text, Value, fresh, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradcheck_tool.domain.state import State

LEAF_WRITE = "a leaf Variable that requires grad is being used in an in-place operation."
LEAF_VIEW_WRITE = "a view of a leaf Variable that requires grad is being used in an in-place operation."
MULTI_VIEW = (
    "is a view and is being modified inplace. This view is the output of a function that returns multiple "
    "views. "
    "Such functions do not allow the output views to be modified inplace."
)
MULTI_VIEW_BASE = "is a view and its base or another view of its base has been modified inplace."
NO_GRAD_VIEW = "A view was created in no_grad mode and is being modified inplace with grad mode enabled."
NO_GRAD_VIEW_BASE = (
    "A view was created in no_grad mode and its base or another view of its base has been modified inplace "
    "with grad mode enabled."
)
INFERENCE_VIEW = "A view was created in inference mode and is being modified inplace in normal mode."
INFERENCE_VIEW_BASE = (
    "A view was created in inference mode and its base or another view of its base has been modified inplace "
    "in normal mode."
)
FUNCTION_VIEW = "is a view and is being modified inplace. This view was created inside a custom Function"
FUNCTION_VIEW_BASE = (
    "is a view and its base or another view of its base has been modified inplace. "
    "This view was created inside a custom Function"
)
INFERENCE_WRITE = "Inplace update to inference tensor outside InferenceMode is not allowed."
OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory "
    "location."
)
INFERENCE_SAVE = "Inference tensors cannot be saved for backward."


# How a tensor may share memory with another without being a view of it to autograd.
APART = (None, "detached", "data")
# Views that may not be written to: what PyTorch says then, where they come from, and what it says when they
# are used after a write to their base.
FORBIDDING = {
    "multi-output": (
        MULTI_VIEW,
        "this view comes out of an op that returns several views",
        MULTI_VIEW_BASE,
    ),
    "no-grad": (NO_GRAD_VIEW, "this view is made under no_grad", NO_GRAD_VIEW_BASE),
    "inference": (INFERENCE_VIEW, "this view is made in inference mode", INFERENCE_VIEW_BASE),
    "function": (FUNCTION_VIEW, "this view is made inside a custom Function", FUNCTION_VIEW_BASE),
}
# Writes that leave nothing of what was there.
OVERWRITING = frozenset(
    {"CopyBackwards", "torch::autograd::CopyBackwards", "ZeroBackward0", "FillBackward0", "FillBackward1"}
)
# The node of what a module with a full backward hook hands out.
HOOKED = "BackwardHookFunctionBackward"


class Raised(Exception):
    """The analysed program raises here. `event` says what the engine raises, None for other causes."""

    def __init__(self, event: EngineError | None, kind: str = "RuntimeError") -> None:
        super().__init__(kind)
        self.event = event
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Effect:
    """What one call does to autograd, by parameter name; a resolved `optable.Profile`.

    `saves` maps a slot (`self`, `weight`, `out`) to None (always) or to the parameters of which one
    must require grad. `frees_if` as in the tables; `second` may be None where it is not known.
    `tracked` are the parameters through which gradients flow (None: all), `unimplemented` those whose
    derivative PyTorch does not have. `view` is `plain`, `multi-output`, `same`, `maybe` or `unversioned`
    (the same memory, but writes to the one are not counted for the other).
    `apart` are the slots that hold a view of the argument. `strided`: which outputs need not be contiguous
    in memory where the arguments are. `guarded`: a write to a tensor whose elements share memory is refused.
    """

    node: str = "Backward0"
    saves: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    frees: bool | None = None
    frees_if: tuple[str, ...] | None = None
    second: Mapping[str, tuple[str, ...]] | None = None
    differentiable: tuple[bool, ...] = (True,)
    dtypes: tuple[str, ...] = ("same",)
    view_of: str | None = None
    view: str | None = None
    tracked: tuple[str, ...] | None = None
    unimplemented: tuple[str, ...] = ()
    apart: frozenset[str] = frozenset()
    strided: tuple[bool, ...] = ()
    guarded: bool = True


def story(site: Any, message: str) -> StoryStep:
    """One step of the story of an event."""
    return StoryStep(site, message)


def refused(
    site: Any, tensor: Tensor, why: str, text: str, kind: str, call: str, error: str = "RuntimeError"
) -> Raised:
    """The error of a call that the engine refuses for this tensor; `why` is told at the tensor's place."""
    return Raised(
        InvalidTensorUse(
            site=site,
            story=(story(tensor.site, why),),
            text=text,
            kind=kind,
            tensor=str(tensor.name),
            call=call,
        ),
        error,
    )


def new_tensor(
    s: State,
    site: Any,
    *,
    requires_grad: bool | None = False,
    leaf: bool | None = True,
    dtype: str | None = "float",
    shape: tuple[int | None, ...] | None = None,
    storage: Ref | None = None,
    name: Text = "",
) -> Ref:
    """A tensor with memory of its own unless `storage` is given."""
    tensor = Tensor(storage if storage is not None else s.new(Storage()))
    tensor.requires_grad = requires_grad
    tensor.leaf = leaf
    tensor.dtype = dtype
    tensor.shape = shape
    tensor.site = site
    tensor.name = name
    tensor.inference = s.inference
    tensor.unsure_graph = requires_grad is None
    tensor.contiguous = True
    return s.new(tensor)


def unknown_tensor(s: State, site: Any, name: Text = "") -> Ref:
    """A tensor of which nothing is known."""
    return new_tensor(s, site, requires_grad=None, leaf=None, dtype=None, name=name)


def numel_is_one(shape: tuple[int | None, ...] | None) -> bool | None:
    """Is it a single number? None where the shape does not tell."""
    if shape is None:
        return None
    if any(size is not None and size != 1 for size in shape):
        return False
    return None if None in shape else True


def sizes_differ(a: tuple[int | None, ...] | None, b: tuple[int | None, ...] | None) -> bool:
    """Are two shapes certainly not the same?"""
    if a is None or b is None:
        return False
    return len(a) != len(b) or any(
        x != y for x, y in zip(a, b, strict=True) if x is not None and y is not None
    )


def edge(s: State, ref: Ref) -> Value:
    """Where the gradient of this tensor goes: its node, the leaf itself, NONE, or unknown.

    Raises:
        Raised: for views that forbid to be used after a write to their base.
    """
    refresh_view(s, ref)
    return history(s, ref)


def history(s: State, ref: Ref) -> Value:
    """The edge of a tensor as it was last asked for."""
    tensor: Tensor = s[ref]
    if tensor.requires_grad is False:
        return NONE
    if tensor.grad_fn is not None:
        return tensor.grad_fn
    if tensor.requires_grad and tensor.leaf:
        return NONE if tensor.grad_via_base else ref
    return unknown()


def follow_base(s: State, ref: Ref) -> None:
    """A view requires grad as soon as its base does, also one made under no_grad; it has no history yet."""
    tensor: Tensor = s[ref]
    if tensor.base is None or tensor.view in APART:
        return
    base: Tensor = s[tensor.base]
    if base.requires_grad is not False and tensor.requires_grad is False:
        mine = s.edit(ref)
        mine.requires_grad, mine.unsure_graph, mine.grad_via_base = (
            base.requires_grad,
            base.requires_grad is None,
            True,
        )


def refresh_view(s: State, ref: Ref) -> None:
    """Regenerate the history of a view whose base was written to, as `Variable::grad_fn` does.

    Raises:
        Raised: for views that forbid it (outputs of multi-view ops, views made under no_grad).
    """
    follow_base(s, ref)
    tensor: Tensor = s[ref]
    if tensor.base is None or tensor.view in APART:
        return
    base: Tensor = s[tensor.base]
    if not base.requires_grad or tensor.base_version == s[base.storage].version:
        return
    storage: Storage = s[base.storage]
    if storage.unsure:
        return
    text = FORBIDDING[tensor.view][2] if tensor.view in FORBIDDING else None
    if text is not None and s.grad and storage.site is not None:
        steps = (
            story(tensor.site, "the view is made here"),
            story(storage.site, f"`{storage.how}` changes its base here"),
        )
        raise Raised(
            ViewWrite(
                site=storage.site,
                story=steps,
                text=text,
                tensor=str(tensor.name),
                write=str(storage.how),
                kind=str(tensor.view),
            )
        )
    node = Node("AsStridedBackward0", tensor.name, tensor.site)
    node.inputs = (base.grad_fn if base.grad_fn is not None else tensor.base,)
    node.needs = ((),)
    mine = s.edit(ref)
    mine.grad_fn = s.new(node)
    mine.requires_grad = True
    mine.leaf = False
    mine.base_version = storage.version


def requires(s: State, refs: Sequence[Ref]) -> bool | None:
    """Does any of the tensors require grad?"""
    answer: bool | None = False
    for ref in refs:
        follow_base(s, ref)
        requires_grad = s[ref].requires_grad
        if requires_grad:
            return True
        if requires_grad is None:
            answer = None
    return answer


def tracked(s: State, refs: Sequence[Ref]) -> bool | None:
    """Will an op on these tensors be recorded?"""
    needs = requires(s, refs)
    if s.grad is False or s.inference or needs is False:
        return False
    return None if s.grad is None else needs


def only_inference(s: State, refs: Sequence[Ref]) -> bool:
    """Are all of these inference tensors, used outside inference mode? Autograd never sees such a call."""
    return not s.inference and bool(refs) and all(s[ref].inference for ref in refs)


MAX_CUTS = 8


def cuts_of(s: State, ref: Ref) -> tuple[GraphCut, ...]:
    """What the values of a tensor were cut off from: a constant's own cuts, and those of what was written."""
    tensor: Tensor = s[ref]
    written: tuple[GraphCut, ...] = s[tensor.storage].severed
    return tensor.severed + written if tensor.requires_grad is False or tensor.grad_via_base else written


def cut_off(s: State, out: Tensor, kind: str, refs: Sequence[Ref], site: Any, call: Any) -> None:
    """Remember on a constant result what was cut off from it now (`kind` empty: nothing) and before."""
    out.severed = _cut(s, out.severed, kind, refs, site, call, out)


def write_off(
    s: State, target: Ref, kind: str, refs: Sequence[Ref], site: Any, call: Any, whole: bool = True
) -> None:
    """Remember on the memory of a tensor what was cut off from the values that are written to it."""
    tensor: Tensor = s[target]
    before: tuple[GraphCut, ...] = s[tensor.storage].severed
    cuts = _cut(s, () if whole else before, kind, refs, site, call, tensor)
    if cuts != before:
        s.edit(tensor.storage).severed = cuts


def _cut(
    s: State, before: tuple[GraphCut, ...], kind: str, refs: Sequence[Ref], site: Any, call: Any, out: Tensor
) -> tuple[GraphCut, ...]:
    cuts = [*before, *(cut for ref in refs for cut in cuts_of(s, ref))]
    alive = [ref for ref in refs if s[ref].requires_grad and not s[ref].grad_via_base]
    if kind and alive:
        sources = tuple(s[ref].grad_fn or ref for ref in alive)
        if kind == "no-grad" and s.off is not None and s.off[1] != s.frames[-1]:
            site = s.off[0]
        cuts.append(GraphCut(kind, s[alive[0]].name, call, site, sources, out.shape, out.storage))
    return tuple(dict.fromkeys(cuts))[-MAX_CUTS:]


def check_write(
    s: State, ref: Ref, others: Sequence[Ref], site: Any, how: Text, guarded: bool = True
) -> None:
    """What PyTorch checks before an in-place op, in its order.

    Raises:
        Raised: for leaves that require grad, views of such leaves, and views that forbid writes.
    """
    tensor: Tensor = s[ref]
    # What detach() returns outside inference mode may be written, what it returned inside may not: unsaid.
    # A tensor that got its memory by `.data = ...` has kept its version counter and may be written.
    refuses = tensor.inference and tensor.view != "detached" and tensor.memory == NONE
    if refuses and not s.inference:
        raise refused(
            site, tensor, "made in inference mode here", INFERENCE_WRITE, "inference-write", str(how)
        )
    _check_history(s, ref, others, site, how)
    if guarded:
        check_overlap(tensor, site, how)


def check_overlap(tensor: Tensor, site: Any, how: Text) -> None:
    """Refuse to write where several elements are one place in memory.

    Raises:
        Raised: for what `expand` has made.
    """
    if tensor.overlaps:
        raise Raised(
            ViewWrite(
                site=site,
                story=(story(tensor.site, "its elements share memory from here on"),),
                text=OVERLAP,
                tensor=str(tensor.name),
                write=str(how),
                kind="expanded",
            )
        )


def _check_history(s: State, ref: Ref, others: Sequence[Ref], site: Any, how: Text) -> None:
    """What autograd has against a write."""
    tensor: Tensor = s[ref]
    if s.grad is not True or s.inference:
        return
    involved = [ref, *others]
    if tensor.base is not None and tensor.view not in APART:
        base: Tensor = s[tensor.base]
        if requires(s, involved) is not True and base.requires_grad is not True:
            return
        node = s.get(tensor.grad_fn, Node)
        _check_view(tensor, site, how, node is not None and node.op == HOOKED)
        if base.requires_grad and base.leaf:
            made = story(base.site, f"`{base.name}` is a leaf that requires grad")
            raise Raised(
                LeafWrite(
                    site=site,
                    story=(made,),
                    text=LEAF_VIEW_WRITE,
                    tensor=str(base.name),
                    write=str(how),
                    through_view=True,
                )
            )
    if tensor.leaf and tensor.requires_grad:
        made = story(tensor.site, f"`{tensor.name}` is a leaf that requires grad")
        raise Raised(
            LeafWrite(site=site, story=(made,), text=LEAF_WRITE, tensor=str(tensor.name), write=str(how))
        )


def _check_view(tensor: Tensor, site: Any, how: Text, hooked: bool) -> None:
    """Raise where a view forbids writes; `hooked`: it is what a full backward hook has wrapped."""
    if tensor.view in FORBIDDING:
        text, made, _ = FORBIDDING[tensor.view]
        text = f"Output 0 of BackwardHookFunction {text}" if hooked else text
        raise Raised(
            ViewWrite(
                site=site,
                story=(story(tensor.site, made),),
                text=text,
                tensor=str(tensor.name),
                write=str(how),
                kind=tensor.view,
            )
        )


def bump(
    s: State,
    ref: Ref,
    site: Any,
    how: Text,
    writer: str,
    versioned: bool = True,
    values: Value | None = None,
) -> None:
    """Record a write to the memory of a tensor.

    `versioned`: one that its counter counts. `values` stands for what is there then, if that is known.
    """
    tensor: Tensor = s[ref]
    storage = s.edit(tensor.storage)
    version = unknown(VERSION)
    storage.data = version if values is None else values
    if versioned and tensor.version_counter == NONE:
        storage.version = version
    elif versioned:
        storage.version_counters[tensor.version_counter] = version
    storage.site = site
    storage.how = how
    storage.writer = writer


def swap_memory(s: State, ref: Ref, site: Any, how: Text) -> None:
    """Give a tensor other memory, as `.data = ...` does: what holds the tensor itself finds other values."""
    tensor = s.edit(ref)
    tensor.memory, tensor.data_replaced = Symbol(fresh()), (site, how)


def rebase(s: State, ref: Ref, node: Ref | None, requires_grad: bool | None) -> None:
    """Give a tensor that was written in place its new history; through a view, its base too."""
    tensor = s.edit(ref)
    tensor.detached_because = ""
    if requires_grad is False or node is None:
        if requires_grad is None:
            tensor.requires_grad = None if not tensor.requires_grad else True
            tensor.unsure_graph = True
            tensor.leaf = _after_write(tensor, requires_grad)
        return
    if tensor.base is not None and tensor.view not in APART:
        base = s.edit(tensor.base)
        written: Node = s[node]
        copy = Node("CopySlices", written.text, written.site)
        copy.inputs = (base.grad_fn if base.grad_fn is not None else NONE, *written.inputs[1:])
        copy.saved_tensors = written.saved_tensors
        copy.frees = True
        copy.needs = ((), *(written.needs or ())[1:]) if written.needs is not None else None
        base.grad_fn = s.new(copy)
        base.leaf = _after_write(base, requires_grad)
        base.requires_grad = requires_grad
        view_node = Node("AsStridedBackward0", written.text, written.site)
        view_node.inputs = (base.grad_fn,)
        view_node.needs = ((),)
        tensor.grad_fn = s.new(view_node)
    else:
        tensor.grad_fn = node
    tensor.leaf = _after_write(tensor, requires_grad)
    tensor.requires_grad = requires_grad
    tensor.base_version = s[tensor.storage].version


def _after_write(tensor: Tensor, requires_grad: bool | None) -> bool | None:
    """Is a tensor still a leaf after a write that is recorded (None: may be)?"""
    if requires_grad:
        return False
    return None if tensor.leaf else tensor.leaf


def saved(s: State, ref: Ref, history: Value, role: str, site: Any, *, itself: bool = False) -> SavedTensor:
    """A slot that holds a tensor as it is now; `history` is the edge its own gradient goes to.

    `itself`: the node holds this very tensor, not a view or a copy of its metadata.
    """
    tensor: Tensor = s[ref]
    storage: Storage = s[tensor.storage]
    return SavedTensor(
        storage=tensor.storage,
        version_counter=tensor.version_counter,
        version=storage.version_of(tensor.version_counter),
        data=storage.data,
        edge=history,
        role=role,
        text=tensor.name,
        site=site,
        holder=ref if itself else None,
        memory=tensor.memory,
    )


class OpCall:
    """One call of a differentiable op while it is being applied."""

    def __init__(
        self, s: State, effect: Effect, args: Mapping[str, Ref | Sequence[Ref]], site: Any, text: Text
    ) -> None:
        self.s = s
        self.effect = effect
        self.site = site
        self.text = text
        self.by_param: dict[str, list[Ref]] = {
            name: [value] if isinstance(value, Ref) else list(value) for name, value in args.items()
        }
        tracked = effect.tracked
        self.differentiable = [
            (name, ref)
            for name, refs in self.by_param.items()
            if tracked is None or name in tracked
            for ref in refs
            if s[ref].dtype not in ("int", "bool")
        ]
        self.refs = [ref for _, ref in self.differentiable]

    def everything(self) -> list[Ref]:
        """All tensor arguments, also those that no gradient flows through."""
        return [ref for refs in self.by_param.values() for ref in refs]

    def param_requires(self, name: str) -> bool | None:
        """Will a gradient for this parameter be asked for? Not where it only borrows requires_grad."""
        refs = [r for r in self.by_param.get(name, []) if self.s[r].dtype not in ("int", "bool")]
        return requires(self.s, [r for r in refs if edge(self.s, r) != NONE])

    def any_requires(self, names: Sequence[str]) -> bool | None:
        answers = [self.param_requires(name) for name in names]
        return True if True in answers else None if None in answers else False

    def node(self, requires_grad: bool | None) -> Node:
        """The graph node of this call, without the slots of its outputs."""
        s, effect = self.s, self.effect
        node = Node(effect.node, self.text, self.site)
        # If the one unsure input decides whether this node is there at all, the node leads to it.
        decides = requires_grad is None and sum(s[ref].requires_grad is None for ref in self.refs) == 1
        edges = [edge(s, ref) for ref in self.refs]
        node.inputs = tuple(
            e if decides or s[ref].requires_grad is not None else unknown()
            for e, ref in zip(edges, self.refs, strict=True)
        )
        node.saved_tensors = tuple(self._input_slots())
        node.constant_inputs = tuple(
            # Whether what was written to memory is a term of a sum is not for the memory to say.
            ConstantInput(s[ref].name, s[ref].shape if s[ref].severed else None, cuts, s[ref].storage)
            for refs in self.by_param.values()
            for ref in refs
            if (cuts := cuts_of(s, ref))
        )
        if s.saving_hooks != NONE and self._saves():
            self._hand_over(node)
        node.frees = effect.frees
        if effect.frees is not False and effect.frees_if is not None:
            node.frees = self.any_requires(effect.frees_if)
        # Numbers and sizes are kept for gradients that somebody asks for; tensors kept always are asked for.
        if all(e == NONE for e in edges) and None not in effect.saves.values():
            node.frees = None
        node.needs = self._needs()
        if effect.unimplemented and self.any_requires(effect.unimplemented):
            node.broken = f"derivative for {effect.node or self.text} is not implemented"
        return node

    def _input_slots(self) -> list[SavedTensor]:
        slots = []
        for role, condition in self.effect.saves.items() if self.s.saving_hooks == NONE else ():
            kept = [ref for ref in self.by_param.get(role, ()) if self._keeps(role, ref, condition)]
            slots += [self.slot(role, ref) for ref in kept]
        return slots

    def _keeps(self, role: str, ref: Ref, condition: tuple[str, ...] | None) -> bool:
        """Is this tensor, which may be one of a list, certainly saved?

        `ROLE.own` asks whether the tensor itself requires grad, `ROLE.others` whether another of the list
        does.
        """
        if condition is None:
            return True
        others = [each for each in self.by_param[role] if each != ref]
        of_list = {f"{role}.own": [ref], f"{role}.others": others}
        asked = (
            requires(self.s, of_list[name]) if name in of_list else self.param_requires(name)
            for name in condition
        )
        return any(answer is True for answer in asked)

    def holds(self, condition: tuple[str, ...] | None) -> bool:
        """Is something certainly saved under this condition?"""
        return condition is None or self.any_requires(condition) is True

    def _saves(self) -> bool:
        """Does this call certainly save a tensor?"""
        return any(
            (role in self.by_param or role.startswith("out")) and self.holds(condition)
            for role, condition in self.effect.saves.items()
        )

    def _hand_over(self, node: Node) -> None:
        """Let the hooks of the program keep what this node saves."""
        node.saving_hooks = self.s.saving_hooks
        hooks = self.s.get(node.saving_hooks, SavingHooks)
        if hooks is not None and hooks.on_save:
            raise Raised(
                InvalidTensorUse(
                    site=self.site,
                    story=(story(hooks.site, "the hooks that refuse it are given here"),),
                    text=hooks.on_save,
                    kind="pack-hook",
                    tensor=str(self.text),
                    call=str(self.text),
                )
            )

    def slot(self, role: str, ref: Ref, own: Value | None = None) -> SavedTensor:
        """Save a tensor now; `own` is the edge where it is an output of this call."""
        s = self.s
        tensor: Tensor = s[ref]
        if tensor.inference and not s.inference:
            why = f"`{tensor.name}` is made in inference mode here"
            raise refused(self.site, tensor, why, INFERENCE_SAVE, "inference-save", str(self.text))
        history = own if own is not None else edge(s, ref)
        itself = own is None and role not in self.effect.apart
        return saved(s, ref, history, role, self.site, itself=itself)

    def _needs(self) -> tuple[tuple[str, ...], ...] | None:
        effect = self.effect
        if effect.second is None:
            return None
        needs: list[tuple[str, ...]] = []
        for name, _ in self.differentiable:
            if not effect.second.get(name, ("?",)):
                needs.append(())
                continue
            kept = tuple(r for r, cond in effect.saves.items() if cond is None or name in cond)
            needs.append(kept or tuple(r for r in effect.second.get(name, ()) if r == "out"))
        return tuple(needs)

    def result(
        self, index: int, requires_grad: bool | None, node: Ref | None, shape: tuple[int | None, ...] | None
    ) -> Ref:
        """One output: a new tensor, or a view of an argument."""
        s, effect = self.s, self.effect
        dtype = effect.dtypes[index] if index < len(effect.dtypes) else "same"
        if dtype in ("same", "promoted"):
            dtype = promoted(s, self.everything()) or ""
        flows = index >= len(effect.differentiable) or effect.differentiable[index]
        base = next(iter(self.by_param.get(effect.view_of or "", ())), None)
        unsure = effect.view == "maybe"
        if unsure:
            base = None
        out_rg = requires_grad if flows and dtype not in ("int", "bool") else False
        ref = new_tensor(
            s,
            self.site,
            requires_grad=out_rg,
            leaf=(out_rg is False) if out_rg is not None else None,
            dtype=dtype or None,
            shape=shape,
            storage=s[base].storage if base is not None else None,
            name=self.text,
        )
        out = s[ref]
        if unsure:
            s[out.storage].unsure = True
        strided = bool(effect.strided) and effect.strided[min(index, len(effect.strided) - 1)]
        out.contiguous = True if not strided and all(s[r].contiguous for r in self.everything()) else None
        out.inference = s.inference if base is None else s[base].inference
        if out_rg is not False and node is not None:
            out.grad_fn = node
        if base is not None and s[base].overlaps == "all" and numel_is_one(shape) is False:
            out.overlaps = "all"
        if base is not None and effect.view == "unversioned":
            out.version_counter = Symbol(fresh())
        elif base is not None and not only_inference(s, self.everything()):
            source: Tensor = s[base]
            out.base = source.base if source.base is not None and source.view not in APART else base
            out.version_counter = source.version_counter
            out.view = effect.view or "plain"
            if source.view in FORBIDDING and out.view == "plain":
                out.view = source.view
            if s.inference and not out.inference:
                out.view = "inference"
            elif s.grad is False and not s.inference:
                out.view = "no-grad"
            out.base_version = s[source.storage].version
        if out_rg is False:
            self._lost(out, flows)
        return ref

    def _lost(self, out: Tensor, flows: bool) -> None:
        s = self.s
        everything = self.everything()
        needed = requires(
            s, self.refs if flows else [r for r in everything if s[r].dtype not in ("int", "bool")]
        )
        unseen = only_inference(s, everything)
        off = s.grad is False or s.inference or unseen
        kind = "" if not needed else "no-grad" if off else "non-differentiable"
        cut_off(s, out, kind, everything, self.site, self.text)
        if needed and not flows:
            out.detached_because = "non-differentiable"
            out.detached_story = (story(self.site, f"`{self.text}` has no derivative"),)
        elif needed and off:
            out.detached_because = "no-grad"
            switched = (story(s.off[0], "gradients are switched off here"),) if s.off is not None else ()
            how = "from inference tensors only" if unseen else "with gradients switched off"
            computed = story(self.site, f"`{self.text}` is computed {how}")
            out.detached_story = (*switched, computed)
        else:
            for ref in everything:
                if s[ref].detached_because:
                    out.detached_because, out.detached_story = s[ref].detached_because, s[ref].detached_story
                    return


def function_output(s: State, out: Ref, inputs: Sequence[Ref], site: Any, text: Text) -> Ref:
    """What a custom Function hands out for a tensor that its forward returned, without a history as yet.

    That is the tensor itself, or another on the same memory for an input. What shares memory with an input
    is a view of that.
    """
    tensor: Tensor = s[out]
    sources = [ref for ref in inputs if s[ref].storage == tensor.storage]
    if out in inputs:
        out = new_tensor(s, site, dtype=tensor.dtype, shape=tensor.shape, storage=tensor.storage)
    made = s.edit(out)
    made.detached_because, made.detached_story, made.site, made.name = "", (), site, text
    if sources:
        source: Tensor = s[sources[0]]
        shared = source.base is not None and source.view not in APART
        made.view, made.base = "function", source.base if shared else sources[0]
        made.base_version = s[made.storage].version
    return out


def promoted(s: State, refs: Sequence[Ref]) -> str | None:
    """The class of dtype of a result: complex, float, int or bool; None where one is unknown."""
    kinds = [s[ref].dtype for ref in refs]
    for kind in ("complex", "float"):
        if kind in kinds:
            return kind
    if not kinds or None in kinds:
        return None
    return "int" if "int" in kinds else "bool"


def apply(
    s: State,
    effect: Effect,
    args: Mapping[str, Ref | Sequence[Ref]],
    site: Any,
    text: Text,
    shapes: Sequence[tuple[int | None, ...] | None] = (None,),
) -> list[Ref]:
    """Call an op that makes new tensors (or views) and return its outputs.

    `args` are the tensor arguments by parameter name, a list for parameters such as `tensors`. `shapes`
    has the shape of each output, None where it is unknown; its length is the number of outputs.

    Raises:
        Raised: where PyTorch would.
    """
    call = OpCall(s, effect, args, site, text)
    requires_grad, node_ref = tracked(s, call.refs), None
    if only_inference(s, call.everything()):
        # Autograd does not see a view; a call that is made of several operations may have others among them.
        requires_grad = False if requires_grad is False or effect.view is not None else None
    elif requires_grad is not False and s.grad is not None:
        node = call.node(requires_grad)
        node_ref = s.new(node)
    outputs = [call.result(i, requires_grad, node_ref, shape) for i, shape in enumerate(shapes)]
    if node_ref is not None:
        node = s.edit(node_ref)
        for index, ref in enumerate(outputs):
            role = "out" if index == 0 else f"out{index}"
            if role in effect.saves and s.saving_hooks == NONE and s[ref].requires_grad is not False:
                if call.holds(effect.saves[role]):
                    node.saved_tensors = (*node.saved_tensors, call.slot(role, ref, node_ref))
    grads = tuple(dict.fromkeys(leaf for ref in call.refs for leaf in s[ref].grads_of))
    if grads:
        for ref in outputs:
            s.edit(ref).grads_of = grads
    return outputs


def apply_inplace(
    s: State,
    effect: Effect,
    target: Ref,
    args: Mapping[str, Ref | Sequence[Ref]],
    site: Any,
    text: Text,
    writer: str = "inplace",
    values: Value | None = None,
) -> Ref:
    """Call an op that writes its result into `target` and return `target`; `values` is that of `bump`.

    Raises:
        Raised: where PyTorch would, before anything is written.
    """
    others = [
        r for value in args.values() for r in ([value] if isinstance(value, Ref) else value) if r != target
    ]
    floats = [r for r in others if s[r].dtype not in ("int", "bool")]
    check_write(s, target, floats, site, text, effect.guarded)
    call = OpCall(s, effect, args, site, text)
    requires_grad = tracked(s, [target, *floats]) if s[target].dtype not in ("int", "bool") else False
    node_ref = s.new(call.node(requires_grad)) if requires_grad is not False and s.grad is not None else None
    whole = effect.node in OVERWRITING and (s[target].base is None or s[target].view in APART)
    if s[target].view == "data":
        write_off(s, target, "data", others, site, text, whole)
    elif requires_grad is False:
        off = s.grad is False or s.inference
        write_off(s, target, "no-grad" if off else "non-differentiable", others, site, text, whole)
    bump(s, target, site, text, writer, values=values)
    rebase(s, target, node_ref, requires_grad)
    if node_ref is not None and s.saving_hooks == NONE and "out" in effect.saves:
        node = s.edit(node_ref)
        node.saved_tensors = (*node.saved_tensors, call.slot("out", target, node_ref))
    return target
