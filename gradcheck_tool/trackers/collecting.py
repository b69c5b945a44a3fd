"""Statements that put a value into a container: `kept.append(x)`, `kept += [x]`, `kept[key] = x`, others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Dict, Frame, Instance, List
from gradcheck_tool.domain.values import Const, Ref, Value
from gradcheck_tool.engine.errors import story
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir import syntax
from gradcheck_tool.library.torch.module_tree import makes_modules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.events import StoryStep
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.facts import ItemWritten


# What adds all elements of its argument.
_SEVERAL = frozenset({"extend", "update"})


@dataclass(frozen=True, slots=True)
class Put:
    """A container gets another element; the nodes are the syntax of the two."""

    container: Ref
    value: Value
    container_node: Any
    value_node: Any


def put_by(s: State, fact: ItemWritten) -> Put | None:
    """What a statement adds to a container; None where it replaces a tensor there, or adds several things."""
    node = fact.site.node
    if not isinstance(fact.container, Ref):
        return None
    if fact.index is not None:
        targets = getattr(node, "targets", None)
        table, row = s.get(fact.container, Dict), s.get(fact.container, List)
        if not targets or not _is_free(s, table, row, fact.index):
            return None
        return Put(fact.container, fact.value, owner_of_item(targets), node.value)
    owner = _owner(getattr(node, "func", None))
    written = list(getattr(node, "args", ()))
    name = _method(node)
    if name == "insert":
        written = written[-1:]
    elif name in _SEVERAL:
        written = list(getattr(written[0].value, "elements", ())) if written else []
    if isinstance(node, syntax.AugAssign):
        owner, written = node.target, list(getattr(node.value, "elements", ()))
    if owner is None or len(written) != 1:
        return None
    return Put(fact.container, fact.value, owner, written[0].value)


def owner_of_item(targets: Sequence[Any]) -> Any:
    """The syntax of the container in `kept[key] = x`, which may have other targets beside."""
    found = [target.target for target in targets]
    return _owner(next((node for node in found if isinstance(node, syntax.Subscript)), found[0]))


def _method(node: Any) -> str:
    """The name of the method that a call calls."""
    func = getattr(node, "func", None)
    return str(func.attr.value) if isinstance(func, syntax.Attribute) else ""


def _owner(node: Any) -> Any:
    """What an attribute or an item belongs to; the name itself where a bound method was given one."""
    return node.value if isinstance(node, (syntax.Attribute, syntax.Subscript)) else node


def _is_free(s: State, table: Dict | None, row: List | None, index: Value) -> bool:
    """Holds a dictionary or list no tensor at this place?"""
    if table is not None:
        return s.get(table.items.get(index), Tensor) is None
    at = index.value if row is not None and isinstance(index, Const) else None
    if row is None or not isinstance(at, int) or not -len(row.items) <= at < len(row.items):
        return False
    return s.get(row.items[at], Tensor) is None


def attributes_holding(s: State, value: Any) -> tuple[tuple[str, str], ...]:
    """The attributes of the program's own objects, with their classes, that hold this very value."""
    owners = ((s.get(record.cls, Class), record) for _, record in s.records(Instance))
    return tuple(
        (cls.name, name)
        for cls, record in owners
        if cls is not None
        for name, held in record.attrs.items()
        if held == value
    )


def in_module(s: State) -> bool:
    """Is a method of an `nn.Module` running that trains nothing? What it computes is for its caller.

    Where that is a framework's model, with the same object, it differentiates what it is given.
    """
    caller: Frame | None = None
    for ref in s.frames:
        frame: Frame = s[ref]
        is_trained = frame.env.is_model or frame.function.worked_out(_trains)
        is_trained |= caller is not None and caller.env.is_model and caller.receiver == frame.receiver
        if not is_trained and makes_modules(s, frame.cls):
            return True
        caller = frame
    return False


def _trains(function: ir.Function) -> bool:
    return "backward" in function.attributes_read()


def is_local(s: State, name: str) -> bool:
    """Is it a variable of the running function that no other function sees?"""
    frame: Frame = s[s.frames[-1]]
    return name in frame.function.local_names and name not in frame.function.captured


def handed_over(s: State) -> tuple[StoryStep, ...]:
    """Where the function that keeps something is called: the value may have to be detached there."""
    site = s[s.frames[-1]].site
    if site is None or not isinstance(site.node, syntax.Call):
        return ()
    return (story(site, "what is kept is handed over here"),)
