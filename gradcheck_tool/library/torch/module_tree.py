"""The tree of modules: what counts as one, its children, its parameters, items of containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Dict, Func, Instance
from gradcheck_tool.domain.values import (
    NONE,
    Const,
    LibraryObject,
    Ref,
    Symbol,
    Tup,
    Value,
)
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.iteration import elements
from gradcheck_tool.interp.subscripts import listed_in_table
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.module_names import MODULE_API

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State


SEQUENTIAL = ("torch.nn.Sequential",)


LISTS = ("torch.nn.ModuleList", "torch.nn.ParameterList")


DICTS = ("torch.nn.ModuleDict", "torch.nn.ParameterDict")


WRAPPERS = frozenset(
    {
        "torch.nn.DataParallel",
        "torch.nn.parallel.DataParallel",
        "torch.nn.parallel.DistributedDataParallel",
        "torch.distributed.fsdp.FullyShardedDataParallel",
    }
)


# Marks an object that an entry point's methods are run on: it may be of a subclass, which holds more.
STAND_IN = "#stand-in"


_PLAIN = frozenset(
    {"torch.nn.Parameter", "torch.nn.Module", "torch.nn.Buffer", "torch.nn.UninitializedParameter"}
)


def is_module(s: State, record: Instance) -> bool:
    """Is the object an `nn.Module`?"""
    return makes_modules(s, record.cls)


def makes_modules(s: State, cls: Value) -> bool:
    """Is it `nn.Module`, a layer, or a class that derives from one?"""
    return any(
        (name.startswith("torch.nn.") and name != "torch.nn.Parameter") or name in WRAPPERS
        for name in attributes.lib_bases(s, cls)
    )


def children(s: State, ref: Ref) -> list[tuple[str, Ref]]:
    """Direct sub-modules by name."""
    record: Instance = s[ref]
    out = []
    for name, value in record.attrs.items():
        child = s.get(value, Instance)
        if child is not None and not name.startswith("#") and is_module(s, child):
            out.append((name, value))
    return out  # type: ignore[return-value]


def modules(s: State, ref: Ref) -> list[tuple[str, Ref]]:
    """The module and all below it, by dotted name."""
    seen: dict[int, None] = {}
    out: list[tuple[str, Ref]] = []
    stack: list[tuple[str, Ref]] = [("", ref)]
    while stack:
        name, at = stack.pop()
        if at.id in seen:
            continue
        seen[at.id] = None
        out.append((name, at))
        stack += [(f"{name}.{n}" if name else n, c) for n, c in reversed(children(s, at))]
    return out


def named_parameters(s: State, ref: Ref, recurse: bool = True) -> tuple[list[tuple[str, Ref]], bool]:
    """Parameters by dotted name, and whether there may be more."""
    out: dict[int, tuple[str, Ref]] = {}
    is_open = unseen = False
    for name, at in modules(s, ref) if recurse else [("", ref)]:
        record: Instance = s[at]
        group = record.attrs.get("#group")
        if isinstance(group, Ref):
            out.setdefault(group.id, (f"{name}.*", group))
        is_open = is_open or record.open
        unseen = unseen or STAND_IN in record.attrs
        listed = listed_in_table(record)
        for attr, value in record.attrs.items():
            tensor = s.get(value, Tensor)
            is_listed = tensor is not None and (tensor.is_param or Const(attr) in listed)
            if is_listed and not attr.startswith("#"):
                full = f"{name}.{attr}" if name else attr
                out.setdefault(value.id, (full, value))  # type: ignore[union-attr, arg-type]
            # Where no parameter is known, one of unknown origin may be all there is.
            unseen = unseen or (not attr.startswith("#") and _is_unseen(s, value))
        unseen = unseen or (not out and _is_unfilled(s, record))
    return list(out.values()), is_open or (unseen and not out)


def name_value(s: State, name: str, ref: Ref) -> Value:
    """The name of a parameter as a program gets it: that of one which stands for several is unknown."""
    return Symbol(("parameter-name", name), "str") if s[ref].is_summary else Const(name)


def whole_groups(s: State) -> set[int]:
    """What stands for all parameters of the modules of which only the role is known."""
    return {
        group.id for _, record in s.records(Instance) if isinstance(group := record.attrs.get("#group"), Ref)
    }


def doubt_unlisted_with(s: State, ref: Ref) -> None:
    """The gradient of a parameter, or those of all that a module has, are cleared one by one."""
    tensor: Tensor = s[ref]
    if tensor.is_param and (not tensor.is_summary or ref.id in whole_groups(s)):
        doubt_unlisted(s)


def doubt_unlisted(s: State) -> None:
    """Gradients of a module are cleared: what an optimizer got from something unknown may be of it."""
    groups = [ref for ref, tensor in s.records(Tensor) if tensor.is_summary and tensor.is_param]
    doubted = [ref for ref in groups if s[ref].grad_state not in ("none", "unknown")]
    # Where gradients are cleared one by one, this is asked for each: mostly there is nothing left to doubt.
    whole = whole_groups(s) if doubted else set()
    for ref in doubted:
        if ref.id not in whole:
            s.edit(ref).grad_state = "unknown"


def _is_unfilled(s: State, record: Instance) -> bool:
    """Does its `forward` read an attribute that it does not have? Then others set it, or are to write it."""
    forward = s.get(attributes.in_class(s, record.cls, "forward"), Func)
    if forward is None or not forward.function.params:
        return False
    asked = forward.function.attributes_read(forward.function.params[0].name)
    missing = asked - MODULE_API - record.attrs.keys()
    return any(attributes.in_class(s, record.cls, name) is None for name in missing)


def _is_unseen(s: State, value: Value) -> bool:
    """Is it of unknown origin, or of a class with an unknown base? Then it may be a module."""
    record = s.get(value, Instance)
    cls = s.get(record.cls, Class) if record is not None else None
    return isinstance(value, Symbol) or (cls is not None and cls.open)


def parameters_of(s: State, value: Value) -> tuple[list[Ref], bool]:
    """The parameters in a module, a list of tensors or groups, or one tensor."""
    if s.get(value, Tensor) is not None:
        return [value], False  # type: ignore[list-item]
    record = s.get(value, Instance)
    if record is not None and is_module(s, record):
        found, is_open = named_parameters(s, value)  # type: ignore[arg-type]
        return [r for _, r in found], is_open
    items, is_open = elements(s, value)
    out: list[Ref] = []
    for item in items:
        table = s.get(item, Dict)
        if table is not None:
            more, rest = parameters_of(s, table.items.get(Const("params"), NONE))
        elif isinstance(item, Tup) and len(item.items) == 2 and isinstance(item.items[0], Const):
            more, rest = parameters_of(s, item.items[1])
        elif s.get(item, Tensor) is not None:
            more, rest = [item], False  # type: ignore[list-item]
        else:
            more, rest = [], not isinstance(item, Const)
        out += more
        is_open = is_open or rest
    return out, is_open


def parameters_in(s: State, value: Value) -> list[Ref]:
    """A Parameter itself, or those of a module; those that require grad."""
    tensor = s.get(value, Tensor)
    if tensor is not None:
        return [value] if tensor.is_param and tensor.requires_grad else []  # type: ignore[list-item]
    record = s.get(value, Instance)
    if record is None or not is_module(s, record):
        return []
    return [r for _, r in named_parameters(s, value)[0] if s[r].requires_grad]  # type: ignore[arg-type]


def top_modules(s: State) -> list[Ref]:
    """The modules that are not part of another."""
    found = [ref for ref, record in s.records(Instance) if is_module(s, record)]
    inner = {at.id for ref in found for _, at in modules(s, ref)[1:]}
    return [ref for ref in found if ref.id not in inner]


def methods_read(s: State, cls: Value, name: str) -> bool:
    """Do the methods of a class of the repository, or of its bases, read an attribute of this name?"""
    record = s.get(cls, Class)
    owners = [s.get(entry, Class) for entry in record.mro] if record is not None else []
    methods = [s.get(value, Func) for owner in owners if owner is not None for value in owner.attrs.values()]
    return any(
        isinstance(i, ir.GetAttr) and i.name == name
        for method in methods
        if method is not None
        for block in method.function.blocks.values()
        for i in block.instrs
    )


# Layers that compute something else while they are trained.
_MODAL = (
    "Dropout",
    "BatchNorm",
    "SyncBatchNorm",
    "Transformer",
    "AlphaDropout",
    "FeatureAlphaDropout",
    "RReLU",
)


def is_modal(s: State, ref: Ref) -> bool | None:
    """Does the module itself compute something else in training? None for one of an unknown kind."""
    record: Instance = s[ref]
    if not isinstance(record.cls, LibraryObject):
        # An object of which not all is known may have parts that do.
        return methods_read(s, record.cls, "training") or (None if "#group" in record.attrs else False)
    name = record.cls.name.rpartition(".")[2]
    if name == "Module":
        return None
    return name.startswith(_MODAL) or record.attrs.get("dropout") not in (None, Const(0))


def container_items(s: State, ref: Ref) -> list[Value] | None:
    """The elements of a Sequential, ModuleList or ParameterList; the keys of a ModuleDict."""
    record: Instance = s[ref]
    names = attributes.lib_bases(s, record.cls)
    if any(n in SEQUENTIAL or n in LISTS for n in names):
        return [v for k, v in record.attrs.items() if not k.startswith("#") and _is_element(s, k, v)]
    if is_mapping(s, record):
        return [Const(k) for k, v in record.attrs.items() if not k.startswith("#") and k != "training"]
    return None


def _is_element(s: State, key: str, value: Value) -> bool:
    if key == "training":
        return False
    inner = s.get(value, Instance)
    return key.isdigit() or (inner is not None and is_module(s, inner)) or s.get(value, Tensor) is not None


def is_mapping(s: State, record: Instance) -> bool:
    """Is the object a ModuleDict or a ParameterDict?"""
    return any(n in DICTS for n in attributes.lib_bases(s, record.cls))


def mapped(record: Instance, key: Value) -> Value | None:
    """What a ModuleDict or ParameterDict holds under a key, if that is known."""
    return record.attrs.get(key.value) if isinstance(key, Const) and isinstance(key.value, str) else None


def set_container_item(s: State, ref: Ref, index: Value, value: Value) -> None:
    """`container[index] = value`."""
    record: Instance = s[ref]
    names = attributes.lib_bases(s, record.cls)
    if any(n in DICTS for n in names) and isinstance(index, Const):
        s.edit(ref).attrs[str(index.value)] = value
    elif any(n in SEQUENTIAL or n in LISTS for n in names) and isinstance(index, Const):
        count = len(container_items(s, ref) or ())
        at = index.value if index.value >= 0 else count + index.value
        s.edit(ref).attrs[str(at)] = value
    elif any(n in LISTS or n in DICTS for n in names):
        s.edit(ref).open = True
