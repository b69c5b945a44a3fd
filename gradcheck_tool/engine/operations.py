"""Operations: what PyTorch's engine does when an op is called, on abstract states.

An op that the tables do not know makes unknown what its name or its keywords (`f_`, `out=`) say that it
writes to. Known unsoundness: what else it does is nothing at all, so errors that it would cause are missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import InvalidTensorUse
from gradcheck_tool.domain.graph import ConstantInput, Node, SavedTensor, SavingHooks, Storage, Tensor
from gradcheck_tool.domain.values import NONE, Ref, Symbol, Text, Value, fresh
from gradcheck_tool.engine.cuts import cut_off, cuts_of, doubtful_cuts, hand_on, write_off
from gradcheck_tool.engine.edges import (
    edge,
    edges_of,
    is_given,
    note_given,
    only_inference,
    requires,
    tracked,
)
from gradcheck_tool.engine.errors import FORBIDDING, INFERENCE_SAVE, Raised, refused, story
from gradcheck_tool.engine.tensors import APART, new_tensor, numel_is_one, promoted
from gradcheck_tool.engine.writes import bump, check_write, rebase
from gradcheck_tool.predictions import GAP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.engine.effect import Effect

# Writes that leave nothing of what was there.
OVERWRITING = frozenset(
    {"CopyBackwards", "torch::autograd::CopyBackwards", "ZeroBackward0", "FillBackward0", "FillBackward1"}
)


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
    """One call of a differentiable op while it is being applied.

    Attributes:
        everything: all tensor arguments, also those that no gradient flows through.
        refs: those that one may flow through.
        certain: where the gradients of arguments certainly go, once the node of the call is made.
    """

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
        self.everything = [ref for refs in self.by_param.values() for ref in refs]
        self.certain: dict[Ref, Value] = {}

    def param_requires(self, name: str) -> bool | None:
        """Will a gradient for this parameter be asked for? Not where it only borrows requires_grad."""
        refs = [r for r in self.by_param.get(name, []) if self.s[r].dtype not in ("int", "bool")]
        return requires(self.s, [r for r in refs if edge(self.s, r) != NONE])

    def any_requires(self, names: Sequence[str]) -> bool | None:
        answers = [self.param_requires(name) for name in names]
        return True if True in answers else None if None in answers else False

    def node(self) -> Node:
        """The graph node of this call, without the slots of its outputs."""
        s, effect = self.s, self.effect
        node = Node(effect.node, self.text, self.site)
        edges = node.inputs = edges_of(s, self.refs)
        self.certain = dict(zip(self.refs, edges, strict=True))
        node.saved_tensors = tuple(self._input_slots())
        node.constant_inputs = tuple(
            # Whether what was written to memory is a term of a sum is not for the memory to say.
            ConstantInput(s[ref].name, s[ref].shape if s[ref].severed else None, cuts, s[ref].storage)
            for refs in self.by_param.values()
            for ref in refs
            if (cuts := cuts_of(s, ref))
        )
        node.doubtful_cuts = doubtful_cuts(s, self.everything)
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
            node.broken = f"derivative for {GAP} is not implemented"
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
        known = self.certain.get(ref) if own is None else own
        history = edge(s, ref) if known is None else known
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
            kept = [role for role, cond in effect.saves.items() if cond is None or name in cond]
            # What is kept inside of the call, as the probabilities of a cross-entropy are, is no slot.
            inside = [role for role in effect.second.get(name, ()) if role == "out" and role not in kept]
            needs.append((*kept, *inside))
        return tuple(needs)

    def result(
        self, index: int, requires_grad: bool | None, node: Ref | None, shape: tuple[int | None, ...] | None
    ) -> Ref:
        """One output: a new tensor, or a view of an argument."""
        s, effect = self.s, self.effect
        dtype = effect.dtypes[index] if index < len(effect.dtypes) else "same"
        if dtype in ("same", "promoted"):
            dtype = promoted(s, self.everything) or ""
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
        out.contiguous = True if not strided and all(s[r].contiguous for r in self.everything) else None
        out.inference = s.inference if base is None else s[base].inference
        if out_rg is not False and node is not None:
            out.grad_fn = node
        if base is not None and s[base].overlaps == "all" and numel_is_one(shape) is False:
            out.overlaps = "all"
        if base is not None and effect.view == "unversioned":
            out.version_counter = Symbol(fresh())
        elif base is not None and not only_inference(s, self.everything):
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
        elif out_rg is None:
            hand_on(s, out, self.everything)
            if all(s[each].requires_grad is False or is_given(s, each) for each in self.everything):
                note_given(s, ref)
        return ref

    def _lost(self, out: Tensor, flows: bool) -> None:
        s = self.s
        everything = self.everything
        needed = requires(
            s, self.refs if flows else [r for r in everything if s[r].dtype not in ("int", "bool")]
        )
        unseen = only_inference(s, everything)
        off = s.grad is False or s.inference or unseen
        kind = "" if not needed else "no-grad" if off else "non-differentiable"
        cut_off(s, out, kind, everything, self.site, self.text)
        if needed and not flows:
            out.detached_because = "non-differentiable"
            out.detached_story = (story(self.site, f"`{self.text}` has no derivative", "cut"),)
        elif needed and off:
            out.detached_because = "no-grad"
            switched = (
                (story(s.off[0], "gradients are switched off here", "switched"),) if s.off is not None else ()
            )
            how = "from inference tensors only" if unseen else "with gradients switched off"
            computed = story(self.site, f"`{self.text}` is computed {how}", "cut")
            out.detached_story = (*switched, computed)
        else:
            for ref in everything:
                if s[ref].detached_because:
                    out.detached_because, out.detached_story = s[ref].detached_because, s[ref].detached_story
                    return
            # What is taken for data may have a graph all the same, and so may what is computed from it.
            out.unsure_graph = flows and not off and any(s[ref].unsure_graph for ref in everything)


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
    if only_inference(s, call.everything):
        # Autograd does not see a view; a call that is made of several operations may have others among them.
        requires_grad = False if requires_grad is False or effect.view is not None else None
    elif requires_grad is not False and s.grad is not None:
        node = call.node()
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


def gather_gradients(s: State, target: Ref, sources: Sequence[Ref]) -> None:
    """What gradients are added to is computed from them from now on, as momentum is; not what they update."""
    tensor: Tensor = s[target]
    gathered = tuple(dict.fromkeys(leaf for ref in sources for leaf in s[ref].grads_of))
    if not gathered or tensor.is_param or tensor.requires_grad or tensor.base is not None:
        return
    if target not in gathered:
        s.edit(target).grads_of = tuple(dict.fromkeys((*tensor.grads_of, *gathered)))


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
    node_ref = s.new(call.node()) if requires_grad is not False and s.grad is not None else None
    base = s[target].base if s[target].view not in APART else None
    whole = effect.node in OVERWRITING and base is None
    if s[target].view == "data":
        write_off(s, target, "data", others, site, text, whole)
    elif requires_grad is False:
        off = s.grad is False or s.inference
        write_off(s, target, "no-grad" if off else "non-differentiable", others, site, text, whole)
    bump(s, target, site, text, writer, values=values)
    gather_gradients(s, target, others)
    rebase(s, target, node_ref, requires_grad)
    if node_ref is not None and s.saving_hooks == NONE and "out" in effect.saves:
        # A write through a view is kept by the base, which has a node of its own for it.
        node = s.edit(node_ref if base is None else s[base].grad_fn)
        node.saved_tensors = (*node.saved_tensors, call.slot("out", target, s[target].grad_fn))
    return target
