"""States: the heap, call stack and modes of one feasible way to a point of the program.

Forking copies a dictionary of records, not the records: a record is copied when a state that does not own
it writes to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from gradcheck_tool.domain.read_tracking import ReadTrackingHeap
from gradcheck_tool.domain.records import Frame, Record
from gradcheck_tool.domain.values import NONE, Ref, Value, fresh

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.graph import GraphCut


R = TypeVar("R", bound=Record)


class State:
    """One feasible way to a point of the program: heap, call stack, grad mode, known conditions.

    `exc` is the exception on its way out. `grad` is grad mode (None: unknown) and `inference`
    inference mode. `saving_hooks` is the `SavingHooks` that keeps what graph nodes save, NONE where they keep
    it themselves. `off` tells where gradients were switched off, and the frame that did it; only messages
    use it. `severed` has for numbers and arrays what was cut off from the tensors that they were made of.
    `after_body`: a function is executed on its own, before which others may have run. `again`: it has been
    called before, on the same object. `is_partial`: another way through the code, which parted from this one,
    has not been followed. `doubts` has for each open manager of which nothing is known the grad mode that it
    found: it may have switched gradients off. `changed` are the
    records that were written to since the running function was entered: of all others, two ways through the
    function have the same.
    """

    __slots__ = (
        "after_body",
        "again",
        "changed",
        "doubts",
        "exc",
        "frames",
        "grad",
        "heap",
        "inference",
        "is_partial",
        "memory",
        "off",
        "owner",
        "path_condition",
        "saving_hooks",
        "severed",
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
        self.severed: dict[Value, tuple[GraphCut, ...]] = {}
        self.after_body = False
        self.again = False
        self.exc: Value | None = None
        self.owner = object()
        self.changed: set[int] = set()
        self.is_partial = False
        self.doubts: tuple[bool | None, ...] = ()

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
        new.severed = self.severed.copy()
        new.after_body = self.after_body
        new.again = self.again
        new.exc = self.exc
        new.changed = self.changed.copy()
        new.is_partial = self.is_partial
        new.doubts = self.doubts
        new.owner = object()
        self.owner = object()
        return new

    def become(self, other: State) -> None:
        """Go on as another state, which is not used any more."""
        for name in State.__slots__:
            setattr(self, name, getattr(other, name))

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

    def get(self, value: object, kind: type[R]) -> R | None:
        """The record that `value` refers to if it is of this kind."""
        if type(value) is Ref:
            record = self.heap[value.id]
            if isinstance(record, kind):
                return record
        return None

    def records(self, kind: type[R]) -> Iterator[tuple[Ref, R]]:
        """All records of a kind, oldest first."""
        return iter([(Ref(number), record) for number, record in self.heap.items() if type(record) is kind])
