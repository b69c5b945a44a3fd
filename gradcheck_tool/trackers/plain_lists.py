"""What the text of a class says of a list that an attribute holds: what is in it, how it is gone through."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Class, Func
from gradcheck_tool.domain.values import LibraryObject
from gradcheck_tool.interp.attributes import function_of
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_text import FunctionBody

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradcheck_tool.domain.state import State

MODULE = LibraryObject("torch.nn.Module")
# What registers modules and Parameters.
REGISTERS = frozenset(
    {
        "ModuleDict",
        "ModuleList",
        "ParameterDict",
        "ParameterList",
        "Sequential",
        "__setattr__",
        "_modules",
        "_parameters",
        "add_module",
        "register_module",
        "register_parameter",
        "setattr",
    }
)
# What handles modules itself; what is there for networks that nobody trains, and what seldom has a Parameter.
EXCUSES = REGISTERS | {"eval", "freeze", "inference_mode", "no_grad", "requires_grad", "requires_grad_"}
NOT_TRAINED = re.compile(
    r"teacher|frozen|pretrained|ensemble|expert|reference|metric|eval|kernel|criteri|loss(?:es|_fns?)?$",
    re.IGNORECASE,
)
_AROUND = frozenset({"enumerate", "reversed", "zip"})
# Methods that give what is to be trained, moved or saved; with some a class takes over what modules do.
_LISTS_STATE = re.compile(r"param|state_dict")
_OWN_STATE = frozenset({"named_parameters", "parameters", "state_dict"})


def constructor_and_methods(s: State, record: Class) -> tuple[FunctionBody, list[FunctionBody]] | None:
    """The constructor and the other methods of a class of modules that are trained, if it has a `forward`.

    A class that registers modules by other means, or handles them itself, is left alone.
    """
    if MODULE not in record.mro or NOT_TRAINED.search(record.name):
        return None
    found = {name: s.get(value, Func) for name, value in record.attrs.items()}
    methods = {name: func.function.worked_out(FunctionBody) for name, func in found.items() if func}
    init = methods.pop("__init__", None)
    if init is None or "forward" not in methods or not _OWN_STATE.isdisjoint(methods):
        return None
    if _names([init, *methods.values()]) & EXCUSES:
        return None
    return init, [*methods.values()]


def _names(bodies: Iterable[FunctionBody]) -> set[str]:
    loaded = (i for body in bodies for i in body.function.instructions())
    return {i.name for i in loaded if isinstance(i, (ir.GetAttr, ir.LoadName, ir.SetAttr))}


def registered_later(s: State, record: Class, name: str) -> bool:
    """Does a method beside the constructor read an attribute, and register modules or Parameters?"""
    read = (_names([body]) for body in _others(s, record, ("__init__",)))
    return any(name in names and names & REGISTERS for names in read)


def is_for_others(s: State, record: Class, name: str) -> bool:
    """Does no method of a class but the constructor read an attribute? Then it is others who use it."""
    return not any(
        name in _names([inner.worked_out(FunctionBody)])
        for body in _others(s, record, ("__init__",))
        for inner in body.function.with_inner()
    )


def listed_with_parameters(s: State, record: Class, name: str) -> bool:
    """Does a class have a method of its own for its parameters, or what it saves, that reads an attribute?"""
    listing = (body for body in _others(s, record, ("__init__",)) if _LISTS_STATE.search(body.function.name))
    return any(name in _names([body]) for body in listing)


def handed_out(s: State, record: Class, name: str) -> bool:
    """Does a method beside the constructor and `forward` return a list with an attribute, or yield it?

    Whoever calls it gets what he may train, as he does from `parameters`.
    """
    return any(_hands_out(body, name) for body in _others(s, record, ("__init__", "forward")))


def looped_over(s: State, record: Class, name: str) -> bool:
    """Does a method beside the constructor go through what an attribute holds, by a loop?"""
    return any(
        _goes_through(inner.worked_out(FunctionBody), name)
        for body in _others(s, record, ("__init__",))
        for inner in body.function.with_inner()
    )


def _hands_out(body: FunctionBody, name: str) -> bool:
    given = [body.made.get(end.value) for end in body.returns() if end.value is not None]
    lists = [made for made in given if isinstance(made, (ir.BuildList, ir.BuildTuple))]
    parts = [reg for made in lists for reg, _ in made.items]
    parts += [i.value for i in body.instrs if isinstance(i, ir.Yield) and i.value is not None]
    read = (body.made.get(reg) for reg in parts)
    return any(
        isinstance(i, ir.GetAttr) and i.name == name and body.source(i.obj) == body.receiver for i in read
    )


def _others(s: State, record: Class, left_out: tuple[str, ...]) -> Iterator[FunctionBody]:
    """The methods of a class and its bases, but for those with certain names."""
    for base in (s.get(entry, Class) for entry in record.mro):
        for name, value in base.attrs.items() if base is not None else ():
            func = s.get(function_of(s, value), Func)
            if func is not None and name not in left_out:
                yield func.function.worked_out(FunctionBody)


def stores(init: FunctionBody) -> Iterator[ir.SetAttr]:
    """Where a constructor sets attributes of its object."""
    for i in init.instrs:
        if isinstance(i, ir.SetAttr) and init.source(i.obj) == init.receiver:
            if not NOT_TRAINED.search(i.name):
                yield i


def origins(body: FunctionBody, reg: int) -> Iterator[ir.Instr | None]:
    """What made the value of a register, on each way; None where that is not known."""
    copies = [i.src for i in body.instrs if isinstance(i, ir.Copy) and i.dst == reg]
    for source in copies:
        yield from origins(body, source)
    if not copies:
        yield body.made.get(reg)


def comprehension(body: FunctionBody, made: ir.Instr | None) -> tuple[FunctionBody, int] | None:
    """The code of a list comprehension that made a value, and the register of what it goes through."""
    func = body.made.get(made.func) if isinstance(made, ir.Call) else None
    if not isinstance(made, ir.Call) or not isinstance(func, ir.MakeFunction) or len(made.args) != 1:
        return None
    iterator = body.made.get(made.args[0].value)
    if func.function.kind is not ir.FunctionKind.COMPREHENSION or not isinstance(iterator, ir.GetIter):
        return None
    return func.function.worked_out(FunctionBody), iterator.src


def called_name(body: FunctionBody, call: ir.Call) -> str:
    """The last part of the name of what is called."""
    func = body.made.get(call.func)
    return func.name if isinstance(func, (ir.GetAttr, ir.LoadName)) else ""


def gone_through(body: FunctionBody, reg: int) -> list[ir.Instr | None]:
    """What a loop goes through: a value itself, or what it is zipped of."""
    made = body.made.get(reg)
    if not isinstance(made, ir.Call):
        return [made]
    is_around = called_name(body, made) in _AROUND
    return [body.made.get(arg.value) for arg in made.args] if is_around else []


def calls_elements(body: FunctionBody, name: str) -> bool:
    """Does a method call what it gets of the attribute, by a loop or an index?"""
    inner = [function.worked_out(FunctionBody) for function in body.function.with_inner()]
    called = [each.maker(i.func) for each in inner for i in each.instrs if isinstance(i, ir.Call) and i.args]
    if any(
        isinstance(made, ir.GetItem) and is_attribute(each, made.obj, name)
        for each in inner
        for made in called
    ):
        return True
    if not any(_goes_through(each, name) for each in inner):
        return False
    named = {
        func.name
        for each in inner
        for i in each.instrs
        if isinstance(i, ir.Call) and isinstance(func := each.made.get(i.func), ir.LoadName)
    }
    return any(named & _loop_variables(each) for each in inner)


def is_attribute(body: FunctionBody, reg: int, name: str) -> bool:
    """Is it an attribute of this name?"""
    made = body.made.get(reg)
    return isinstance(made, ir.GetAttr) and made.name == name


def _goes_through(body: FunctionBody, name: str) -> bool:
    loops = (i for i in body.instrs if isinstance(i, ir.GetIter))
    parts = (part for i in loops for part in gone_through(body, i.src))
    return any(isinstance(part, ir.GetAttr) and part.name == name for part in parts)


def _loop_variables(body: FunctionBody) -> set[str]:
    """The names that the elements of loops get."""
    elements = {end.dst for end in body.ends if isinstance(end, ir.ForIter)}
    for i in body.instrs:
        if isinstance(i, ir.Unpack) and i.src in elements:
            elements |= set(i.dsts)
    return {i.name for i in body.instrs if isinstance(i, ir.StoreName) and i.src in elements}
