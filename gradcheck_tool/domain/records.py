"""Records of Python objects on the heap: frames, containers, objects, classes, functions, iterators."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from gradcheck_tool.domain.values import NONE, Ref, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


NO_NOTES: dict[Any, Any] = {}


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

    def __init_subclass__(cls) -> None:
        """Write the method that copies a record: one assignment for each field is the quickest way."""
        fields = (*cls.STATE, *cls.STORY)
        copied = [f"new.{name} = self.{name}{'.copy()' * (name in cls.MUTABLE)}" for name in fields]
        lines = ("def clone(self, owner):", "new = make(cls)", *copied, "new.owner = owner", "return new")
        made: dict[str, Any] = {"make": object.__new__, "cls": cls}
        exec("\n    ".join(lines), made)  # noqa: S102 - of names of fields alone
        cls.clone = made["clone"]  # type: ignore[method-assign]

    def clone(self, owner: object) -> Record:
        """A copy that `owner` may write to."""
        raise NotImplementedError


def getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What reads several fields at once, which is much quicker than one after the other."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple([getattr(record, name) for name in names])


class Frame(Record):
    """The variables and registers of one function activation.

    `parent` is the frame of the enclosing function's activation (None for a module body), `env` the
    module's environment. `cls` is the class whose body defined the function and `receiver` its first
    argument, for `super()`. `iterations` counts the iterations of each loop (and notes, below zero,
    each handler that a call may have reached), `entry` remembers the heap as it was when the loop was
    entered.
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


def is_of_module(record: Record) -> bool:
    """Does a record have the variables of a module, which any code may read?"""
    return type(record) is Frame and record.function.kind.value == "module"


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
    """A dictionary.

    `default` is the factory of a defaultdict, `of` the object whose attributes it lists, as those of
    `module._parameters` do: what is stored in it is an attribute from then on.
    """

    __slots__ = ("default", "items", "of", "open")
    STATE = ("items", "open", "default", "of")
    MUTABLE = frozenset({"items"})

    def __init__(self, items: dict[Value, Value] | None = None, open: bool = False, of: Value = NONE) -> None:
        self.items: dict[Value, Value] = dict(items or {})
        self.open = open
        self.default: Value = NONE
        self.of = of


class Instance(Record):
    """An object: of a class of the repository (`cls` is a Ref) or of a library (`cls` is a LibraryObject).

    Attributes whose names start with `#` are the model's own. `open` means that attributes that are
    not listed may exist and those that are listed may have been changed by something unknown.
    `notes` are what trackers have noted of it; the dictionary is exchanged, never written to.
    """

    __slots__ = ("attrs", "cls", "name", "notes", "open", "site")
    STATE = ("cls", "attrs", "open", "notes")
    STORY = ("name", "site")
    MUTABLE = frozenset({"attrs"})

    def __init__(self, cls: Value, attrs: dict[str, Value] | None = None, open: bool = False) -> None:
        self.cls = cls
        self.attrs: dict[str, Value] = dict(attrs or {})
        self.open = open
        self.notes: dict[Any, Any] = NO_NOTES
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
    """An iterator: `kind` is `items`, `unknown`, `range_iterator`, `zip`, `enumerate`, `map`, ...

    One of the kind `range` is what `range(...)` itself gives: each loop over it has an iterator of its own.

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
    """A suspended generator: its frame and where it resumes; `block` is None once it has finished.

    `managers` are those of its decorators, which are entered whenever it resumes.
    """

    __slots__ = ("block", "frame", "index", "managers")
    STATE = ("frame", "block", "index", "managers")

    def __init__(self, frame: Ref, block: int, managers: tuple[Value, ...]) -> None:
        self.frame = frame
        self.block: int | None = block
        self.index = 0
        self.managers = managers
