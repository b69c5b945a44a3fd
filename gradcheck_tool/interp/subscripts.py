"""Subscription: reading, writing and deleting items of containers and tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Dict, Func, Instance, List
from gradcheck_tool.domain.values import (
    NONE,
    Bound,
    Const,
    LibraryObject,
    Ref,
    Slice,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.engine.cuts import inherit
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.facts import ItemWritten
from gradcheck_tool.interp.iteration import elements, first_of
from gradcheck_tool.interp.models import model_of
from gradcheck_tool.interp.packs import member
from gradcheck_tool.interp.registrations import await_entry

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes

# Of so many objects, classes or functions each is followed where a key that is not known chooses one.
MOST_CHOICES = 3
# The names of the results that `module._parameters` lists: they are no Parameters.
IN_TABLE = "#in-table"
_CHOSEN = (Class, Func, Instance, LibraryObject)
# Classes of these modules are told what they hold, and are the same classes.
_GENERIC = ("builtins.", "collections.", "torch.utils.data.", "typing.")


def get(m: Interpreter, s: State, obj: Value, index: Value, site: Any) -> Outcomes:
    """`obj[index]`."""
    record = s.heap.get(obj.id) if isinstance(obj, Ref) else None
    if isinstance(record, List):
        return [(s, item_of(s, record.items, record.open, index, is_list=True))]
    if isinstance(obj, Tup):
        return [(s, item_of(s, list(obj.items), obj.open, index, is_list=False))]
    if isinstance(record, Dict):
        await_entry(m, s, obj, index)
        return _mapping(m, s, obj, s[obj], index, site)  # type: ignore[index]
    if isinstance(record, Instance):
        return _instance(m, s, obj, record, index, site)
    if isinstance(obj, Const) and isinstance(obj.value, (str, bytes)) and isinstance(index, Const):
        try:
            return [(s, Const(obj.value[index.value]))]
        except Exception:
            return [(s, unknown("str"))]
    if isinstance(obj, LibraryObject) and obj.name.endswith(".__dict__"):
        owner = LibraryObject(obj.name.removesuffix(".__dict__"))
        return member(m, s, owner, index, site) or [(s, unknown())]
    if _is_generic(s, obj):
        return [(s, obj)]
    known = model_of(s, obj).get_item(m, s, obj, index, site)
    if known is None and isinstance(obj, Symbol):
        key = Symbol(("item", obj, index), obj.kind)
        return [(s, s.memory.get(key) or inherit(s, key, (obj,)))]
    return known if known is not None else [(s, unknown())]


def _is_generic(s: State, obj: Value) -> bool:
    """Does `C[int]` stand for the class itself? Others are asked for a member, or do what they say."""
    if isinstance(obj, LibraryObject):
        return obj.name.startswith(_GENERIC)
    record = s.get(obj, Class)
    if record is None or "__class_getitem__" in record.attrs:
        return False
    return not any(isinstance(base, LibraryObject) and base.name.startswith("enum.") for base in record.mro)


def item_of(s: State, items: list[Value], is_open: bool, index: Value, is_list: bool) -> Value:
    """An item, or a slice, of a sequence whose items are known; it may have more where `is_open`."""
    if isinstance(index, Const) and isinstance(index.value, int):
        at = index.value
        if is_open and at < 0 and items:
            return items[at] if -at <= len(items) else unknown()
        return items[at] if -len(items) <= at < len(items) else unknown()
    if isinstance(index, Slice):
        bounds = _bounds(index)
        if bounds is None or is_open:
            return s.new(List(items, True)) if is_list else Tup(tuple(items), open=True)
        part = items[bounds]
        return s.new(List(part)) if is_list else Tup(tuple(part))
    if len(items) == 1 and not is_open:
        return items[0]
    return unknown()


def _bounds(index: Slice) -> slice | None:
    parts: list[int | None] = []
    for part in (index.lower, index.upper, index.step):
        if part is None or part == NONE:
            parts.append(None)
        elif isinstance(part, Const) and isinstance(part.value, int):
            parts.append(part.value)
        else:
            return None
    return slice(*parts) if parts[2] != 0 else None


def _mapping(m: Interpreter, s: State, obj: Value, record: Dict, index: Value, site: Any) -> Outcomes:
    if index in record.items:
        return [(s, record.items[index])]
    if len(record.items) == 1 and not record.open and isinstance(next(iter(record.items)), Symbol):
        # Its key is not known, but it is the only one: this is it, or the subscript raises.
        return [(s, next(iter(record.items.values())))]
    if record.default != NONE and isinstance(obj, Ref):
        out: Outcomes = []
        for state, value in m.call(s, record.default, [], {}, site):
            if state.exc is None:
                state.edit(obj).items[index] = value
            out.append((state, value))
        return out
    choices = _choices(s, record)
    if choices and isinstance(index, Symbol):
        return one_of(m, s, Symbol(("item", obj, index)), choices)
    found = unknown()
    if record.open and isinstance(index, Const) and isinstance(obj, Ref):
        # The program continues, so the item is there: the next one to ask gets the same.
        s.edit(obj).items[index] = found
    return [(s, found)]


def _choices(s: State, record: Dict) -> list[Value]:
    """The few objects, classes or functions that a dictionary holds, if it holds nothing else."""
    values = list(dict.fromkeys(record.items.values()))
    if record.open or len(values) > MOST_CHOICES:
        return []
    kinds = [type(s.heap[value.id]) if isinstance(value, Ref) else type(value) for value in values]
    return values if all(kind in _CHOSEN for kind in kinds) else []


def one_of(m: Interpreter, s: State, key: Symbol, choices: list[Value]) -> Outcomes:
    """What stands under a key that is not known: each in a state of its own, and there always the same."""
    if key in s.memory:
        return [(s, s.memory[key])]
    followed = m.budget.few(choices)
    out = [(s.fork(), value) for value in followed[1:]] + [(s, followed[0])]
    for state, value in out:
        state.memory[key] = value
    return out


def _instance(m: Interpreter, s: State, obj: Value, record: Instance, index: Value, site: Any) -> Outcomes:
    own = attributes.in_class(s, record.cls, "__getitem__")
    if own is not None:
        return m.call(s, Bound(obj, own), [index], {}, site)
    known = model_of(s, obj).get_item(m, s, obj, index, site)
    return known if known is not None else [(s, Symbol(("item", obj, index)))]


def put(
    m: Interpreter, s: State, obj: Value, index: Value, value: Value, site: Any, text: Any, augmented: bool
) -> list[State]:
    """`obj[index] = value`."""
    m.tell(s, ItemWritten(obj, index, value, site))
    record = s.heap.get(obj.id) if isinstance(obj, Ref) else None
    if isinstance(record, Instance):
        own = attributes.in_class(s, record.cls, "__setitem__")
        if own is not None:
            return [state for state, _ in m.call(s, Bound(obj, own), [index, value], {}, site)]
    after = model_of(s, obj).set_item(m, s, obj, index, value, site, text, augmented)
    if after is not None:
        return after
    if isinstance(record, List):
        _put_list(s, obj, index, value)  # type: ignore[arg-type]
    elif isinstance(record, Dict):
        mine = s.edit(obj)  # type: ignore[arg-type]
        mine.items[index] = value
        if not isinstance(index, (Const, Ref)) and not _names_a_group(index):
            mine.open = True
        _put_attribute(s, mine.of, index, value)
    elif isinstance(obj, Symbol):
        inherit(s, obj, (obj, value))
        key = Symbol(("item", obj, index))
        s.memory[key] = inherit(s, unknown(), (obj,)) if _is_copied(s, index) else value
    return [s]


def _is_copied(s: State, index: Value) -> bool:
    """Are these several items, or those that a tensor names? A copy of what is stored is kept there then."""
    parts = index.items if isinstance(index, Tup) else (index,)
    return any(isinstance(part, Slice) or s.get(part, Tensor) is not None for part in parts)


def _names_a_group(index: Value) -> bool:
    """Is it what stands for the names of a group of parameters? It is the same key each time."""
    return isinstance(index, Symbol) and isinstance(index.key, tuple) and index.key[0] == "parameter-name"


def _put_attribute(s: State, owner: Value, name: Value, value: Value) -> None:
    """What a table of attributes gets, its owner has: in the place of a Parameter it counts as one."""
    if s.get(owner, Instance) is None:
        return
    mine = s.edit(owner)  # type: ignore[arg-type]
    if not isinstance(name, Const):
        mine.open = True
        return
    old, new = s.get(mine.attrs.get(str(name.value)), Tensor), s.get(value, Tensor)
    if old is not None and old.is_param and new is not None and not new.is_param:
        mine.attrs[IN_TABLE] = Tup((*listed_in_table(mine), name))
    mine.attrs[str(name.value)] = value


def listed_in_table(record: Instance) -> tuple[Value, ...]:
    """The names of what `parameters()` of a module gives that is no Parameter."""
    names = record.attrs.get(IN_TABLE)
    return names.items if isinstance(names, Tup) else ()


def remove_attribute(s: State, owner: Value, name: Value) -> None:
    """What a table of attributes loses, its owner has no longer."""
    record = s.get(owner, Instance)
    if record is not None and isinstance(name, Const) and name.value in record.attrs:
        mine = s.edit(owner)  # type: ignore[arg-type]
        del mine.attrs[str(name.value)]
        if name in listed_in_table(mine):
            mine.attrs[IN_TABLE] = Tup(tuple(each for each in listed_in_table(mine) if each != name))


def _put_list(s: State, obj: Ref, index: Value, value: Value) -> None:
    mine = s.edit(obj)
    if (
        isinstance(index, Const)
        and isinstance(index.value, int)
        and -len(mine.items) <= index.value < len(mine.items)
    ):
        mine.items[index.value] = value
    elif isinstance(index, Slice):
        bounds = _bounds(index)
        items, is_open = elements(s, value)
        if bounds is not None and bounds.step is None and not mine.open:
            mine.items[bounds] = items
            mine.items, mine.open = first_of(mine.items, is_open)
        else:
            mine.items, mine.open = [], True
    else:
        mine.items, mine.open = [value], True


def delete(m: Interpreter, s: State, obj: Value, index: Value) -> None:
    """`del obj[index]`."""
    record = s.heap.get(obj.id) if isinstance(obj, Ref) else None
    if isinstance(record, Dict) and index in record.items:
        del s.edit(obj).items[index]  # type: ignore[arg-type]
        remove_attribute(s, record.of, index)
    elif isinstance(record, List):
        mine = s.edit(obj)  # type: ignore[arg-type]
        at = index.value if isinstance(index, Const) else None
        if isinstance(at, int) and -len(mine.items) <= at < len(mine.items) and not mine.open:
            del mine.items[at]
        else:
            mine.items, mine.open = [], True
