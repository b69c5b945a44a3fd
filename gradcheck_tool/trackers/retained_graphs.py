"""Values that are kept with their graphs from one iteration to the next, and that no backward uses.

What is kept is noted when it happens and told at the end of the analysis, when it is known that no path
has back-propagated it, computed something else with it, or handed it out of an entry point.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import GraphKept
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.records import Class, Dict, Frame, Instance, List
from gradcheck_tool.domain.values import Const, LibraryObject, Ref, Tup, Value, fresh
from gradcheck_tool.engine.tensors import numel_is_one
from gradcheck_tool.interp.havoc import reachable
from gradcheck_tool.ir.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.engine.backward import BackwardPass
    from gradcheck_tool.interp.api import FrameExit, Interpreter

# What may be computed from a running total without it being more than a number to show.
SHOWN = frozenset({"+", "+=", "add", "add_", "/", "/=", "div", "*", "*=", "mul", "neg", "sqrt"})


@dataclass(slots=True)
class Keeper:
    """What is kept, by the place that keeps it; `owner` maps graph nodes to that place and the time.

    `stored` are the places that store into an attribute what may be there for another call: they are told
    only where something is back-propagated at all. `main` is true while the module's body runs: only
    then is everybody known who may use an attribute.
    """

    events: dict[int, GraphKept] = field(default_factory=dict)
    owner: dict[int, tuple[int, int]] = field(default_factory=dict)
    shown: set[int] = field(default_factory=set)
    stored: set[int] = field(default_factory=set)
    used: set[int] = field(default_factory=set)
    passes: int = 0
    iterations: dict[tuple[int, int], Ref] = field(default_factory=dict)
    main: bool = True
    ended: bool = False


def note_sum(m: Interpreter, s: State, site: Any, history: Ref | None, right: Value, result: Value) -> None:
    """`total + x` has been computed: is `total` what the same expression gave an iteration before?"""
    total = s.get(result, Tensor)
    if (
        total is None
        or total.grad_fn is None
        or not total.requires_grad
        or numel_is_one(total.shape) is not True
        or _in_module(s)
    ):
        return
    key = id(site.node)
    m.keeper.owner[total.grad_fn.id] = (key, fresh())
    m.keeper.shown.add(key)
    node = s.get(history, Node)
    if node is None or node.site is None or node.site.node is not site.node or s.get(right, Tensor) is None:
        return
    target, value = _operands(site)
    if not target or not (m.keeper.main or _is_local(s, target)):
        return
    kind = "attribute" if "." in target or "[" in target else "sum"
    m.keeper.events.setdefault(key, GraphKept(site=site, container=target, value=value, kind=kind))


def note_attribute(m: Interpreter, s: State, site: Any, obj: Value, name: str, value: Value) -> None:
    """A result is stored in an attribute: was it computed from what the same code stored there before?"""
    owner = s.get(obj, Instance)
    if owner is not None:
        _note_stored(m, s, site, owner.attrs.get(name), value, f"{owner.name or 'self'}.{name}")


def note_item(m: Interpreter, s: State, site: Any, obj: Value, index: Value, value: Value) -> None:
    """A result is stored in a dictionary or list: in place of what it was computed from, or beside others?"""
    table, row = s.get(obj, Dict), s.get(obj, List)
    targets = getattr(site.node, "targets", None)
    if not targets or not isinstance(obj, Ref):
        return
    target = targets[0].target
    if table is not None:
        _note_stored(m, s, site, table.items.get(index), value, _text(site, target))
    if _is_free(s, table, row, index):
        _note_collected(m, s, site, obj, value, getattr(target, "value", target), site.node.value)


def _is_free(s: State, table: Dict | None, row: List | None, index: Value) -> bool:
    """Holds a dictionary or list no tensor at this place?"""
    if table is not None:
        return s.get(table.items.get(index), Tensor) is None
    at = index.value if row is not None and isinstance(index, Const) else None
    if row is None or not isinstance(at, int) or not -len(row.items) <= at < len(row.items):
        return False
    return s.get(row.items[at], Tensor) is None


def _note_stored(
    m: Interpreter, s: State, site: Any, old: Value | None, value: Value, container: str
) -> None:
    tensor, before = s.get(value, Tensor), s.get(old, Tensor)
    if tensor is None or tensor.grad_fn is None or not tensor.requires_grad or not m.keeper.main:
        return
    new: Node = s[tensor.grad_fn]
    key = id(new.site.node)
    m.keeper.owner.setdefault(tensor.grad_fn.id, (key, fresh()))
    earlier = s.get(before.grad_fn, Node) if before is not None else None
    if key in m.keeper.events or earlier is None or before is None:
        return
    if earlier.site.node is new.site.node and _is_made_of(s, new, before.grad_fn):
        event = GraphKept(site=site, container=container, value=str(new.text), kind="attribute")
        m.keeper.events[key] = event
        m.keeper.stored.add(key)


def _is_made_of(s: State, node: Node, wanted: Ref | None, depth: int = 2) -> bool:
    """Is a node an input of another one, or of an input of it (`0.9 * old + 0.1 * new`)?"""
    if wanted in node.inputs:
        return True
    inner = [s.get(at, Node) for at in node.inputs] if depth else []
    return any(_is_made_of(s, at, wanted, depth - 1) for at in inner if at is not None)


def note_append(m: Interpreter, s: State, site: Any, container: Ref, value: Value) -> None:
    """Something has been appended to a list."""
    func, args = getattr(site.node, "func", None), list(getattr(site.node, "args", ()))
    if getattr(func, "value", None) is not None and len(args) == 1 and s.get(container, List) is not None:
        _note_collected(m, s, site, container, value, func.value, args[0].value)  # type: ignore[union-attr]


def note_extended(m: Interpreter, s: State, site: Any, container: Ref, items: Sequence[Value]) -> None:
    """`kept += [result]` appends, too."""
    written: Sequence[Any] = getattr(getattr(site.node, "value", None), "elements", ())
    if len(items) == 1 == len(written):
        _note_collected(m, s, site, container, items[0], site.node.target, written[0].value)


def _note_collected(
    m: Interpreter, s: State, site: Any, container: Ref, value: Value, name_node: Any, value_node: Any
) -> None:
    """A container has got another element: does it hold a result, and is it not the first one here?

    Results of one forward, such as its losses at several scales, keep one graph between them.
    """
    tensors = [s.get(item, Tensor) for item in _parts(s, value)]
    tensor = next((tensor for tensor in tensors if _may_be_number(tensor)), None)
    if tensor is None or tensor.grad_fn is None or _in_module(s):
        return
    key = id(site.node)
    m.keeper.owner[tensor.grad_fn.id] = (key, fresh())
    first = m.keeper.iterations.setdefault((key, container.id), tensor.grad_fn)
    name, text = _text(site, name_node), _text(site, value_node)
    # A result of unknown size counts once something has been trained.
    counts = numel_is_one(tensor.shape) is True or m.keeper.passes > 0
    if counts and first != tensor.grad_fn and (m.keeper.main or _is_local(s, name)):
        if not _nodes(s, first).isdisjoint(_nodes(s, tensor.grad_fn)):
            return
        m.keeper.events.setdefault(key, GraphKept(site=site, container=name, value=text, kind="append"))


def _nodes(s: State, start: Ref) -> set[int]:
    """The nodes of a graph."""
    found: set[int] = set()
    todo: list[Value] = [start]
    while todo:
        at = todo.pop()
        node = s.heap.get(at.id) if isinstance(at, Ref) and at.id not in found else None
        if isinstance(node, Node):
            found.add(at.id)  # type: ignore[union-attr]
            todo.extend(node.inputs)
    return found


def _parts(s: State, value: Value) -> tuple[Value, ...]:
    """What a tuple, a dictionary or an object of the program's own holds, or the value itself."""
    table, record = s.get(value, Dict), s.get(value, Instance)
    if table is not None:
        return tuple(table.items.values())
    if record is not None and isinstance(record.cls, Ref):
        return tuple(record.attrs.values())
    return value.items if isinstance(value, Tup) else (value,)


