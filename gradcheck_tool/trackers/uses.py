"""What the text does with names and methods: rules on style judge it once for each place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import (
    DroppedResult,
    ExhaustedParameters,
    FlagWrite,
    GradModeMisuse,
    MethodUse,
    NameUse,
    Site,
    UncalledMethod,
)
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Frame, Generator, Instance, Iter
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Bound,
    Const,
    LibraryObject,
    Method,
    Ref,
    Symbol,
    Tup,
    Value,
)
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.places import chain_owner, is_loaded, receiver_text, text_of
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir import syntax

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter

MODES = frozenset({"torch.no_grad", "torch.enable_grad", "torch.inference_mode"})
SWITCH = Symbol("#switched-off")


def receiver_kind(s: State, value: Value) -> str:
    """The kind of an object in the words of `MethodUse`."""
    from gradcheck_tool.library.torch.model_names import model_names
    from gradcheck_tool.library.torch.module_tree import is_module

    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Tensor):
        return "tensor"
    if not isinstance(record, Instance):
        return "unknown"
    if record.cls == LibraryObject("#ctx"):
        return "context"
    if record.cls == LibraryObject("torch.amp.GradScaler"):
        return "scaler"
    if is_module(s, record):
        return "module"
    names = model_names(s, value)
    if "scheduler" in names:
        return "scheduler"
    return "optimizer" if "torch.optim.Optimizer" in names else "unknown"


def _mark(s: State, value: Value) -> object:
    """What tells kinds of objects apart, found faster than the kind."""
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    return record.cls if isinstance(record, Instance) else type(record)


def _first(m: Interpreter, *key: object) -> bool:
    """Is it the first time for this key in the run?"""
    if key in m.noted:
        return False
    m.noted.add(key)
    return True


def note_call(
    m: Interpreter, s: State, func: Value, i: ir.Call, kwargs: dict[str, Value], unsure: bool
) -> None:
    """Tell what a call instruction calls, and whether its result is thrown away."""
    if isinstance(func, LibraryObject):
        _note_name(m, s, func, i, kwargs, unsure)
    elif isinstance(func, Method) and _first(m, id(i), func.name, _mark(s, func.receiver)):
        _note_method(m, s, func, i, kwargs, unsure)
    elif isinstance(func, Symbol) and _is_attribute(func) and _first(m, id(i), "unknown"):
        site = m.site(s, i.node)
        name = func.key[2]  # type: ignore[index]
        _emit_method(m, site, "unknown", name, _keywords(kwargs, unsure))


def _emit_method(m: Interpreter, site: Site, kind: str, name: str, keywords: tuple[str, ...]) -> None:
    subject = receiver_text(site)
    m.emit(MethodUse(site=site, receiver=kind, subject=subject, name=name, called=True, keywords=keywords))


def _is_attribute(func: Symbol) -> bool:
    return isinstance(func.key, tuple) and len(func.key) == 3 and func.key[0] == "attr"


def _keywords(kwargs: dict[str, Value], unsure: bool) -> tuple[str, ...]:
    return (*kwargs, "**") if unsure else tuple(kwargs)


def _note_name(
    m: Interpreter, s: State, func: LibraryObject, i: ir.Call, kwargs: dict[str, Value], unsure: bool
) -> None:
    if func.name == "torch.set_grad_enabled":
        _note_switch(m, s, i)
    if func.name.startswith("builtins.") or not _first(m, id(i), func.name):
        return
    site = m.site(s, i.node)
    m.emit(NameUse(site=site, name=func.name, called=True, keywords=_keywords(kwargs, unsure)))
    if func.name in MODES and not m.places.is_read(_function(s), i.dst):
        m.emit(GradModeMisuse(site=site, kind="bare", call=text_of(site, i.node)))


def _note_method(
    m: Interpreter, s: State, func: Method, i: ir.Call, kwargs: dict[str, Value], unsure: bool
) -> None:
    kind = receiver_kind(s, func.receiver)
    site = m.site(s, i.node)
    _emit_method(m, site, kind, func.name, _keywords(kwargs, unsure))
    if kind == "tensor" and not m.places.is_read(_function(s), i.dst):
        owner = chain_owner(site)
        if owner:
            m.emit(DroppedResult(site=site, tensor=owner, call=text_of(site, i.node), name=func.name))


def _function(s: State) -> ir.Function:
    return s[s.frames[-1]].function  # type: ignore[no-any-return]


def note_attribute(m: Interpreter, s: State, obj: Value, value: Value, i: ir.GetAttr) -> None:
    """Tell what `obj.name` reads: a method that is not called, or an attribute of a tensor or context."""
    if isinstance(value, (Method, Bound)):
        if not m.places.is_read(_function(s), i.dst) and _first(m, id(i), "uncalled", _mark(s, obj)):
            site = m.site(s, i.node)
            m.emit(
                UncalledMethod(
                    site=site, receiver=receiver_kind(s, obj), subject=receiver_text(site), name=i.name
                )
            )
        return
    _note_attribute(m, s, obj, i)


def _note_attribute(m: Interpreter, s: State, obj: Value, i: ir.GetAttr | ir.SetAttr) -> None:
    record = s.heap.get(obj.id) if isinstance(obj, Ref) else None
    known = isinstance(record, Tensor) or (
        isinstance(record, Instance) and record.cls == LibraryObject("#ctx")
    )
    if known and _first(m, id(i), _mark(s, obj)):
        site = m.site(s, i.node)
        kind = receiver_kind(s, obj)
        m.emit(MethodUse(site=site, receiver=kind, subject=receiver_text(site), name=i.name))


def note_store(m: Interpreter, s: State, obj: Value, i: ir.SetAttr) -> None:
    """Tell of `obj.name = value`: an attribute that a tensor or module does not have is of no effect."""
    from gradcheck_tool.trackers.registration import note_replaced

    record = s.heap.get(obj.id) if isinstance(obj, Ref) else None
    if isinstance(record, Tensor):
        _note_attribute(m, s, obj, i)
        if i.name == "requires_grad" and Symbol(("state-dict", obj)) in s.memory:
            if m.get(s, i.src) == FALSE and _first(m, id(i), "flag"):
                _flag(m, s, "state-dict", i)
        elif i.name not in _SETTABLE and _first(m, id(i), "flag"):
            _flag(m, s, "tensor", i)
    elif isinstance(record, Instance) and i.name in record.attrs:
        note_replaced(m, s, record.attrs[i.name], m.get(s, i.src), m.site(s, i.node))
    elif isinstance(record, Instance) and _is_foreign(s, obj, record, i.name) and _first(m, id(i), "flag"):
        _flag(m, s, "module", i)


def note_comparison(m: Interpreter, s: State, i: ir.Compare) -> None:
    """Tell of `p.requires_grad == False` as a statement."""
    site = m.site(s, i.node)
    left = getattr(site.node, "left", None)
    if not isinstance(left, syntax.Attribute) or left.attr.value != "requires_grad":
        return
    if not m.places.is_read(_function(s), i.dst) and _first(m, id(i), "flag"):
        subject = text_of(site, left.value)
        m.emit(FlagWrite(site=site, receiver="compared", subject=subject, name="requires_grad"))


def note_rebound(m: Interpreter, s: State, i: ir.StoreName, value: Value) -> None:
    """Tell of `p = p.detach()` for a parameter, where nothing reads the name any more."""
    tensor = s.get(value, Tensor)
    source = s.get(tensor.base, Tensor) if tensor is not None and tensor.view == "detached" else None
    if tensor is None or source is None or not (source.is_param and source.leaf and source.requires_grad):
        return
    itself = receiver_text(tensor.site) == i.name
    if itself and not is_loaded(_function(s), i) and _first(m, id(i), "flag"):
        m.emit(FlagWrite(site=m.site(s, i.node), receiver="rebound", subject=i.name, name="detach"))


_SETTABLE = frozenset({"requires_grad", "grad", "data", "names", "_grad", "_version", "_backward_hooks"})


def _flag(m: Interpreter, s: State, receiver: str, i: ir.SetAttr) -> None:
    site = m.site(s, i.node)
    m.emit(FlagWrite(site=site, receiver=receiver, subject=receiver_text(site), name=i.name))


def _is_foreign(s: State, obj: Value, record: Instance, name: str) -> bool:
    """Is it a module whose class is all known, does not define the name, and does not run now?"""
    from gradcheck_tool.library.torch.module_tree import is_module

    cls = s.get(record.cls, Class)
    if record.open or (cls is not None and cls.open) or not is_module(s, record):
        return False
    frame: Frame = s[s.frames[-1]]
    runs = frame.cls != NONE and frame.receiver == obj
    return not runs and attributes.in_class(s, record.cls, name) is None


def note_exhausted(m: Interpreter, s: State, value: Value, site: Site, use: str) -> None:
    """Something goes through parameters: is it an iterator of them that has been gone through already?"""
    if not _is_exhausted(m, s, value) or not _first(m, id(site.node), "exhausted"):
        return
    text = text_of(site, site.node.args[0].value if use == "clip" else site.node)
    call = text_of(site, site.node) if use == "clip" else f"for ... in {text}"
    m.emit(ExhaustedParameters(site=site, iterator=text, call=call, use=use))


def _is_exhausted(m: Interpreter, s: State, value: Value) -> bool:
    """Is it an iterator of parameters at its end?"""
    generator = s.get(value, Generator)
    if generator is not None:
        return generator.block is None and ("parameters", value) in m.noted
    record = s.get(value, Iter)
    if record is None or record.kind != "drained":
        return False
    items = record.parts[0].items if record.parts and isinstance(record.parts[0], Tup) else ()
    last = items[-1] if items else None
    tensor = s.get(last.items[-1] if isinstance(last, Tup) and last.items else last, Tensor)
    return tensor is not None and tensor.is_param


def note_manager(m: Interpreter, s: State, manager: Value, i: ir.EnterWith) -> bool:
    """Tell of `with torch.no_grad:`. True where Python raises, because a class is no manager."""
    if not isinstance(manager, LibraryObject) or manager.name not in MODES:
        return False
    site = m.site(s, i.node)
    if _first(m, id(i), "manager"):
        m.emit(GradModeMisuse(site=site, kind="not-called", call=text_of(site, i.node)))
    return True


# -- a switch that is left off ------------------------------------------------------------------------


class Switch:
    """A statement `torch.set_grad_enabled(False)`: where it is, and which modules its function ran."""

    def __init__(self, site: Site, frame: Ref) -> None:
        self.site = site
        self.frame = frame
        self.ran: set[int] = set()


def _note_switch(m: Interpreter, s: State, i: ir.Call) -> None:
    s.memory.pop(SWITCH, None)
    off = bool(i.args) and m.get(s, i.args[0].value) == FALSE
    if off and _function(s).kind is not ir.FunctionKind.MODULE and not m.places.is_read(_function(s), i.dst):
        m.switches.append(Switch(m.site(s, i.node), s.frames[-1]))
        s.memory[SWITCH] = Const(len(m.switches) - 1)


def note_forward(m: Interpreter, s: State, module: Ref) -> None:
    """A module runs: in training mode, after the function that switched gradients off, that is a leak.

    Only modules that the function ran itself are looked at: it evaluated them, and they go on training.
    """
    if s.grad is not False or SWITCH not in s.memory:
        return
    switch: Switch = m.switches[s.memory[SWITCH].value]  # type: ignore[union-attr]
    if switch.frame in s.frames:
        switch.ran.add(module.id)
    elif (
        module.id in switch.ran
        and s[module].attrs.get("training") == TRUE
        and _first(m, id(switch.site.node), "leak")
    ):
        m.emit(
            GradModeMisuse(
                site=switch.site, kind="never-restored", call=text_of(switch.site, switch.site.node)
            )
        )


def note_enable(m: Interpreter, s: State, site: Any) -> None:
    """Gradients are switched on inside inference mode."""
    if s.inference and site is not None and _first(m, id(site.node), "inference"):
        m.emit(GradModeMisuse(site=site, kind="enable-in-inference", call=text_of(site, site.node)))
