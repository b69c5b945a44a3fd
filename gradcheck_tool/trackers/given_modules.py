"""Modules that a constructor is given in a list and keeps as they are.

A module that is kept from being registered on purpose stands alone in a list, is not trained, or is there
for evaluation. What is looked at here is said to be modules by the text: by a test for a class, by an
annotation, or as each of them is moved to a device, which tensors are, too, but nobody calls those.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Class, Frame
from gradcheck_tool.interp.imports import resolve_import
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.trackers.plain_lists import (
    MODULE,
    called_name,
    comprehension,
    gone_through,
    origins,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.library.torch.function_text import FunctionBody

_LIST = re.compile(r"(?:list|sequence|iterable|tuple)\[(.*)", re.IGNORECASE)
# What moves a module to a device.
_MOVES = frozenset({"cuda", "to"})
# What a list is made of anew, and stays one.
_COPIES = frozenset({"list", "tuple"})


def given_modules(m: Interpreter, s: State, record: Class, init: FunctionBody, store: ir.SetAttr) -> str:
    """The parameter of modules, as the text says, that an attribute keeps as a plain list; '' for none."""
    given = _given(init, store)
    is_said = given and (
        _is_annotated(m, s, record, init, given)
        or _is_tested(m, s, record, init, given)
        or _are_moved(init, store)
    )
    return given if is_said else ""


def _given(init: FunctionBody, store: ir.SetAttr) -> str:
    """The parameter that an attribute keeps which is a list all the time, '' for none."""
    found = [_of_parameter(init, made) for made in origins(init, store.src) if not _is_empty(made)]
    return found[0] if found and len(set(found)) == 1 else ""


def _is_empty(made: ir.Instr | None) -> bool:
    return isinstance(made, ir.BuildList) and not made.items


def _of_parameter(init: FunctionBody, made: ir.Instr | None) -> str:
    """The parameter that is kept: itself, a copy of it, or what calls make of its elements one by one."""
    if isinstance(made, ir.LoadName):
        is_list = all(_stays_list(init, store.src) for store in init.stores.get(made.name, ()))
        return made.name if made.name in init.params and is_list else ""
    if isinstance(made, ir.Call) and called_name(init, made) in _COPIES and len(made.args) == 1:
        return _of_parameter(init, init.made.get(made.args[0].value))
    listed = comprehension(init, made)
    if listed is None or not _calls(listed[0]):
        return ""
    parts = [_of_parameter(init, part) for part in gone_through(init, listed[1])]
    return next(filter(None, parts), "")


def _calls(inner: FunctionBody) -> bool:
    """Are the elements of a comprehension what a call returns that is given what is gone through?"""
    added = [inner.made.get(i.value) for i in inner.instrs if isinstance(i, ir.Append)]
    uses = any(isinstance(i, ir.LoadName) and i.name in inner.stores for i in inner.instrs)
    return bool(added) and uses and all(isinstance(made, ir.Call) for made in added)


def _stays_list(body: FunctionBody, reg: int) -> bool:
    made = body.made.get(reg)
    if isinstance(made, ir.Call):
        return called_name(body, made) in _COPIES
    return isinstance(made, ir.BuildList) or (isinstance(made, ir.BinOp) and made.op in ("*", "+"))


def _are_moved(init: FunctionBody, store: ir.SetAttr) -> bool:
    """Is each of the elements moved to a device?"""
    listed = comprehension(init, init.maker(store.src))
    if listed is None:
        return False
    added = [listed[0].made.get(i.value) for i in listed[0].instrs if isinstance(i, ir.Append)]
    return bool(added) and all(
        isinstance(call, ir.Call) and called_name(listed[0], call) in _MOVES for call in added
    )


def _is_annotated(m: Interpreter, s: State, record: Class, init: FunctionBody, name: str) -> bool:
    """Does the annotation say that it is a list of modules?"""
    params = {p.name: p for p in init.function.params}
    annotation = params[name].annotation
    listed = None if annotation is None else _LIST.search(_spelt(annotation))
    inner = re.findall(r"\w+", listed[1]) if listed is not None else []
    return any(_is_module_class(m, s, record, each) for each in inner)


def _spelt(node: object) -> str:
    """The names and brackets of an annotation."""
    kind = type(node).__name__
    if kind == "Name":
        return str(node.value)  # type: ignore[attr-defined]
    if kind == "Attribute":
        return f"{_spelt(node.value)}.{_spelt(node.attr)}"  # type: ignore[attr-defined]
    if kind == "BinaryOperation":
        return f"{_spelt(node.left)} | {_spelt(node.right)}"  # type: ignore[attr-defined]
    if kind == "Subscript":
        inner = [_spelt(element.slice.value) for element in node.slice]  # type: ignore[attr-defined]
        return f"{_spelt(node.value)}[{', '.join(inner)}]"  # type: ignore[attr-defined]
    return ""


def _is_tested(m: Interpreter, s: State, record: Class, init: FunctionBody, name: str) -> bool:
    """Is it put in a list where `isinstance(name, C)` says that it is a module?"""
    for i in init.instrs:
        if not isinstance(i, ir.Call) or called_name(init, i) != "isinstance" or len(i.args) != 2:
            continue
        tested, cls = (init.made.get(arg.value) for arg in i.args)
        is_named = isinstance(cls, (ir.GetAttr, ir.LoadName)) and _is_module_class(m, s, record, cls.name)
        if isinstance(tested, ir.LoadName) and tested.name == name and is_named:
            return any(
                isinstance(init.made.get(store.src), ir.BuildList) for store in init.stores.get(name, ())
            )
    return False


def _is_module_class(m: Interpreter, s: State, record: Class, name: str) -> bool:
    """Does a name stand for a class of modules: `nn.Module`, a base of this class or one of its file?"""
    bases: Iterator[Class | None] = (s.get(entry, Class) for entry in record.mro[1:])
    if name in ("Module", *(base.name for base in bases if base is not None)):
        return True
    frame = s.get(record.env.globals, Frame)
    value = frame.locals.get(name) if frame is not None else None
    cls = s.get(resolve_import(m, s, value), Class) if value is not None else None
    return cls is not None and MODULE in cls.mro
