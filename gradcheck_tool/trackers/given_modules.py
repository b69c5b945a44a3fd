"""Modules that a constructor is given in a list, keeps as they are, and calls.

A module that is kept from being registered on purpose stands alone in a list, is not trained, or is there
for evaluation. What is looked at here is said to be modules by the text: by a test for a class, or annotated.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import Site
from gradcheck_tool.domain.records import Class, Frame, Func
from gradcheck_tool.domain.values import LibraryObject
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_text import FunctionBody
from gradcheck_tool.trackers.events import ModuleAttribute
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import ObjectMade

MODULE = LibraryObject("torch.nn.Module")
_LIST = re.compile(r"(?:list|sequence|iterable|tuple)\[\s*(?:\w+\.)*module\b", re.IGNORECASE)
# What a list is made of anew, and stays one.
_COPIES = frozenset({"list", "tuple"})
_AROUND = frozenset({"enumerate", "reversed", "zip"})
# What registers modules, and what is there for networks that nobody trains.
_EXCUSES = frozenset(
    {
        "ModuleDict",
        "ModuleList",
        "Sequential",
        "add_module",
        "eval",
        "freeze",
        "inference_mode",
        "no_grad",
        "register_module",
        "requires_grad",
        "requires_grad_",
        "setattr",
    }
)
_NOT_TRAINED = re.compile(r"teacher|frozen|pretrained|ensemble|expert|reference|metric|eval", re.IGNORECASE)


class GivenModules(Tracker):
    """Reads the constructors of modules when their classes are defined."""

    derives = (ModuleAttribute,)

    def on_object_made(self, m: Interpreter, s: State, fact: ObjectMade) -> None:
        """Read a class that derives from `nn.Module`."""
        record = s.get(fact.object, Class)
        if record is None or MODULE not in record.mro or _NOT_TRAINED.search(record.name):
            return
        found = {name: s.get(value, Func) for name, value in record.attrs.items()}
        methods = {
            name: func.function.worked_out(FunctionBody) for name, func in found.items() if func is not None
        }
        init = methods.pop("__init__", None)
        if init is None or "forward" not in methods or _names([init, *methods.values()]) & _EXCUSES:
            return
        for name, given, store in _kept(init):
            said = _is_annotated(init, given) or _is_tested(s, record, init, given)
            if said and any(_calls_elements(body, name) for body in methods.values()):
                self._found(record, name, given, store)

    def _found(self, record: Class, name: str, given: str, store: ir.SetAttr) -> None:
        self.report(
            ModuleAttribute(
                site=Site(record.env.module, store.node),
                module=record.name,
                attribute=name,
                kind="module-list",
                call=given,
                assumes=(f"`{given}` has modules that are to be trained",),
            )
        )


def _names(bodies: list[FunctionBody]) -> set[str]:
    loaded = (i for body in bodies for i in body.function.instructions())
    return {i.name for i in loaded if isinstance(i, (ir.GetAttr, ir.LoadName, ir.SetAttr))}


def _kept(init: FunctionBody) -> Iterator[tuple[str, str, ir.SetAttr]]:
    """The attributes of `self` that parameters are stored in which are lists all the time."""
    for i in init.instrs:
        if not isinstance(i, ir.SetAttr) or init.source(i.obj) != init.params[0]:
            continue
        made = init.made.get(i.src)
        if not isinstance(made, ir.LoadName) or made.name not in init.params or _NOT_TRAINED.search(i.name):
            continue
        if all(_stays_list(init, store.src) for store in init.stores.get(made.name, ())):
            yield i.name, made.name, i


def _stays_list(body: FunctionBody, reg: int) -> bool:
    made = body.made.get(reg)
    if isinstance(made, ir.Call):
        func = body.made.get(made.func)
        return isinstance(func, ir.LoadName) and func.name in _COPIES
    return isinstance(made, ir.BuildList) or (isinstance(made, ir.BinOp) and made.op in ("*", "+"))


def _is_annotated(init: FunctionBody, name: str) -> bool:
    """Does the annotation say that it is a list of modules?"""
    params = {p.name: p for p in init.function.params}
    annotation = params[name].annotation
    return annotation is not None and _LIST.search(_spelt(annotation)) is not None


def _spelt(node: object) -> str:
    """The names and brackets of an annotation."""
    kind = type(node).__name__
    if kind == "Name":
        return str(node.value)  # type: ignore[attr-defined]
    if kind == "Attribute":
        return f"{_spelt(node.value)}.{_spelt(node.attr)}"  # type: ignore[attr-defined]
    if kind == "Subscript":
        inner = [_spelt(element.slice.value) for element in node.slice]  # type: ignore[attr-defined]
        return f"{_spelt(node.value)}[{', '.join(inner)}]"  # type: ignore[attr-defined]
    return ""


def _is_tested(s: State, record: Class, init: FunctionBody, name: str) -> bool:
    """Is it put in a list where `isinstance(name, C)` says that it is a module?"""
    for i in init.instrs:
        func = init.made.get(i.func) if isinstance(i, ir.Call) else None
        if not isinstance(i, ir.Call) or not isinstance(func, ir.LoadName) or func.name != "isinstance":
            continue
        tested, cls = (init.made.get(arg.value) for arg in i.args[:2]) if len(i.args) == 2 else (None, None)
        if isinstance(tested, ir.LoadName) and tested.name == name and _is_module_class(s, record, cls):
            return any(
                isinstance(init.made.get(store.src), ir.BuildList) for store in init.stores.get(name, ())
            )
    return False


def _is_module_class(s: State, record: Class, made: ir.Instr | None) -> bool:
    """Does a name stand for a class of modules: `nn.Module`, a base of this class or one of its file?"""
    if isinstance(made, ir.GetAttr):
        return made.name == "Module"
    if not isinstance(made, ir.LoadName):
        return False
    bases = [base for base in (s.get(entry, Class) for entry in record.mro[1:]) if base is not None]
    frame = s.get(record.env.globals, Frame)
    cls = s.get(frame.locals.get(made.name), Class) if frame is not None else None
    return made.name in ("Module", *(base.name for base in bases)) or (cls is not None and MODULE in cls.mro)


def _calls_elements(body: FunctionBody, name: str) -> bool:
    """Does a method go through the attribute and call what it gets?"""
    inner = [function.worked_out(FunctionBody) for function in body.function.with_inner()]
    if not any(_goes_through(each, name) for each in inner):
        return False
    called = {
        func.name
        for each in inner
        for i in each.instrs
        if isinstance(i, ir.Call) and isinstance(func := each.made.get(i.func), ir.LoadName)
    }
    return any(called & _loop_variables(each) for each in inner)


def _goes_through(body: FunctionBody, name: str) -> bool:
    for i in body.instrs:
        made = body.made.get(i.src) if isinstance(i, ir.GetIter) else None
        parts = [made]
        if isinstance(made, ir.Call):
            func = body.made.get(made.func)
            is_around = isinstance(func, ir.LoadName) and func.name in _AROUND
            parts = [body.made.get(arg.value) for arg in made.args] if is_around else []
        if any(isinstance(part, ir.GetAttr) and part.name == name for part in parts):
            return True
    return False


def _loop_variables(body: FunctionBody) -> set[str]:
    """The names that the elements of loops get."""
    elements = {end.dst for end in body.ends if isinstance(end, ir.ForIter)}
    for i in body.instrs:
        if isinstance(i, ir.Unpack) and i.src in elements:
            elements |= set(i.dsts)
    return {i.name for i in body.instrs if isinstance(i, ir.StoreName) and i.src in elements}
