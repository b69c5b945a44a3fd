"""Rewritings of names: variables, definitions, attributes, what is imported."""

from __future__ import annotations

import builtins
import keyword
from typing import Any

import libcst as cst

from tests.rewriting.base import (
    each,
    expression,
    has,
    nodes,
    rewriting,
    statement,
    text,
    with_imports,
)

_KEPT = {"self", "cls", "__name__", *dir(builtins)}
# Of these names the library knows what they are.
_KNOWN_ATTRIBUTES = {"weight", "bias", "grad", "data", "training", "requires_grad", "automatic_optimization"}
_MODULES = (
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.optim",
    "torch.autograd",
    "torch.utils.checkpoint",
)


def _is_dynamic(module: cst.Module) -> bool:
    """May names be looked up by their text?"""
    texts = {"globals", "locals", "exec", "eval", "getattr", "setattr", "vars"}
    return any(name.value in texts for name in nodes(module, cst.Name))


def _renamed(module: cst.Module, names: dict[str, str]) -> cst.Module:
    """Other names for variables: everywhere but in attributes, keywords of calls and imports."""

    class Rename(cst.CSTTransformer):
        def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:  # noqa: N802
            return updated_node.with_changes(attr=original_node.attr)

        def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:  # noqa: N802
            return updated_node.with_changes(keyword=original_node.keyword)

        def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:  # noqa: N802
            return False

        def visit_Import(self, node: cst.Import) -> bool:  # noqa: N802
            return False

        def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:  # noqa: N802
            return updated_node.with_changes(value=names.get(updated_node.value, updated_node.value))

    return module.visit(Rename())


def _imported_names(module: cst.Module) -> set[str]:
    found: set[str] = set()
    for alias in nodes(module, cst.ImportAlias):
        name = alias.asname.name if alias.asname else alias.name
        found.add(text(name).split(".")[0])
    return found


def _defined_names(module: cst.Module) -> set[str]:
    return {one.name.value for one in nodes(module, cst.FunctionDef, cst.ClassDef)}


def _class_names(module: cst.Module) -> set[str]:
    """Variables of class bodies, which are attributes."""
    lines = [line for one in nodes(module, cst.ClassDef) for line in one.body.body]
    plain = [line for line in lines if isinstance(line, cst.SimpleStatementLine)]
    return {name.value for line in plain for name in nodes(line, cst.Name)}


def _keywords(module: cst.Module) -> set[str]:
    return {arg.keyword.value for arg in nodes(module, cst.Arg) if arg.keyword is not None}


def _variables(module: cst.Module) -> set[str]:
    targets = [one.target for one in nodes(module, cst.AssignTarget, cst.For, cst.CompFor, cst.NamedExpr)]
    names = {name.value for target in targets for name in nodes(target, cst.Name) if _is_bound(target)}
    return names | {param.name.value for param in nodes(module, cst.Param)}


def _is_bound(target: Any) -> bool:
    return isinstance(target, (cst.Name, cst.Tuple, cst.List)) and not has(
        target, cst.Attribute, cst.Subscript
    )


@rewriting
def renamed_variables(module: cst.Module) -> cst.Module:
    if _is_dynamic(module):
        return module
    fixed = (
        _KEPT | _imported_names(module) | _defined_names(module) | _class_names(module) | _keywords(module)
    )
    names = {name: f"v_{name}" for name in _variables(module) - fixed if not name.startswith("__")}
    return _renamed(module, names)


@rewriting
def renamed_to_short_names(module: cst.Module) -> cst.Module:
    """Names that say nothing of what they are for."""
    if _is_dynamic(module):
        return module
    fixed = (
        _KEPT | _imported_names(module) | _defined_names(module) | _class_names(module) | _keywords(module)
    )
    found = sorted(name for name in _variables(module) - fixed if not name.startswith("__"))
    return _renamed(module, {name: f"a{number}" for number, name in enumerate(found)})


@rewriting
def renamed_definitions(module: cst.Module) -> cst.Module:
    """Functions and classes of the module, as far as no method has the name."""
    if _is_dynamic(module):
        return module
    at_top = [one for one in module.body if isinstance(one, (cst.FunctionDef, cst.ClassDef))]
    inner = {
        one.name.value for top in at_top for child in top.children for one in nodes(child, cst.FunctionDef)
    }
    fixed = _KEPT | _imported_names(module) | inner | _variables(module) | _keywords(module)
    return _renamed(
        module, {one.name.value: f"d_{one.name.value}" for one in at_top if one.name.value not in fixed}
    )


@rewriting
def renamed_attributes(module: cst.Module) -> cst.Module:
    """Attributes that methods give to `self`."""
    if _is_dynamic(module):
        return module
    set_on_self = {
        one.target.attr.value
        for one in nodes(module, cst.AssignTarget)
        if isinstance(one.target, cst.Attribute) and text(one.target.value) == "self"
    }
    strings = {one.value.strip("\"'") for one in nodes(module, cst.SimpleString)}
    fixed = _KNOWN_ATTRIBUTES | strings | _class_names(module) | _defined_names(module)
    names = {name: f"m_{name}" for name in set_on_self - fixed if not name.startswith("_")}

    def change(node: cst.Attribute, around: Any) -> cst.Attribute:
        name = names.get(node.attr.value, node.attr.value)
        return node.with_changes(attr=cst.Name(name))

    return each(module, cst.Attribute, change)


