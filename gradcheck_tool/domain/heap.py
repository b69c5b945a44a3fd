"""The abstract heap: records, states that fork cheaply, and when two states are the same.

A `State` is one feasible way the program may have come to a point. Forking copies a dictionary of
records, not the records: a record is copied when a state that does not own it writes to it.

Two states are *the same* when some renaming of the records and symbols that were made since they
parted turns one into the other, as far as anything still to be read can tell. Where the story of a
value differs (which line made it) one of the two is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from gradcheck_tool.domain.read_tracking import ReadTrackingHeap
from gradcheck_tool.domain.values import (
    NONE,
    VERSION,
    Bound,
    Const,
    Method,
    Partial,
    Ref,
    Slice,
    Super,
    Symbol,
    Text,
    Tup,
    Value,
    fresh,
    unknown,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Record:
    """Base of heap records.

    `STATE` names the fields that matter to the future, `STORY` those that only messages use,
    `MUTABLE` the fields whose dictionaries or lists are copied with the record.
    """

    __slots__ = ("owner",)
    STATE: ClassVar[tuple[str, ...]] = ()
    STORY: ClassVar[tuple[str, ...]] = ()
    MUTABLE: ClassVar[frozenset[str]] = frozenset()

    owner: object

    def clone(self, owner: object) -> Record:
        """A copy that `owner` may write to."""
        new = self.__class__.__new__(self.__class__)
        for name in self.STATE:
            setattr(new, name, getattr(self, name))
        for name in self.STORY:
            setattr(new, name, getattr(self, name))
        for name in self.MUTABLE:
            setattr(new, name, getattr(self, name).copy())
        new.owner = owner
        return new


class Frame(Record):
    """The variables and registers of one function activation.

    `parent` is the frame of the enclosing function's activation (None for a module body), `env` the
    module's environment. `cls` is the class whose body defined the function and `receiver` its first
    argument, for `super()`. `iterations` counts the iterations of each loop, `entry` remembers the heap
    as it was when the loop was entered.
    """

    __slots__ = ("cls", "entry", "env", "function", "iterations", "locals", "parent", "receiver", "site")
    STATE = ("function", "env", "locals", "parent", "cls", "receiver")
    STORY = ("iterations", "entry", "site")
    MUTABLE = frozenset({"locals", "iterations", "entry"})

    def __init__(self, function: Any, env: Any, parent: Ref | None) -> None:
        self.function = function
        self.env = env
        self.parent = parent
        self.locals: dict[str | int, Value] = {}
        self.cls: Value = NONE
        self.receiver: Value = NONE
        self.iterations: dict[int, int] = {}
        self.entry: dict[int, dict[int, Record]] = {}
        self.site: Any = None


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
        self, name: Any, shape: tuple[int | None, ...] | None, cuts: tuple[GraphCut, ...], storage: Ref
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
    `zeroed`, `scaled` (a GradScaler's scale is on it), `unknown`. `is_summary` marks a stand-in
    for a set of parameters that are not known one by one.
    `detached_because` says why it has no graph although something it was made from had one.
    `grad_via_base` tells that it requires grad because its base does, so it has no gradient of its own.
    `version_counter` is what counts writes through it: NONE where that is the storage's own version, a symbol
    for tensors that share memory and count for themselves (`.data`). `overlaps` tells that elements share
    memory (`expand`): `some`, `all` of them one place, or none (empty).
    `grads_of` are the leaves whose `.grad` it was computed from. `severed` are what it was computed from that
    lost its history, `made_leaf` what told a computed constant to require grad.
    `memory` is NONE until `.data = ...` gives the tensor other memory, and then a symbol for that;
    `data_replaced` tells where and how.
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
        "overlaps",
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
    )
    STORY = (
        "data_replaced",
        "name",
        "site",
        "backward_site",
        "step_site",
        "detached_story",
        "severed",
        "made_leaf",
    )

    def __init__(self, storage: Ref) -> None:
        self.severed: tuple[GraphCut, ...] = ()
        self.made_leaf: Any = ""
        self.storage = storage
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
        self.is_param = False
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
        self.step_site: Any = None


@dataclass(slots=True, eq=False, kw_only=True)
class SavedTensor:
    """One tensor that a graph node saved: its storage, what counts its writes, and the version it had then.

    `edge` is where the tensor's own history goes on, for gradients of gradients. `holder` is the tensor
    itself where the node holds that very one, so that `.data = ...` reaches what is saved, and `memory` what
    it had then. `recomputed`: nothing is held; a checkpoint computes again with what the tensor has then, and
    no version is asked for.
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
    recomputed: bool = False


