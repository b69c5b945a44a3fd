"""What the annotation of a parameter names: a class of the repository, or one of a library."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from gradcheck_tool.analysis.class_fit import module_classes
from gradcheck_tool.analysis.ordinary_use import is_module_class
from gradcheck_tool.domain.records import Class, Func
from gradcheck_tool.domain.values import LibraryObject, Ref
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.functions import is_abstract
from gradcheck_tool.ir import syntax as cst

if TYPE_CHECKING:
    from gradcheck_tool.analysis.evidence import Evidence, Place
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value

_OPTIONAL = frozenset({"Optional", "Annotated", "Final"})
_WRAPPED = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel"})


def named_class(evidence: Evidence, s: State, place: Place, annotation: Any) -> Value | None:
    """The class that an annotation names, also as `Optional[Net]`, `Net | None` or `"Net"`."""
    path = None if annotation is None else _path(annotation)
    value = None if path is None else evidence.named(s, place, path)
    is_class = isinstance(value, LibraryObject) or s.get(value, Class) is not None
    return value if is_class else None


def role_of(s: State, cls: Value) -> str:
    """What objects of a class are: `module`, `optimizer`, `data`, `scaler`, or '' for others."""
    if isinstance(cls, Ref):
        return "module" if is_module_class(s, cls) else ""
    name = cls.name if isinstance(cls, LibraryObject) else ""
    if name == "torch.nn.Module" or name in _WRAPPED:
        return "module"
    if name.startswith("torch.optim.") and "lr_scheduler" not in name:
        return "optimizer"
    if name == "torch.utils.data.DataLoader":
        return "data"
    return "scaler" if name.endswith(".GradScaler") else ""


def is_whole(s: State, cls: Ref) -> bool:
    """Has a class of modules a `forward` of its own, and does no class in sight derive from it?"""
    forward = attributes.in_class(s, cls, "forward")
    func = None if forward is None else s.get(attributes.innermost(s, forward), Func)
    if func is None or is_abstract(func.function):
        return False
    return not any(ref != cls and cls in record.mro for ref, record in module_classes(s))


def _path(node: Any) -> str | None:
    """The dotted name in an annotation; None for those that name several classes, or none."""
    if isinstance(node, cst.Name):
        return str(node.value)
    if isinstance(node, cst.Attribute):
        owner = _path(node.value)
        return None if owner is None else f"{owner}.{node.attr.value}"
    if isinstance(node, cst.SimpleString):
        return _of_text(str(node.value))
    if isinstance(node, cst.Subscript) and (_path(node.value) or "").rpartition(".")[2] in _OPTIONAL:
        inner = node.slice[0].slice
        return _path(inner.value) if isinstance(inner, cst.Index) else None
    if isinstance(node, cst.BinaryOperation):
        sides = [_path(side) for side in (node.left, node.right)]
        named = [side for side in sides if side != "None"]
        return named[0] if len(named) == 1 else None
    return None


def _of_text(literal: str) -> str | None:
    """The dotted name that a string holds."""
    text = ast.literal_eval(literal)
    is_name = isinstance(text, str) and all(part.isidentifier() for part in text.split("."))
    return text if is_name else None