@rewriting
def aliased_imports(module: cst.Module) -> cst.Module:
    """`import torch as t`, `from torch import nn as layers`."""
    names: dict[str, str] = {}
    dotted = {text(one.name).split(".")[0] for one in nodes(module, cst.ImportAlias) if "." in text(one.name)}
    plain = [
        one
        for line in nodes(module, cst.Import, cst.ImportFrom)
        if not isinstance(line.names, cst.ImportStar) and "__future__" not in text(line)
        for one in line.names
    ]
    for one in plain:
        local = text(one.asname.name) if one.asname else text(one.name)
        if "." not in local and not (one.asname is None and local in dotted):
            names[local] = f"i_{local}"
    bound = _variables(module) | _defined_names(module)
    names = {old: new for old, new in names.items() if old not in bound and not keyword.iskeyword(old)}

    def change(node: cst.ImportAlias, around: Any) -> cst.ImportAlias:
        local = text(node.asname.name) if node.asname else text(node.name)
        if local not in names:
            return node
        return node.with_changes(asname=cst.AsName(cst.Name(names[local])))

    return each(_renamed(module, names), cst.ImportAlias, change)


def _imports_torch(module: cst.Module) -> bool:
    return any(line.partition("#")[0].strip() == "import torch" for line in module.code.splitlines())


@rewriting
def names_from_modules(module: cst.Module) -> cst.Module:
    """`from torch.optim import SGD` for `torch.optim.SGD`."""
    found: dict[str, str] = {}
    taken = _variables(module) | _defined_names(module) | _imported_names(module) | set(dir(builtins))

    def change(node: cst.Attribute, around: Any) -> Any:
        owner = text(node.value)
        name = node.attr.value
        is_owner = isinstance(around[-1], cst.Attribute) and f"{owner}.{name}" in _MODULES
        known = owner in _MODULES and f"{owner}.{name}" not in _MODULES and not is_owner
        if not known or name in taken or "torch" in taken & _variables(module) or owner.count("_"):
            return node
        found[name] = owner
        return cst.Name(name, lpar=node.lpar, rpar=node.rpar)

    changed = each(
        module, cst.Attribute, change, skip=lambda node: isinstance(node, (cst.Import, cst.ImportFrom))
    )
    if not _imports_torch(module) or len(set(found)) != len(found):
        return module
    return with_imports(
        module, changed, *(f"from {owner} import {name}" for name, owner in sorted(found.items()))
    )


@rewriting
def qualified_names(module: cst.Module) -> cst.Module:
    """`torch.nn.Linear` for `nn.Linear`, `torch.nn.functional.relu` for `F.relu`."""
    code = "".join(line.partition("#")[0].rstrip() + "\n" for line in module.code.splitlines())
    full: dict[str, str] = {}
    if "from torch import nn\n" in code or "import torch.nn as nn\n" in code:
        full["nn"] = "torch.nn"
    if "import torch.nn.functional as F\n" in code or "from torch.nn import functional as F\n" in code:
        full["F"] = "torch.nn.functional"
    if not full or full.keys() & (_variables(module) | _defined_names(module)):
        return module

    def skip(node: cst.CSTNode) -> bool:
        return isinstance(node, (cst.Import, cst.ImportFrom))

    def only_owner(node: cst.Attribute, around: Any) -> cst.Attribute:
        name = node.value.value if isinstance(node.value, cst.Name) else ""
        return node.with_changes(value=expression(full[name])) if name in full else node

    changed = each(module, cst.Attribute, only_owner, skip=skip)
    return with_imports(module, changed, "import torch", "import torch.nn.functional")


@rewriting
def imports_where_they_are_used(module: cst.Module) -> cst.Module:
    """Each function that uses `torch` imports it."""
    if not _imports_torch(module):
        return module

    def change(node: cst.FunctionDef, around: Any) -> cst.FunctionDef:
        if not any(name.value == "torch" for name in nodes(node.body, cst.Name)):
            return node
        body = node.body
        if not isinstance(body, cst.IndentedBlock):
            return node
        return node.with_changes(body=body.with_changes(body=[statement("import torch"), *body.body]))

    return each(module, cst.FunctionDef, change)


@rewriting
def attributes_by_their_text(module: cst.Module) -> cst.Module:
    """`getattr(self, "f")(y)` for `self.f(y)`."""

    def change(node: cst.Call, around: Any) -> cst.Call:
        func = node.func
        if (
            not isinstance(func, cst.Attribute)
            or text(func.value) != "self"
            or func.attr.value.startswith("__")
        ):
            return node
        return node.with_changes(func=expression(f"getattr(self, '{func.attr.value}')"))

    return each(module, cst.Call, change)