class Node(Record):
    """A node of the autograd graph.

    `inputs` has for every input its edge: a `Ref` to the node or leaf tensor that the gradient goes to,
    NONE where there is none, a symbol where it is unknown. `frees` tells whether a second pass raises
    once its saved values are freed (None: unknown); `freed` whether they are, `unsure_freed` whether
    something unknown may have freed them. `needs` lists for each input the roles of the slots that its
    gradient reads; None where that is unknown. `function` is the custom autograd.Function it applies,
    `broken` what its backward raises whatever happens (a derivative that does not exist). `saving_hooks` is
    the `SavingHooks` that has what it saved. `reentrant`: its gradients are computed by a pass of their
    own, inside the backward of a reentrant checkpoint.
    """

    __slots__ = (
        "broken",
        "constant_inputs",
        "freed",
        "freed_site",
        "freed_text",
        "frees",
        "function",
        "inputs",
        "iterations",
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
    STORY = ("op", "text", "site", "iterations", "freed_site", "freed_text", "constant_inputs")

    def __init__(self, op: str, text: Text, site: Any) -> None:
        self.op = op
        self.text = text
        self.site = site
        self.inputs: tuple[Value, ...] = ()
        self.constant_inputs: tuple[ConstantInput, ...] = ()
        self.saved_tensors: tuple[SavedTensor, ...] = ()
        self.frees: bool | None = False
        self.freed = False
        self.freed_site: Any = None
        self.freed_text: Text = ""
        self.unsure_freed = False
        self.needs: tuple[tuple[str, ...], ...] | None = ()
        self.function: Value = NONE
        self.broken = ""
        self.saving_hooks: Value = NONE
        self.reentrant = False
        self.iterations: Any = None


class List(Record):
    """A list, set or deque. `open` means that there may be more elements than are known."""

    __slots__ = ("items", "kind", "open")
    STATE = ("items", "open", "kind")
    MUTABLE = frozenset({"items"})

    def __init__(self, items: Iterable[Value] = (), open: bool = False, kind: str = "list") -> None:
        self.items: list[Value] = list(items)
        self.open = open
        self.kind = kind


class Dict(Record):
    """A dictionary; `default` is the factory of a defaultdict."""

    __slots__ = ("default", "items", "open")
    STATE = ("items", "open", "default")
    MUTABLE = frozenset({"items"})

    def __init__(self, items: dict[Value, Value] | None = None, open: bool = False) -> None:
        self.items: dict[Value, Value] = dict(items or {})
        self.open = open
        self.default: Value = NONE


class Instance(Record):
    """An object: of a class of the repository (`cls` is a Ref) or of a library (`cls` is a Lib).

    Attributes whose names start with `#` are the model's own. `open` means that attributes that are
    not listed may exist and those that are listed may have been changed by something unknown.
    """

    __slots__ = ("attrs", "cls", "name", "open", "site")
    STATE = ("cls", "attrs", "open")
    STORY = ("name", "site")
    MUTABLE = frozenset({"attrs"})

    def __init__(self, cls: Value, attrs: dict[str, Value] | None = None, open: bool = False) -> None:
        self.cls = cls
        self.attrs: dict[str, Value] = dict(attrs or {})
        self.open = open
        self.name = ""
        self.site: Any = None


class Class(Record):
    """A class of the repository. `mro` lists it and its bases, `open` when a base is unknown."""

    __slots__ = ("attrs", "bases", "env", "mro", "name", "node", "open")
    STATE = ("name", "bases", "attrs", "mro", "open", "node", "env")
    MUTABLE = frozenset({"attrs"})

    def __init__(self, name: str, bases: tuple[Value, ...], env: Any, node: Any) -> None:
        self.name = name
        self.bases = bases
        self.attrs: dict[str, Value] = {}
        self.mro: tuple[Value, ...] = ()
        self.open = False
        self.env = env
        self.node = node


class Func(Record):
    """A function of the repository with the frame it closes over and its default values.

    `wrap` lists what decorators that the model knows do around each call, such as `torch.no_grad`.
    """

    __slots__ = ("attrs", "cls", "defaults", "env", "frame", "function", "wrap")
    STATE = ("function", "frame", "defaults", "env", "attrs", "cls", "wrap")
    MUTABLE = frozenset({"attrs", "defaults"})

    def __init__(self, function: Any, frame: Ref | None, defaults: dict[str, Value], env: Any) -> None:
        self.function = function
        self.frame = frame
        self.defaults = defaults
        self.env = env
        self.attrs: dict[str, Value] = {}
        self.cls: Value = NONE
        self.wrap: tuple[Value, ...] = ()


class Iter(Record):
    """An iterator: `kind` is `items`, `unknown`, `range`, `zip`, `enumerate`, `map`, `generator`, ...

    `parts` are the values it draws from, `position` how many elements it has given; `last` is the last one
    where it is a number that grows.
    """

    __slots__ = ("kind", "last", "parts", "position")
    STATE = ("kind", "parts", "position", "last")

    def __init__(self, kind: str, parts: tuple[Value, ...]) -> None:
        self.kind = kind
        self.parts = parts
        self.position = 0
        self.last: Value = NONE


class Generator(Record):
    """A suspended generator: its frame and where it goes on; `block` None once it has finished.

    `managers` are those of its decorators, which are entered whenever it goes on.
    """

    __slots__ = ("block", "frame", "index", "managers")
    STATE = ("frame", "block", "index", "managers")

    def __init__(self, frame: Ref, block: int, managers: tuple[Value, ...]) -> None:
        self.frame = frame
        self.block: int | None = block
        self.index = 0
        self.managers = managers


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


R = TypeVar("R", bound=Record)


class State:
    """One way the program may have come here: heap, call stack, grad mode, known conditions.

    `exc` is the exception on its way out. `grad` is grad mode (None: unknown) and `inference`
    inference mode. `saving_hooks` is the `SavingHooks` that keeps what graph nodes save, NONE where they keep
    it themselves. `off` tells where gradients were switched off, and the frame that did it; only messages
    use it. `changed` are the records that were written to since the running function was entered: of all
    others, two ways through the function have the same.
    """

    __slots__ = (
        "changed",
        "exc",
        "frames",
        "grad",
        "heap",
        "inference",
        "memory",
        "off",
        "owner",
        "path_condition",
        "saving_hooks",
    )

    def __init__(self) -> None:
        self.heap: dict[int, Record] = {}
        self.frames: list[Ref] = []
        self.grad: bool | None = True
        self.inference = False
        self.saving_hooks: Value = NONE
        self.off: tuple[Any, Ref] | None = None
        self.path_condition: dict[Value, bool] = {}
        self.memory: dict[Value, Value] = {}
        self.exc: Value | None = None
        self.owner = object()
        self.changed: set[int] = set()

    def fork(self) -> State:
        """Another state that starts as this one is."""
        new = State.__new__(State)
        new.heap = self.heap.copy()
        new.frames = self.frames.copy()
        new.grad = self.grad
        new.inference = self.inference
        new.saving_hooks = self.saving_hooks
        new.off = self.off
        new.path_condition = self.path_condition.copy()
        new.memory = self.memory.copy()
        new.exc = self.exc
        new.changed = self.changed.copy()
        new.owner = object()
        self.owner = object()
        return new

    def new(self, record: Record) -> Ref:
        """Put a record on the heap."""
        ref = Ref(fresh())
        record.owner = self.owner
        self.heap[ref.id] = record
        return ref

    def __getitem__(self, ref: Ref) -> Any:
        """The record, to be read only."""
        return self.heap[ref.id]

    def fixed(self, frame: Ref) -> Frame:
        """A frame of which only what never changes is asked: its function, module and enclosing frame."""
        return dict.__getitem__(self.heap, frame.id)  # type: ignore[return-value]

    def variable(self, frame: Ref, name: str) -> Value | None:
        """A variable of a frame; None where it is unbound."""
        heap = self.heap
        if isinstance(heap, ReadTrackingHeap):
            return heap.variable(frame.id, name)  # type: ignore[no-any-return]
        return heap[frame.id].locals.get(name)  # type: ignore[attr-defined, no-any-return]

    def edit(self, ref: Ref) -> Any:
        """The record, to be written to."""
        record = self.heap[ref.id]
        if record.owner is not self.owner:
            record = record.clone(self.owner)
            self.heap[ref.id] = record
            self.changed.add(ref.id)
        return record

    def get(self, value: Value | None, kind: type[R]) -> R | None:
        """The record that `value` refers to if it is of this kind."""
        if isinstance(value, Ref):
            record = self.heap[value.id]
            if isinstance(record, kind):
                return record
        return None

    def records(self, kind: type[R]) -> Iterator[tuple[Ref, R]]:
        """All records of a kind, oldest first."""
        for number, record in list(self.heap.items()):
            if isinstance(record, kind):
                yield Ref(number), record


class _Isomorphism:
    """A one-to-one map between what two states made since they parted, built while comparing.

    With `exact`, a version that a graph of both states has saved is no other version. (Rounds of a loop are
    compared without: what a graph of an earlier round has saved is seldom asked for again.)
    """

    __slots__ = ("_back", "_forth", "_saved", "_unchanged", "exact", "first", "loose", "second", "todo")

    def __init__(self, first: State, second: State, loose: bool, exact: bool) -> None:
        self.first = first
        self.second = second
        self.loose = loose
        self.exact = exact
        self._saved: set[Value] | None = None
        self._unchanged: set[int] = set()
        self._forth: dict[Any, Any] = {}
        self._back: dict[Any, Any] = {}
        self.todo: list[tuple[int, int]] = []

    def pair(self, a: Any, b: Any) -> bool:
        known = self._forth.get(a)
        if known is not None:
            return bool(known == b)
        if b in self._back:
            return False
        self._forth[a] = b
        self._back[b] = a
        return True

    def saved(self) -> set[Value]:
        """The versions and data that both states hold to compare with later.

        Nodes hold them until a backward has freed them, views the version of the base that they know.
        """
        if self._saved is None:
            others = self.second.heap
            self._saved = {
                held
                for number, record in self.first.heap.items()
                if isinstance(record, _HOLDERS) and number in others
                for held in _held_versions(record)
            }
        return self._saved

    def refs(self, a: Ref, b: Ref) -> bool:
        if a.id == b.id:
            self._unchanged.add(a.id)
            return a.id not in self._forth
        if b.id in self.first.heap or a.id in self._unchanged:
            return False
        # What an earlier round of a loop has made is in the heap of a later one, where nothing holds it.
        if a.id in self.second.heap and (self.exact or not self.loose):
            return False
        fresh_pair = a.id not in self._forth
        if not self.pair(a.id, b.id):
            return False
        if fresh_pair:
            self.todo.append((a.id, b.id))
        return True

    def same(self, a: Any, b: Any) -> bool:
        if a is b:
            return True
        kind = type(a)
        if self.loose and type(a) is type(b) and _is_number(a) and _is_number(b):
            return True
        if kind is not type(b):
            return False
        if kind is Ref:
            return self.refs(a, b)
        if kind is Symbol:
            if a.key == b.key:
                return True
            if self.exact and VERSION in (a.kind, b.kind) and not {a, b}.isdisjoint(self.saved()):
                return False
            return self.pair(a, b)
        if kind is tuple or kind is list:
            return len(a) == len(b) and all(self.same(x, y) for x, y in zip(a, b, strict=True))
        if kind is dict:
            return self._dicts(a, b)
        if kind is SavedTensor:
            return bool(
                a.role == b.role
                and a.recomputed is b.recomputed
                and self.refs(a.storage, b.storage)
                and self.same(a.version_counter, b.version_counter)
                and self.same(a.version, b.version)
                and self.same(a.data, b.data)
                and self.same(a.memory, b.memory)
                and self.same(a.edge, b.edge)
            )
        if kind in COMPOUND:
            return all(self.same(getattr(a, f), getattr(b, f)) for f in COMPOUND[kind])
        return bool(a == b)

    def _dicts(self, a: dict[Any, Any], b: dict[Any, Any]) -> bool:
        if len(a) != len(b):
            return False
        if a.keys() == b.keys():
            return all(self.same(value, b[key]) for key, value in a.items())
        return all(self.same(x, y) for x, y in zip(a.items(), b.items(), strict=True))

    def records(self, a: Record, b: Record) -> bool:
        if a is b:
            return True
        if type(a) is not type(b):
            return False
        return all(self.same(getattr(a, f), getattr(b, f)) for f in a.STATE)


# The parts of values that have some.
COMPOUND: dict[type, tuple[str, ...]] = {
    Tup: ("items", "fields", "cls", "open"),
    Slice: ("lower", "upper", "step"),
    Bound: ("receiver", "func"),
    Method: ("receiver", "name"),
    Partial: ("func", "args", "kwargs"),
    Super: ("cls", "receiver"),
    Const: ("value",),
}


# Most records of a program are neither, and beginning to go through one takes longer than this test.
_HOLDERS = (Node, Tensor)


def _held_versions(record: Node | Tensor) -> Iterator[Value]:
    if isinstance(record, Tensor):
        if record.base is not None:
            yield record.base_version
    elif not record.freed:
        for slot in record.saved_tensors:
            yield slot.version
            yield slot.data


def _is_number(value: Any) -> bool:
    """A number or text of which it matters little which one it is. (True, False and None matter.)"""
    if isinstance(value, Const):
        return type(value.value) in (int, float, str)
    return isinstance(value, Symbol) and value.kind in ("int", "float", "str", "data")


def signature(state: State, live: frozenset[str | int] | None) -> int:
    """A number that states can only share if they may be the same, loosely compared; cheap to compute."""
    frame: Frame = state[state.frames[-1]]
    heap = state.heap
    parts: list[Any] = [state.grad, state.inference, len(state.frames)]
    for name in live if live is not None else ():
        value = frame.locals.get(name)
        if isinstance(value, Ref):
            record = heap[value.id]
            if isinstance(record, Tensor):
                parts.append((name, record.requires_grad, record.leaf, record.grad_state))
            else:
                parts.append((name, type(record)))
        elif _is_number(value):
            parts.append((name, 0))
        elif isinstance(value, (Const, Tup)):
            parts.append((name, value if isinstance(value, Const) else len(value.items)))
        else:
            parts.append((name, type(value)))
    return hash(tuple(sorted(map(hash, parts))))


def equivalent(
    a: State, b: State, live: frozenset[str | int] | None, loose: bool = False, exact: bool = False
) -> bool:
    """Are the two states the same for all that may still happen?

    `live` names the variables and registers of the innermost frame that may still be read (None: all).
    With `loose`, numbers and texts count as the same: one of two states that differ in a counter only
    stands for both, and what only the other would have shown is missed. `exact` is that of `_Isomorphism`.
    """
    if (
        a.grad is not b.grad
        or a.inference is not b.inference
        or (a.saving_hooks == NONE) is not (b.saving_hooks == NONE)
        or len(a.frames) != len(b.frames)
    ):
        return False
    if (a.exc is None) != (b.exc is None):
        return False
    naming = _Isomorphism(a, b, loose, exact)
    if not all(naming.refs(x, y) for x, y in zip(a.frames, b.frames, strict=True)):
        return False
    if a.exc is not None and not naming.same(a.exc, b.exc):
        return False
    top = (a.frames[-1].id, b.frames[-1].id)
    if not _same_locals(naming, a[a.frames[-1]], b[b.frames[-1]], live):
        return False
    if _differs(naming, a, b, live):
        return False
    done = {top}
    while naming.todo:
        pair = naming.todo.pop()
        if pair in done:
            continue
        done.add(pair)
        if not naming.records(a.heap[pair[0]], b.heap[pair[1]]):
            return False
    return True


def _differs(naming: _Isomorphism, a: State, b: State, live: frozenset[str | int] | None) -> bool:
    """Does a record that both states have differ in them, and can that still matter?

    Frames that have returned and iterators that no variable holds do not matter; the frame of a generator
    that is held does, and so does what was there before the running function was entered. Asking that of
    every record would mean walking the whole heap; taking the rest to matter keeps states apart that could
    be one, which costs time and nothing else.
    """
    held: set[int] | None = None
    stack = {ref.id for ref in a.frames}
    for number in a.changed | b.changed:
        # What is the same in both was not read for that: it may be another thing in other states.
        record, other = dict.get(a.heap, number), dict.get(b.heap, number)
        if record is other or record is None or other is None or number == a.frames[-1].id:
            continue
        kind = type(record)
        returned = kind is Frame and number not in stack and record.function.kind.value != "module"  # type: ignore[attr-defined]
        if returned or kind is Iter or kind is Generator:
            held = _held(a, live) if held is None else held
            if number > a.frames[-1].id and number not in held:
                continue
        if not naming.records(record, other):
            return True
    return False


def _held(s: State, live: frozenset[str | int] | None) -> set[int]:
    """Iterators that live variables of the running function hold, and frames of generators among them."""
    top: Frame = s[s.frames[-1]]
    todo: list[Any] = [top.locals.get(n) for n in live] if live is not None else list(top.locals.values())
    heap = s.heap
    seen: set[int] = set()
    while todo:
        value = todo.pop()
        kind = type(value)
        if kind is Ref:
            record = dict.__getitem__(heap, value.id)
            if value.id in seen:
                continue
            if isinstance(record, Iter):
                seen.add(value.id)
                todo += record.parts
            elif isinstance(record, Generator):
                seen |= {value.id, record.frame.id}
                todo += s.fixed(record.frame).locals.values()
        elif kind is Tup:
            todo += value.items
    return seen


def _same_locals(naming: _Isomorphism, a: Frame, b: Frame, live: frozenset[str | int] | None) -> bool:
    names = live if live is not None else a.locals.keys() | b.locals.keys()
    for name in names:
        x, y = a.locals.get(name), b.locals.get(name)
        if x is y:
            continue
        if x is None or y is None or not naming.same(x, y):
            return False
    return True


def join(states: list[State], live: frozenset[str | int] | None, limit: int, loose: bool) -> list[State]:
    """The different ones among the states, at most `limit`, knowing of each what all its twins know.

    Dropping the rest can only hide findings: each kept state is a feasible one.
    """
    if len(states) < 2:
        return states
    kept: list[tuple[int, State]] = []
    for state in states:
        mark = signature(state, live)
        for known, other in kept:
            if known == mark and equivalent(other, state, live, loose, exact=True):
                _forget_differing(other.path_condition, state.path_condition)
                break
        else:
            if len(kept) < limit:
                kept.append((mark, state))
    return [state for _, state in kept]


def _forget_differing(facts: dict[Value, bool], others: dict[Value, bool]) -> None:
    """Keep the facts that hold in both. (What a watched call began with holds in both: nothing is read.)"""
    for key, fact in list(dict.items(facts)):
        if dict.get(others, key) is not fact:
            del facts[key]
