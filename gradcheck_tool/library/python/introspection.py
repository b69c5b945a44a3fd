"""Questions about objects: `isinstance`, `hasattr`, `getattr`, `type`."""

from __future__ import annotations

import builtins
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Dict, Func, Generator, Instance, Iter, List
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Bound,
    Const,
    LibraryObject,
    Method,
    Partial,
    Ref,
    Slice,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.engine import optable
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.facts import AttributeWritten
from gradcheck_tool.interp.imports import module_variables, resolve_import
from gradcheck_tool.interp.models import model_of
from gradcheck_tool.interp.packs import member, resolved
from gradcheck_tool.interp.registry import Result, function, lib_name, method
from gradcheck_tool.interp.subscripts import MOST_CHOICES, one_of
from gradcheck_tool.library.torch.layer_bases import derives
from gradcheck_tool.library.torch.module_names import MODULE_ATTRIBUTES
from gradcheck_tool.library.torch.module_tree import STAND_IN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter

# Bases that give objects no attributes of their own.
_WITHOUT_ATTRIBUTES = frozenset({"abc.ABC", "builtins.object", "typing.Generic"})


@function("builtins.isinstance")
def isinstance_(m: Interpreter, s: State, call: Call) -> Result:
    if len(call.args) != 2:
        return unknown("bool")
    return _instance_answer(s, call.args[0], resolved(m, s, call.args[1], call.site))


@function("torch.is_tensor")
def is_tensor(m: Interpreter, s: State, call: Call) -> Result:
    return _instance_answer(s, call.get(0, "obj") or NONE, LibraryObject("torch.Tensor"))


def _instance_answer(s: State, value: Value, kind: Value) -> Value:
    answer = _instance_of(s, value, kind)
    return Symbol(("isinstance", value, kind), "bool") if answer is None else Const(answer)


_TENSOR_CLASSES = ("torch.Tensor", "torch.autograd.Variable")


def _instance_of(s: State, value: Value, kind: Value) -> bool | None:
    if isinstance(kind, Tup):
        answers = [_instance_of(s, value, k) for k in kind.items]
        return True if True in answers else None if None in answers else False
    name = lib_name(kind)
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Tensor):
        if name == "torch.nn.Parameter":
            return record.is_param
        if name == "torch.nn.UninitializedParameter" and record.is_param and record.shape is None:
            return None
        return name in _TENSOR_CLASSES if name.startswith(("torch.", "builtins.", "numpy.")) else None
    if isinstance(record, Instance):
        return _object_is(s, record, kind, name)
    python = _python_type(s, value, record)
    if python is None:
        return None
    theirs = getattr(builtins, name.removeprefix("builtins."), None) if name.startswith("builtins.") else None
    if isinstance(theirs, type):
        return issubclass(python, theirs)
    return False if name.startswith(("torch.", "numpy.")) or isinstance(kind, Ref) else None


def _object_is(s: State, record: Instance, kind: Value, name: str) -> bool | None:
    from gradcheck_tool.library.torch.module_tree import is_module

    cls = s.get(record.cls, Class)
    if cls is not None and kind in cls.mro:
        return True
    if record.cls == kind:
        return True
    if name == "torch.nn.Module":
        return is_module(s, record)
    if name == "torch.optim.Optimizer":
        return lib_name(record.cls).startswith("torch.optim.")
    if any(derives(base, name) for base in attributes.lib_bases(s, record.cls)):
        return True
    if isinstance(record.cls, LibraryObject) and name.startswith("torch.nn."):
        return False
    if name in _TENSOR_CLASSES or name.startswith("builtins."):
        return False
    return None if (cls is not None and cls.open) or record.open else False


def _python_type(s: State, value: Value, record: Any) -> type | None:
    if isinstance(value, Const):
        return type(value.value)
    if isinstance(value, Tup):
        return tuple
    if isinstance(record, List):
        return {"list": list, "set": set}.get(record.kind)
    if isinstance(record, Dict):
        return dict
    if isinstance(record, (Iter, Generator)):
        return range if isinstance(record, Iter) and record.kind == "range" else GeneratorType
    if isinstance(value, Slice):
        return slice
    return int if isinstance(value, Symbol) and value.kind == "int" else None


@function("builtins.hasattr")
def hasattr_(m: Interpreter, s: State, call: Call) -> Result:
    value, name = ([*call.args, NONE, NONE])[:2]
    asked = Symbol(("call", "hasattr", (value, name)), "bool")
    if isinstance(value, Const) and isinstance(name, Const):
        # Numbers and texts have what Python gives them.
        return TRUE if hasattr(value.value, str(name.value)) else FALSE
    record, tensor = s.get(value, Instance), s.get(value, Tensor)
    if isinstance(value, LibraryObject) and isinstance(name, Const):
        # What is modelled is in PyTorch as it is modelled.
        return TRUE if optable.find(f"{value.name}.{name.value}") is not None else asked
    if not isinstance(name, Const) or (record is None and tensor is None):
        return asked
    if model_of(s, value).has(s, value, str(name.value)):
        return TRUE
    if record is None:
        return asked
    if name.value in record.attrs or attributes.in_class(s, record.cls, str(name.value)) is not None:
        return TRUE
    return FALSE if _lacks(s, record, str(name.value)) else asked


