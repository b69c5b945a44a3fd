"""Records of autograd on the heap: memory, tensors, graph nodes and what they save."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradcheck_tool.domain.records import NO_NOTES, Record
from gradcheck_tool.domain.values import NONE, VERSION, Ref, Text, Value, unknown


class Storage(Record):
    """A tensor's memory. `version` changes with every write that autograd counts.

    `data` changes with those and with the writes that autograd cannot see (`.data`, numpy). `unsure`
    is true when something unknown may have written to it. `site`, `how` and `writer` tell the last write.
    `version_counters` has the versions of tensors that share the memory and count their own writes
    (`Tensor.version_counter`).
    `severed` are what the values written here outside the graph were cut off from.
    """

    __slots__ = ("data", "how", "severed", "site", "unsure", "version", "version_counters", "writer")
    STATE = ("version", "data", "unsure")
    STORY = ("site", "writer", "how", "severed", "version_counters")
    MUTABLE = frozenset({"version_counters"})

    def __init__(self) -> None:
        self.version = unknown(VERSION)
        self.data = self.version
        self.version_counters: dict[Value, Value] = {}
        self.severed: tuple[GraphCut, ...] = ()
        self.unsure = False
        self.site: Any = None
        self.writer = ""
        self.how: Text = ""

    def version_of(self, counter: Value) -> Value:
        """The version that a tensor with this counter sees."""
        return self.version if counter == NONE else self.version_counters.get(counter, NONE)


class GraphCut:
    """A value that required grad and was made a constant: how, by which call, and the edges behind it.

    `shape` is that of the constant, `storage` its memory.
    """

    __slots__ = ("call", "kind", "shape", "site", "sources", "storage", "tensor")

    def __init__(
        self,
        kind: str,
        tensor: Any,
        call: Any,
        site: Any,
        sources: tuple[Value, ...],
        shape: tuple[int | None, ...] | None = None,
        storage: Ref | None = None,
    ) -> None:
        self.kind = kind
        self.tensor = tensor
        self.call = call
        self.site = site
        self.sources = sources
        self.shape = shape
        self.storage = storage


class ConstantInput:
    """A constant input of a graph node that something was cut off from."""

    __slots__ = ("name", "severed", "shape", "storage")

    def __init__(
        self, name: Any, shape: tuple[int | None, ...] | None, cuts: tuple[GraphCut, ...], storage: Ref | None
    ) -> None:
        self.name = name
        self.shape = shape
        self.severed = cuts
        self.storage = storage


class Tensor(Record):
    """A tensor; three-valued facts are True, False or None (unknown).

    `grad_fn` is its grad_fn (None for a leaf or where unknown). `base` and `view` say what it is a view
    of and how (`plain`, `multi-output`, `no-grad`, `inference`, `function`). `grad` is the value of `.grad`
    and `grad_state` one of `none`, `fresh`, `used` (an optimizer applied it), `mixed` (used and added to),
    `added` (a backward has added to what is not known), `zeroed`, `scaled` (a GradScaler's scale is on it),
    `unknown`. `passes` are the sites of the passes known to have added to it since nothing was in it.
    `is_summary` marks a stand-in for a set of parameters that are not known one by one.
    `detached_because` says why it has no graph although something it was made from had one.
    `grad_via_base` says that it requires grad because its base does, so it has no gradient of its own.
    `version_counter` is what counts writes through it: NONE where that is the storage's own version, a symbol
    for tensors that share memory and count for themselves (`.data`). `overlaps` tells that elements share
    memory (`expand`): `some`, `all` of them one place, or none (empty).
    `grads_of` are the leaves whose `.grad` it was computed from. `severed` are what it was computed from that
    lost its history, `made_leaf` what made a computed constant require grad.
    `memory` is NONE until `.data = ...` gives the tensor other memory, and then a symbol for that;
    `data_replaced` tells where and how. `notes` are what trackers have noted of it, as for objects.
    """

    __slots__ = (
        "backward_site",
        "base",
        "base_version",
        "contiguous",
        "data_replaced",
        "detached_because",
        "detached_story",
        "dtype",
        "grad",
        "grad_fn",
        "grad_state",
        "grad_via_base",
        "grads_of",
        "hooks",
        "inference",
        "is_param",
        "is_summary",
        "leaf",
        "made_leaf",
        "memory",
        "name",
        "notes",
        "overlaps",
        "passes",
        "requires_grad",
        "retains_grad",
        "severed",
        "shape",
        "site",
        "step_site",
        "storage",
        "unsure_graph",
        "version_counter",
        "view",
    )
    STATE = (
        "storage",
        "leaf",
        "requires_grad",
        "grad_fn",
        "dtype",
        "shape",
        "base",
        "view",
        "base_version",
        "is_param",
        "inference",
        "grad",
        "grad_state",
        "is_summary",
        "retains_grad",
        "hooks",
        "grads_of",
        "detached_because",
        "unsure_graph",
        "contiguous",
        "grad_via_base",
        "version_counter",
        "memory",
        "overlaps",
        "notes",
    )
    STORY = (
        "data_replaced",
        "name",
        "site",
        "backward_site",
        "passes",
        "step_site",
        "detached_story",
        "severed",
        "made_leaf",
    )

    def __init__(self, storage: Ref) -> None:
        self.severed: tuple[GraphCut, ...] = ()
        self.made_leaf: Any = ""
        self.storage = storage
        self.notes: dict[Any, Any] = NO_NOTES
        self.leaf: bool | None = None
        self.requires_grad: bool | None = None
        self.grad_fn: Ref | None = None
        self.unsure_graph = False
        self.grad_via_base = False
        self.version_counter: Value = NONE
        self.memory: Value = NONE
        self.data_replaced: Any = None
        self.overlaps = ""
        self.contiguous: bool | None = None
        self.dtype: str | None = None
        self.shape: tuple[int | None, ...] | None = None
        self.base: Ref | None = None
        self.view: str | None = None
        self.base_version: Value = NONE
        self.is_param: bool | None = False
        self.inference = False
        self.grad: Value = NONE
        self.grad_state = "none"
        self.is_summary = False
        self.retains_grad = False
        self.hooks: tuple[Value, ...] = ()
        self.grads_of: tuple[Value, ...] = ()
        self.detached_because: str = ""
        self.detached_story: tuple[Any, ...] = ()
        self.name: Text = ""
        self.site: Any = None
        self.backward_site: Any = None
        self.passes: tuple[Any, ...] = ()
        self.step_site: Any = None


@dataclass(slots=True, eq=False, kw_only=True)
class SavedTensor:
    """One tensor that a graph node saved: its storage, what counts its writes, and the version it had then.

    `edge` is where the tensor's own history continues, for gradients of gradients. `holder` is the tensor
    itself where the node holds that very one, so that `.data = ...` reaches what is saved, and `memory` what
    it had then. `unchecked`: no version is asked for, as nothing is held and a checkpoint computes again with
    what the tensor has then (`recomputed`), or a custom Function keeps it as an attribute (`on-ctx`).
    """

    storage: Ref
    version_counter: Value
    version: Value
    data: Value
    edge: Value
    role: str
    text: Text
    site: Any
    holder: Ref | None
    memory: Value
    unchecked: str = ""


class Node(Record):
    """A node of the autograd graph.

    `inputs` has for every input its edge: a `Ref` to the node or leaf tensor that the gradient goes to,
    NONE where there is none, a symbol where it is unknown. `frees` tells whether a second pass raises
    once its saved values are freed (None: unknown); `freed` whether they are, `unsure_freed` whether
    something unknown may have freed them. `needs` lists for each input the roles of the slots that its
    gradient reads; None where that is unknown. `freed_at` is a number that what was made before it was
    freed is below. `function` is the custom autograd.Function it applies, `broken` what its backward
    raises whatever happens (a derivative that does not exist). `saving_hooks` is the `SavingHooks` that
    has what it saved. `reentrant`: its gradients are computed by a pass of their own, inside the backward
    of a reentrant checkpoint. `doubtful_cuts` are what the inputs that may have a graph were made of and
    that was cut off.
    """

    __slots__ = (
        "broken",
        "constant_inputs",
        "doubtful_cuts",
        "freed",
        "freed_at",
        "freed_site",
        "freed_text",
        "frees",
        "function",
        "inputs",
        "needs",
        "op",
        "reentrant",
        "saved_tensors",
        "saving_hooks",
        "site",
        "text",
        "unsure_freed",
    )
    STATE = (
        "inputs",
        "saved_tensors",
        "frees",
        "freed",
        "unsure_freed",
        "needs",
        "function",
        "broken",
        "saving_hooks",
        "reentrant",
    )
    STORY = (
        "op",
        "text",
        "site",
        "freed_at",
        "freed_site",
        "freed_text",
        "constant_inputs",
        "doubtful_cuts",
    )

    def __init__(self, op: str, text: Text, site: Any) -> None:
        self.op = op
        self.text = text
        self.site = site
        self.inputs: tuple[Value, ...] = ()
        self.constant_inputs: tuple[ConstantInput, ...] = ()
        self.doubtful_cuts: tuple[GraphCut, ...] = ()
        self.saved_tensors: tuple[SavedTensor, ...] = ()
        self.frees: bool | None = False
        self.freed = False
        self.freed_at = 0
        self.freed_site: Any = None
        self.freed_text: Text = ""
        self.unsure_freed = False
        self.needs: tuple[tuple[str, ...], ...] | None = ()
        self.function: Value = NONE
        self.broken = ""
        self.saving_hooks: Value = NONE
        self.reentrant = False


class SavingHooks(Record):
    """Hooks of the program that keep what graph nodes save (`torch.autograd.graph.saved_tensors_hooks`).

    `on_save` is what PyTorch raises when something is saved, `on_read` when a backward asks for it; both
    empty where it raises nothing. `site` is where the hooks come from.
    """

    __slots__ = ("on_read", "on_save", "site")
    STATE = ("on_save", "on_read")
    STORY = ("site",)

    def __init__(self, site: Any) -> None:
        self.on_save = ""
        self.on_read = ""
        self.site = site
