"""One function for each instruction: what it does to a state.

It returns None when the state simply continues (perhaps with `exc` set), or the list of states it became.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Dict, Frame, Func, Instance, List
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import NONE, Const, LibraryObject, Ref, Slice, Symbol, Tup, Value, unknown
from gradcheck_tool.interp import attributes, calls, classes, operators, subscripts
from gradcheck_tool.interp import iteration as iterate
from gradcheck_tool.interp.exceptions import exception_matches, may_raise_unseen
from gradcheck_tool.interp.facts import AttributeRead, AttributeWritten, Compared, NameBound, Used
from gradcheck_tool.interp.folding import fold
from gradcheck_tool.interp.imports import import_value, resolve_import, star_names
from gradcheck_tool.interp.names import BUILTINS
from gradcheck_tool.interp.naming import name_after
from gradcheck_tool.interp.packs import in_model
from gradcheck_tool.interp.registry import MANAGERS
from gradcheck_tool.interp.unpacking import unpack as unpack_value
from gradcheck_tool.ir import nodes as ir

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.interp.api import Interpreter, Outcomes

States = list[State] | None


def _bind(m: Interpreter, dst: int, pairs: Outcomes) -> list[State]:
    states = []
    for state, value in pairs:
        if state.exc is None:
            m.set(state, dst, value)
        states.append(state)
    return states


def const(m: Interpreter, s: State, i: ir.Const) -> States:
    m.set(s, i.dst, Const(i.value))
    return None


def load_name(m: Interpreter, s: State, i: ir.LoadName) -> States:
    m.set(s, i.dst, lookup(m, s, i.name, i.scope))
    return None


def lookup(m: Interpreter, s: State, name: str, scope: ir.Scope) -> Value:
    """The value of a variable as the running function sees it; unknown where it is unbound."""
    return resolve_import(m, s, _bound(s, name, scope))


def _bound(s: State, name: str, scope: ir.Scope) -> Value:
    frame: Frame = s[s.frames[-1]]
    if scope in (ir.Scope.LOCAL, ir.Scope.CLASS):
        local = frame.locals.get(name)
        if local is not None:
            return local
    if scope in (ir.Scope.FREE, ir.Scope.CLASS):
        parent = frame.parent
        while parent is not None:
            enclosing = s.fixed(parent)
            if enclosing.function.kind is not ir.FunctionKind.CLASS:
                captured = s.variable(parent, name)
                if captured is not None:
                    return captured
            parent = enclosing.parent
    if scope is ir.Scope.LOCAL and frame.function.kind is not ir.FunctionKind.MODULE:
        return unknown()
    value = s.variable(frame.env.globals, name)
    if value is not None:
        return value
    if name in BUILTINS:
        return LibraryObject(f"builtins.{name}")
    return Symbol(("global", frame.env.dotted, name))


def store_name(m: Interpreter, s: State, i: ir.StoreName) -> States:
    value = m.get(s, i.src)
    before = s
    if type(value) is Symbol and value.kind is None and m.program.refinement is not None:
        s, value = m.program.refinement.variable(s, i.name, value, i.node)
    if isinstance(value, (Ref, Tup)) and not in_model(s):
        name_after(s, value, i.name)
        if isinstance(value, Ref) and s.get(value, Tensor) is not None:
            m.tell(s, NameBound(value, i))
    s.edit(_owner(s, i.name, i.scope)).locals[i.name] = value
    return None if s is before else [s]


def _owner(s: State, name: str, scope: ir.Scope) -> Ref:
    """The frame whose variable a store binds."""
    frame: Frame = s[s.frames[-1]]
    if scope is ir.Scope.GLOBAL:
        return frame.env.globals  # type: ignore[no-any-return]
    if scope is ir.Scope.FREE:
        parent = frame.parent
        while parent is not None:
            enclosing: Frame = s[parent]
            if (
                name in enclosing.function.local_names
                and enclosing.function.kind is not ir.FunctionKind.CLASS
            ):
                return parent
            parent = enclosing.parent
    return s.frames[-1]


def del_name(m: Interpreter, s: State, i: ir.DelName) -> States:
    s.edit(_owner(s, i.name, i.scope)).locals.pop(i.name, None)
    return None


def get_attr(m: Interpreter, s: State, i: ir.GetAttr) -> States:
    obj = m.get(s, i.obj)
    pairs = attributes.get(m, s, obj, i.name, m.site(s, i.node))
    if len(pairs) == 1 and type(obj) is Ref and _is_unknown_attribute(pairs[0][1], obj, i.name):
        if s.get(obj, Instance) is not None:
            pairs = [_inherited(m, s, obj, i)]
    if type(obj) is Ref and not in_model(s):
        state, value = pairs[0] if pairs else (s, NONE)
        m.tell(state, AttributeRead(obj, value, i))
    return _bind(m, i.dst, pairs)


def _is_unknown_attribute(value: Value, obj: Ref, name: str) -> bool:
    """Does a value say no more than which attribute of the object it is?"""
    return type(value) is Symbol and value.key == ("attr", obj, name)


def _inherited(m: Interpreter, s: State, obj: Ref, i: ir.GetAttr) -> tuple[State, Value]:
    """An attribute that a base class out of sight has given an object: what its uses show."""
    unknown_yet = Symbol(("attr", obj, i.name))
    if m.program.refinement is None:
        return s, unknown_yet
    state, value = m.program.refinement.attribute(s, obj, i.name, unknown_yet, i.node)
    if value != unknown_yet:
        state.edit(obj).attrs[i.name] = value
    return state, value


def set_attr(m: Interpreter, s: State, i: ir.SetAttr) -> States:
    obj, value, site = m.get(s, i.obj), m.get(s, i.src), m.site(s, i.node)
    if type(value) is Symbol and value.kind is None and m.program.refinement is not None:
        if s.get(obj, Instance) is not None:
            s, value = m.program.refinement.attribute(s, obj, i.name, value, i.node)
    m.tell(s, AttributeWritten(obj, i.name, value, site, None if in_model(s) else i))
    return attributes.put(m, s, obj, i.name, value, site, i.augmented)


def del_attr(m: Interpreter, s: State, i: ir.DelAttr) -> States:
    attributes.delete(m, s, m.get(s, i.obj), i.name, m.site(s, i.node))
    return None


def get_item(m: Interpreter, s: State, i: ir.GetItem) -> States:
    return _bind(m, i.dst, subscripts.get(m, s, m.get(s, i.obj), m.get(s, i.index), m.site(s, i.node)))


def set_item(m: Interpreter, s: State, i: ir.SetItem) -> States:
    obj, index, value, site = m.get(s, i.obj), m.get(s, i.index), m.get(s, i.src), m.site(s, i.node)
    return subscripts.put(m, s, obj, index, value, site, m.label(s, i.node), i.augmented)


def del_item(m: Interpreter, s: State, i: ir.DelItem) -> States:
    subscripts.delete(m, s, m.get(s, i.obj), m.get(s, i.index))
    return None


def build_slice(m: Interpreter, s: State, i: ir.BuildSlice) -> States:
    parts = [None if reg is None else m.get(s, reg) for reg in (i.lower, i.upper, i.step)]
    m.set(s, i.dst, Slice(*parts))
    return None


def call(m: Interpreter, s: State, i: ir.Call) -> States:
    out: list[State] = []
    if may_raise_unseen(m, s, i):
        other = s.fork()
        other.exc = unknown()
        out.append(other)
    return _bind(m, i.dst, calls.instruction(m, s, i)) + out


def bin_op(m: Interpreter, s: State, i: ir.BinOp) -> States:
    left, right = m.get(s, i.left), m.get(s, i.right)
    results = operators.binary(m, s, i.op, left, right, m.site(s, i.node), m.label(s, i.node))
    return _bind(m, i.dst, results)


def inplace_op(m: Interpreter, s: State, i: ir.InplaceOp) -> States:
    left, right = m.get(s, i.left), m.get(s, i.right)
    results = operators.inplace(m, s, i.op, left, right, m.site(s, i.node), m.label(s, i.node))
    return _bind(m, i.dst, results)


def unary_op(m: Interpreter, s: State, i: ir.UnaryOp) -> States:
    value = m.get(s, i.value)
    return _bind(m, i.dst, operators.unary(m, s, i.op, value, m.site(s, i.node), m.label(s, i.node)))


def compare(m: Interpreter, s: State, i: ir.Compare) -> States:
    left, right = m.get(s, i.left), m.get(s, i.right)
    if not in_model(s):
        m.tell(s, Compared(i))
    return _bind(m, i.dst, operators.compare(m, s, i.op, left, right, m.site(s, i.node), m.label(s, i.node)))


def _elements(m: Interpreter, s: State, items: list[tuple[int, bool]]) -> tuple[list[Value], bool]:
    values: list[Value] = []
    is_open = False
    for reg, starred in items:
        value = m.get(s, reg)
        if not starred:
            values.append(value)
            continue
        more, rest = iterate.elements(s, value)
        values += more
        is_open = is_open or rest
    return values, is_open


def build_tuple(m: Interpreter, s: State, i: ir.BuildTuple) -> States:
    values, is_open = _elements(m, s, i.items)
    m.set(s, i.dst, Tup(tuple(values), open=is_open))
    return None


def build_list(m: Interpreter, s: State, i: ir.BuildList) -> States:
    values, is_open = _elements(m, s, i.items)
    m.set(s, i.dst, s.new(List(values, is_open)))
    return None


def build_set(m: Interpreter, s: State, i: ir.BuildSet) -> States:
    values, is_open = _elements(m, s, i.items)
    m.set(s, i.dst, s.new(List(dict.fromkeys(values), is_open, "set")))
    return None


def build_dict(m: Interpreter, s: State, i: ir.BuildDict) -> States:
    record = Dict()
    for key, reg in i.items:
        value = m.get(s, reg)
        if key is not None:
            record.items[m.get(s, key)] = value
            continue
        other = s.get(value, Dict)
        if other is None:
            record.open = True
        else:
            record.items.update(other.items)
            record.open = record.open or other.open
    m.set(s, i.dst, s.new(record))
    return None


def append(m: Interpreter, s: State, i: ir.Append) -> States:
    container = m.get(s, i.container)
    if s.get(container, List) is not None:
        s.edit(container).items.append(m.get(s, i.value))  # type: ignore[arg-type]
    return None


def insert_item(m: Interpreter, s: State, i: ir.InsertItem) -> States:
    container = m.get(s, i.container)
    if s.get(container, Dict) is not None:
        s.edit(container).items[m.get(s, i.key)] = m.get(s, i.value)  # type: ignore[arg-type]
    return None


def format_string(m: Interpreter, s: State, i: ir.Format) -> States:
    texts = []
    for part in i.parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        value = m.get(s, part)
        if not isinstance(value, Const):
            m.set(s, i.dst, unknown("str"))
            return None
        texts.append(str(value.value))
    text = fold("".join, texts)
    m.set(s, i.dst, text if isinstance(text, Const) else unknown("str"))
    return None


def copy(m: Interpreter, s: State, i: ir.Copy) -> States:
    m.set(s, i.dst, m.get(s, i.src))
    return None


def unpack(m: Interpreter, s: State, i: ir.Unpack) -> States:
    return unpack_value(m, s, m.get(s, i.src), i.dsts, i.star, m.site(s, i.node))


def get_iter(m: Interpreter, s: State, i: ir.GetIter) -> States:
    if not in_model(s):
        m.tell(s, Used(m.get(s, i.src), "loop", m.site(s, i.node)))
    return _bind(m, i.dst, iterate.make(m, s, m.get(s, i.src), m.site(s, i.node)))


def import_(m: Interpreter, s: State, i: ir.Import) -> States:
    m.set(s, i.dst, import_value(m, s, i))
    return None


def import_star(m: Interpreter, s: State, i: ir.ImportStar) -> States:
    frame = s.edit(s.frames[-1])
    for name, value in star_names(m, s, i.module, i.level).items():
        frame.locals[name] = value
    return None


def make_function(m: Interpreter, s: State, i: ir.MakeFunction) -> States:
    frame: Frame = s[s.frames[-1]]
    defaults = {name: m.get(s, reg) for name, reg in i.defaults.items()}
    m.set(s, i.dst, s.new(Func(i.function, s.frames[-1], defaults, frame.env)))
    return None


def make_class(m: Interpreter, s: State, i: ir.MakeClass) -> States:
    return _bind(m, i.dst, classes.make(m, s, i))


def enter_with(m: Interpreter, s: State, i: ir.EnterWith) -> States:
    manager, site = m.get(s, i.manager), m.site(s, i.node)
    if not in_model(s):
        m.tell(s, Used(manager, "with", site))
    if isinstance(manager, LibraryObject) and manager.name in MANAGERS:
        m.raise_exception(s, "TypeError")
        return None
    return _bind(m, i.dst, m.enter(s, manager, site))


def exit_with(m: Interpreter, s: State, i: ir.ExitWith) -> States:
    exc = None if i.exc is None else m.get(s, i.exc)
    return _bind(m, i.dst, m.leave(s, m.get(s, i.manager), exc, m.site(s, i.node)))


def catch(m: Interpreter, s: State, i: ir.Catch) -> States:
    m.set(s, i.dst, s.exc if s.exc is not None else unknown())
    s.exc = None
    return None


def match_exception(m: Interpreter, s: State, i: ir.MatchException) -> States:
    m.set(s, i.dst, exception_matches(s, m.get(s, i.exc), m.get(s, i.kind)))
    return None


def await_(m: Interpreter, s: State, i: ir.Await) -> States:
    m.set(s, i.dst, m.get(s, i.value))
    return None


def match_test(m: Interpreter, s: State, i: ir.MatchTest) -> States:
    value = m.get(s, i.subject)
    for index, reg in enumerate(i.captures):
        key = i.keys[index] if index < len(i.keys) else None
        m.set(s, reg, classes.capture(s, value, i.kind, key, index))
    m.set(s, i.dst, unknown("bool"))
    return None


def opaque(m: Interpreter, s: State, i: ir.Opaque) -> States:
    m.set(s, i.dst, unknown())
    return None


TRANSFER: dict[type, Callable[[Any, State, Any], States]] = {
    ir.Const: const,
    ir.LoadName: load_name,
    ir.StoreName: store_name,
    ir.DelName: del_name,
    ir.GetAttr: get_attr,
    ir.SetAttr: set_attr,
    ir.DelAttr: del_attr,
    ir.GetItem: get_item,
    ir.SetItem: set_item,
    ir.DelItem: del_item,
    ir.BuildSlice: build_slice,
    ir.Call: call,
    ir.BinOp: bin_op,
    ir.InplaceOp: inplace_op,
    ir.UnaryOp: unary_op,
    ir.Compare: compare,
    ir.BuildTuple: build_tuple,
    ir.BuildList: build_list,
    ir.BuildSet: build_set,
    ir.BuildDict: build_dict,
    ir.Append: append,
    ir.InsertItem: insert_item,
    ir.Format: format_string,
    ir.Copy: copy,
    ir.Unpack: unpack,
    ir.GetIter: get_iter,
    ir.Import: import_,
    ir.ImportStar: import_star,
    ir.MakeFunction: make_function,
    ir.MakeClass: make_class,
    ir.EnterWith: enter_with,
    ir.ExitWith: exit_with,
    ir.Catch: catch,
    ir.MatchException: match_exception,
    ir.Await: await_,
    ir.MatchTest: match_test,
    ir.Opaque: opaque,
}