def _may_be_number(tensor: Tensor | None) -> bool:
    """Is it a result that has a history and may be a single number?"""
    return bool(
        tensor and tensor.grad_fn and tensor.requires_grad and numel_is_one(tensor.shape) is not False
    )


def _in_module(s: State) -> bool:
    """Is a method of an `nn.Module` running? What it computes is for its caller to use."""
    for ref in s.frames:
        record = s.get(s[ref].cls, Class)
        if record is not None and any(
            isinstance(c, LibraryObject) and c.name.startswith("torch.nn.") for c in record.mro
        ):
            return True
    return False


def _is_local(s: State, name: str) -> bool:
    frame: Frame = s[s.frames[-1]]
    return name in frame.function.local_names and name not in frame.function.captured


def _operands(site: Any) -> tuple[str, str]:
    """The texts of the target and of what is added: of `t += x`, or of `t + x`."""
    from gradcheck_tool.ir import syntax

    node = site.node
    if isinstance(node, syntax.AugAssign):
        return _text(site, node.target), _text(site, node.value)
    if isinstance(node, syntax.BinaryOperation):
        return _text(site, node.left), _text(site, node.right)
    return "", ""


def _text(site: Any, node: Any) -> str:
    return one_line(site.module.spans.text(node))


def note_pass(m: Interpreter, p: BackwardPass) -> None:
    """What a backward went through after it was kept is used."""
    m.keeper.passes += 1
    for ref in p.ran:
        owner = m.keeper.owner.get(ref.id)
        if owner is not None:
            m.keeper.used.add(owner[0])


def settle(m: Interpreter, end: FrameExit) -> None:
    """At the end of an entry point: what was computed from kept values, or handed out, is used."""
    keeper, s = m.keeper, end.state
    if not keeper.events:
        return
    keeper.ended = keeper.ended or end.kind == "return"
    for ref, node in s.records(Node):
        owner = keeper.owner.get(ref.id)
        if owner is not None and node.unsure_freed:
            keeper.used.add(owner[0])
        for at in node.inputs:
            owner = keeper.owner.get(at.id) if isinstance(at, Ref) else None
            if owner is None or ref.id < owner[1] or id(node.site.node) == owner[0]:
                continue
            if owner[0] in keeper.stored and keeper.main:
                continue
            if owner[0] not in keeper.shown or node.op not in SHOWN:
                keeper.used.add(owner[0])
    if not keeper.main:
        _escape(keeper, s, end.value)


def _escape(keeper: Keeper, s: State, value: Value) -> None:
    seen: set[int] = set()
    todo: list[Any] = [s[ref].grad_fn for ref in reachable(s, [value]) if s.get(ref, Tensor) is not None]
    while todo:
        at = todo.pop()
        node = s.get(at, Node) if isinstance(at, Ref) else None
        if node is None or at.id in seen:
            continue
        seen.add(at.id)
        owner = keeper.owner.get(at.id)
        if owner is not None:
            keeper.used.add(owner[0])
        todo.extend(node.inputs)


def report(m: Interpreter) -> None:
    """Tell what nothing has used."""
    if m.exhausted or not m.keeper.ended:
        return
    for key, event in m.keeper.events.items():
        if key not in m.keeper.used and (m.keeper.passes or key not in m.keeper.stored):
            m.emit(event)