def _lacks(s: State, record: Instance, name: str) -> bool:
    """Has an object of the repository certainly no attribute of this name?

    What a class of a library gives it is known of modules alone. An object that stands for others may have
    what other code gives those.
    """
    if record.open or not isinstance(record.cls, Ref) or name in record.attrs:
        return False
    if attributes.in_class(s, record.cls, name) is not None:
        return False
    bases = {base for base in attributes.lib_bases(s, record.cls) if base not in _WITHOUT_ATTRIBUTES}
    is_made = STAND_IN not in record.attrs and name not in MODULE_ATTRIBUTES
    return not bases or (bases == {"torch.nn.Module"} and is_made)


@function("builtins.getattr")
def getattr_(m: Interpreter, s: State, call: Call) -> Result:
    value, name = ([*call.args, NONE, NONE])[:2]
    if isinstance(value, LibraryObject):
        return member(m, s, value, name, call.site) or unknown()
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return _member(m, s, value, name) or unknown()
    if len(call.args) > 2:
        record = s.get(value, Instance)
        if record is not None and not record.open and isinstance(record.cls, Ref):
            if name.value not in record.attrs and attributes.in_class(s, record.cls, name.value) is None:
                return call.args[2] if _lacks(s, record, name.value) else unknown()
        if isinstance(value, Symbol):
            return Symbol(("attr", value, name.value))
    return attributes.get(m, s, value, name.value, call.site)


def _member(m: Interpreter, s: State, module: Value, name: Value) -> Result | None:
    """One of the few classes and functions of a module of the repository, by a name that is not known."""
    variables = module_variables(s, module)
    if variables is None or not isinstance(name, Symbol):
        return None
    public = [value for key, value in variables.locals.items() if not str(key).startswith("_")]
    values = dict.fromkeys(resolve_import(m, s, value) for value in public)
    found = [value for value in values if s.get(value, Class) or s.get(value, Func)]
    if not 0 < len(found) <= MOST_CHOICES:
        return None
    return one_of(m, s, Symbol(("attr", module, name)), found)


@function("builtins.setattr")
def setattr_(m: Interpreter, s: State, call: Call) -> Result:
    return _set(m, s, call.args[0], call.args[1:], call.site) if call.args else NONE


@method("builtins.object", "__setattr__")
def set_own(m: Interpreter, s: State, call: Call) -> Result:
    """`self.__setattr__(name, value)`, which is `setattr` where no class of the program does it."""
    return _set(m, s, call.receiver, call.args, call.site)


def _set(m: Interpreter, s: State, obj: Value, given: Sequence[Value], site: Any) -> Result:
    """Set an attribute of an object; where its name is not known, the object may have any."""
    if len(given) < 2 or not isinstance(given[0], Const):
        if s.get(obj, Instance) is not None:
            s.edit(obj).open = True  # type: ignore[arg-type]
        return NONE
    name, value = str(given[0].value), given[1]
    m.tell(s, AttributeWritten(obj, name, value, site))
    states = attributes.put(m, s, obj, name, value, site, False)
    return [(state, NONE) for state in states]


@function("builtins.delattr")
def delattr_(m: Interpreter, s: State, call: Call) -> Result:
    if len(call.args) == 2 and isinstance(call.args[1], Const):
        attributes.delete(m, s, call.args[0], str(call.args[1].value), call.site)
    return NONE


@function("builtins.eval", "builtins.__import__", "importlib.import_module", "pydoc.locate")
def looked_up(m: Interpreter, s: State, call: Call) -> Result:
    """Something of which only a text tells what it is."""
    return unknown()


@function("builtins.vars")
def vars_(m: Interpreter, s: State, call: Call) -> Result:
    """What a class has of its own, to read; of an object nothing is told."""
    given = call.args[0] if call.args else NONE
    record = s.get(given, Class)
    if record is None and given != LibraryObject("builtins.object"):
        return unknown()
    own = record.attrs if record is not None else {}
    return s.new(Dict({Const(name): value for name, value in own.items() if not name.startswith("#")}))


@function("builtins.dir")
def dir_(m: Interpreter, s: State, call: Call) -> Result:
    """The names of what an object of the program has, and its classes for it; there may be others."""
    record = s.get(call.args[0], Instance) if call.args else None
    classes = s.get(record.cls, Class) if record is not None else None
    if record is None or classes is None:
        return unknown("data")
    owners = [own for own in (s.get(entry, Class) for entry in classes.mro) if own is not None]
    tables = [record.attrs, *(own.attrs for own in owners)]
    names = {name for table in tables for name in table if not name.startswith("#")}
    return s.new(List([Const(name) for name in sorted(names)], open=record.open or classes.open))


@function("builtins.callable")
def callable_(m: Interpreter, s: State, call: Call) -> Result:
    value = call.args[0] if call.args else NONE
    if (
        isinstance(value, (LibraryObject, Bound, Method, Partial))
        or s.get(value, Func)
        or s.get(value, Class)
    ):
        return TRUE
    return FALSE if isinstance(value, (Const, Tup)) else Symbol(("call", "callable", (value,)), "bool")


@function("builtins.type")
def type_(m: Interpreter, s: State, call: Call) -> Result:
    given = call.args[0] if len(call.args) == 1 else None
    record = s.heap.get(given.id) if isinstance(given, Ref) else None
    if isinstance(record, Tensor):
        return LibraryObject("torch.nn.Parameter" if record.is_param else "torch.Tensor")
    return record.cls if isinstance(record, Instance) else unknown("data")
