"""Layers of libraries that are not in sight, which a constructor makes and keeps in a plain list.

What a library's class makes is not known. It is taken for a module where its class is named as layers are,
the object that makes it is a module, and the methods of that call it. Lists of which something is known are
looked at when the object is made.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Class, Frame
from gradcheck_tool.domain.values import LibraryObject, Symbol
from gradcheck_tool.interp.imports import resolve_import
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.trackers.plain_lists import (
    called_name,
    comprehension,
    is_attribute,
    origins,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.library.torch.function_text import FunctionBody

# What classes of layers with parameters are called.
_LAYER = re.compile(
    r"^[A-Z]\w*(?:Attention|Block|Cell|Conv|Conv[123]d|Dense|Embedding|FeedForward|FFN|GRU|Layer|Linear|LSTM|MLP"
    r"|Mlp|Net|Network|RNN|Transformer)$|^(?:Conv|Linear|MLP|Mlp)$"
)
# What a list may be given to without being handed on.
_LOOKS = frozenset({"choice", "enumerate", "iter", "len", "print", "range", "repr", "reversed", "str", "zip"})


def made_modules(
    m: Interpreter,
    s: State,
    record: Class,
    read: tuple[FunctionBody, Sequence[FunctionBody]],
    store: ir.SetAttr,
) -> str:
    """What makes all elements of a plain list that an attribute gets: a layer's class; '' for none."""
    made = list(_elements(read[0], store))
    names = [called_name(body, call) for body, call in made]
    if not made or not all(map(_LAYER.search, names)) or _is_handed_on(record, read, store.name):
        return ""
    is_kept = all(_is_only_kept(body, call) for body, call in made)
    unknown = all(_is_unknown(m, s, record, body, call) for body, call in made)
    return names[0] if is_kept and unknown else ""


def _elements(init: FunctionBody, store: ir.SetAttr) -> Iterator[tuple[FunctionBody, ir.Call]]:
    """The calls that make the elements of a list that an attribute gets; none where one is made otherwise."""
    made = list(origins(init, store.src))
    source = init.maker(store.src)
    listed = comprehension(init, source)
    if len(made) != 1 or source is None:
        return
    body = listed[0] if listed is not None else init
    added = [i.value for i in body.instrs if isinstance(i, ir.Append)] if listed is not None else []
    if isinstance(source, ir.BuildList):
        added = [reg for reg, _ in source.items] + list(_appended(init, store, source))
    calls = [body.maker(reg) for reg in added]
    if all(isinstance(call, ir.Call) for call in calls):
        yield from ((body, call) for call in calls if isinstance(call, ir.Call))


def _appended(init: FunctionBody, store: ir.SetAttr, listed: ir.BuildList) -> Iterator[int]:
    """What is appended to a list, under the name of the attribute or of a variable."""
    for call, method in init.calls("append"):
        if is_attribute(init, method.obj, store.name) or init.maker(method.obj) is listed:
            yield from (arg.value for arg in call.args)


def _is_only_kept(body: FunctionBody, made: ir.Call) -> bool:
    """Does nothing else get what a call has made, but the list that it is put in?"""
    for i in body.instrs:
        if isinstance(i, ir.SetAttr) and body.maker(i.src) is made:
            return False
        if isinstance(i, ir.Call) and called_name(body, i) != "append":
            if any(body.maker(arg.value) is made for arg in i.args):
                return False
    return True


def _is_handed_on(record: Class, read: tuple[FunctionBody, Sequence[FunctionBody]], name: str) -> bool:
    """Does anything else get the list, inside of the class or outside?"""
    init, methods = read
    own = {id(each) for body in (init, *methods) for each in body.function.with_inner()}
    module = record.env.module
    others = (each for each in (module.body, *module.functions) if id(each) not in own)
    if any(name in function.attributes_read() for function in others):
        return True
    return any(_hands_on(body, name) for body in (init, *methods))


def _hands_on(body: FunctionBody, name: str) -> bool:
    """Does a method return the list, or give it to something else?"""
    if any(end.value is not None and is_attribute(body, end.value, name) for end in body.returns()):
        return True
    return any(
        called_name(body, i) not in _LOOKS and any(is_attribute(body, arg.value, name) for arg in i.args)
        for i in body.instrs
        if isinstance(i, ir.Call)
    )


def _is_unknown(m: Interpreter, s: State, record: Class, body: FunctionBody, call: ir.Call) -> bool:
    """Is a class called of which nothing is known: one that a library has, and not PyTorch?"""
    func = body.made.get(call.func)
    while isinstance(func, ir.GetAttr):
        func = body.made.get(func.obj)
    frame = s.get(record.env.globals, Frame)
    if not isinstance(func, ir.LoadName) or frame is None:
        return False
    value = resolve_import(m, s, frame.locals.get(func.name, Symbol(func.name)))
    if isinstance(value, LibraryObject):
        return value.name.partition(".")[0] != "torch"
    return isinstance(value, Symbol)
