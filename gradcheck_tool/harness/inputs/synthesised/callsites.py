"""Where the repository calls a Function: which values it passes, and from inside which functions.

Functions that call those functions are callers, too, at one remove.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import torch

from gradcheck_tool.trust.reading import read_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.harness.functions import FunctionRef
    from gradcheck_tool.harness.inputs.synthesised.parameters import Parameter

_MOST_FILES = 400
_Definition = ast.FunctionDef | ast.ClassDef


@dataclass(slots=True)
class CallSite:
    """One call `Function.apply(...)`.

    Attributes:
        filename: of the file that it stands in.
        within: qualified name of the function or method around it; None at the top of the file.
        owner: name of the class around that method; None for plain functions.
        values: position -> values that the call is seen to pass: literals, defaults of the caller.
        types: position -> the annotation of the caller's parameter that the call passes on, as text.
        count: number of positional arguments; None where they are unpacked from something.
        conditions: what an `if` around the call asks for: parameters of the function and of the making of
            its object -> a value with which the call is reached.
        alias: another name that is given to what is called, at the top of the file.
        is_function: the class around is an autograd.Function.
    """

    filename: str
    within: str | None
    owner: str | None
    values: dict[int, list[Any]] = field(default_factory=dict)
    types: dict[int, str] = field(default_factory=dict)
    count: int | None = None
    conditions: dict[str, Any] = field(default_factory=dict)
    alias: str | None = None
    is_function: bool = False


@dataclass(frozen=True, slots=True)
class Called:
    """What is called somewhere: a name, maybe after dots, or `apply` of the Function of this name."""

    name: str
    apply: bool = False

    def matches(self, node: ast.expr, aliases: frozenset[str]) -> bool:
        """Whether an expression stands for it; `aliases` are other names of it or its class."""
        if _last_name(node) in aliases:
            return True
        if not self.apply:
            return _last_name(node) == self.name
        if not isinstance(node, ast.Attribute) or node.attr != "apply":
            return False
        return _last_name(node.value) in {self.name, *aliases}


def call_sites(ref: FunctionRef) -> list[CallSite]:
    """The calls of a Function in its own file and in the package around it, nearest first."""
    return sites_of(Called(ref.qualname.rsplit(".", 1)[-1], apply=True), ref)


def apply_sites(parameters: list[Parameter], sites: Sequence[CallSite]) -> None:
    """Give parameters the values and types that calls pass; drop those of `*args` that no call passes."""
    for site in sites:
        for position, said in site.types.items():
            if position < len(parameters) and parameters[position].annotation is inspect.Parameter.empty:
                parameters[position].annotation = said
        for position, values in site.values.items():
            if position < len(parameters):
                seen = parameters[position].seen
                seen += [value for value in values if repr(value) not in map(repr, seen)]
    counts = {site.count for site in sites if site.count is not None}
    if len(counts) == 1 and parameters and parameters[-1].variable:
        del parameters[max(1, *counts) :]
        for parameter in parameters:
            parameter.variable = False


def callers_of(site: CallSite, ref: FunctionRef) -> list[CallSite]:
    """Where that is called which a call site stands in: a function, a method, or the making of its object."""
    called = _around(site)
    return sites_of(called, ref) if called is not None else []


def _around(site: CallSite) -> Called | None:
    if site.within is None:
        return Called(site.alias) if site.alias is not None else None
    path = site.within.split(".")
    if site.owner is None:
        return Called(path[0])
    if site.is_function:
        return Called(site.owner, apply=True)
    made = path[-1] in ("forward", "__call__", "__init__")
    return Called(site.owner if made else path[-1])


def sites_of(called: Called, ref: FunctionRef) -> list[CallSite]:
    """Its calls in the file of a Function and in the package around that, nearest first."""
    found = []
    for path in _files(ref, called.name):
        tree = _tree(str(path))
        if tree is not None:
            found += list(_sites(tree, called, str(path)))
    return found


def _files(ref: FunctionRef, name: str) -> Iterator[Path]:
    """The file of the Function, then those of its folder, then those of its package that say a name."""
    own = Path(ref.filename)
    yield own
    word = name.encode()
    for path in _around_file(own, Path(ref.root, ref.module.split(".")[0]) if "." in ref.module else None):
        if word in _bytes(str(path)):
            yield path


@lru_cache(maxsize=64)
def _around_file(own: Path, package: Path | None) -> tuple[Path, ...]:
    """The other files of a package, or of a file's folder, those beside the file first."""
    found = (path for path in (package or own.parent).rglob("*.py") if path != own)
    return tuple(sorted(found, key=lambda p: (p.parent != own.parent, p))[:_MOST_FILES])


@lru_cache(maxsize=1024)
def _bytes(path: str) -> bytes:
    try:
        return read_program(Path(path))
    except OSError:
        return b""


@lru_cache(maxsize=64)
def _tree(path: str) -> ast.Module | None:
    try:
        return ast.parse(_bytes(path))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _sites(tree: ast.Module, called: Called, filename: str) -> Iterator[CallSite]:
    """The calls, then the places where it is mentioned otherwise, as what is kept or given on."""
    aliases = frozenset(
        alias
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and (
            called.matches(node.value, frozenset())
            or (called.apply and _last_name(node.value) == called.name)
        )
        for target in node.targets
        if (alias := _last_name(target)) is not None
    )
    calls, others = [], []
    for trail, asked, node in _expressions(tree, (), {}):
        if isinstance(node, ast.Call) and called.matches(node.func, aliases):
            calls.append(_site(node, trail, asked, filename))
        elif not isinstance(node, ast.Call) and called.matches(node, frozenset()):
            others.append(_mention(trail, filename))
    yield from calls
    known = {site.within for site in (*calls, CallSite(filename, None, None))}
    yield from (site for site in others if site.within not in known)
    yield from (CallSite(filename, None, None, alias=alias) for alias in sorted(aliases))


def _mention(trail: tuple[_Definition, ...], filename: str) -> CallSite:
    owner = next((d for d in reversed(trail) if isinstance(d, ast.ClassDef)), None)
    within = ".".join(d.name for d in trail) or None
    return CallSite(
        filename, within, owner.name if owner is not None else None, is_function=_is_function(owner)
    )


def _is_function(owner: ast.ClassDef | None) -> bool:
    """Whether a class is a Function by the look of its bases."""
    return owner is not None and any("Function" in (_last_name(base) or "") for base in owner.bases)


def _last_name(node: ast.AST) -> str | None:
    """`c` of `c` and of `a.b.c`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _expressions(
    node: ast.AST, trail: tuple[_Definition, ...], asked: dict[str, Any]
) -> Iterator[tuple[tuple[_Definition, ...], dict[str, Any], ast.expr]]:
    """Every call, name and attribute, with the definitions around it and what the `if`s around it ask for."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Call, ast.Name, ast.Attribute)):
            yield trail, asked, child
        inner = (*trail, child) if isinstance(child, (ast.FunctionDef, ast.ClassDef)) else trail
        reached = isinstance(node, ast.If) and child in node.body
        more = {**asked, **wanted(node.test)} if isinstance(node, ast.If) and reached else asked
        yield from _expressions(child, inner, more)


def wanted(test: ast.expr) -> dict[str, Any]:
    """Names, `self.name` for attributes, with values for which a test holds; empty where that is not seen."""
    name = _named(test)
    if name is not None:
        return {name: True}
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        name = _named(test.operand)
        return {} if name is None else {name: False}
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return {key: value for part in test.values for key, value in wanted(part).items()}
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.In)):
        name = _named(test.left)
        values = list(_values(test.comparators[0], {}, {}))
        if isinstance(test.ops[0], ast.In):
            values = list(values[0])[:1] if values and isinstance(values[0], (tuple, list)) else []
        return {name: values[0]} if name is not None and values else {}
    return {}


def _named(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f"self.{node.attr}"
    return None


def _site(call: ast.Call, trail: tuple[_Definition, ...], asked: dict[str, Any], filename: str) -> CallSite:
    function = next((d for d in reversed(trail) if isinstance(d, ast.FunctionDef)), None)
    owner = next((d for d in reversed(trail) if isinstance(d, ast.ClassDef)), None)
    within = ".".join(d.name for d in trail) or None
    site = CallSite(filename, within, owner.name if owner is not None else None)
    site.is_function = _is_function(owner)
    known = {**_defaults(function), **_locals(function)} if function is not None else {}
    begin = _begin(owner) if owner is not None else None
    attributes = _attributes(begin) if begin is not None else {}
    types = {**_annotated_attributes(begin), **_annotations(function)}
    site.conditions = {key: value for key, value in asked.items() if not key.startswith("self.")}
    for key, value in asked.items():
        if key.startswith("self.") and begin is not None:
            site.conditions.update(_set_by(begin, key.removeprefix("self."), value))
    if not any(isinstance(argument, ast.Starred) for argument in call.args):
        site.count = len(call.args)
        for position, argument in enumerate(call.args):
            values = list(_values(argument, known, attributes))
            if values:
                site.values[position] = values
            if (name := _named(argument)) in types:
                site.types[position] = types[name]
    return site


def _set_by(begin: ast.FunctionDef, attribute: str, value: Any) -> dict[str, Any]:
    """Parameters of `__init__`, with values, that give an attribute its value."""
    for node in ast.walk(begin):
        if _assigned(node, attribute) and isinstance(node.value, ast.Name):
            return {node.value.id: value}
        if isinstance(node, ast.If) and any(
            _assigned(inner, attribute) and list(_values(inner.value, {}, {})) == [value]
            for inner in node.body
        ):
            return wanted(node.test)
    return {}


def _assigned(node: ast.AST, attribute: str) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and _named(node.targets[0]) == f"self.{attribute}"


def _values(node: ast.expr, known: dict[str, Any], attributes: dict[str, Any]) -> Iterator[Any]:
    """What an argument may be: a literal, a parameter with a default, an attribute set from one."""
    try:
        yield ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        if isinstance(node, ast.Name) and node.id in known:
            yield known[node.id]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            if node.attr in attributes:
                yield attributes[node.attr]
        elif isinstance(node, ast.Call) and len(node.args) == 1:
            for value in _values(node.args[0], known, attributes):
                several = _last_name(node.func) == "tensor" and isinstance(value, list)
                yield torch.tensor(value) if several else value


def _defaults(function: ast.FunctionDef) -> dict[str, Any]:
    """The defaults of a function's parameters that are literals."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(named[len(named) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return {
        argument.arg: value for argument, default in pairs if default for value in _values(default, {}, {})
    }


def _locals(function: ast.FunctionDef) -> dict[str, Any]:
    """The local names of a function that are set once, to a literal or to a tensor of one."""
    given = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
    names = [target.id for node in given for target in node.targets if isinstance(target, ast.Name)]
    return {
        target.id: value
        for node in given
        for target in node.targets
        if isinstance(target, ast.Name) and names.count(target.id) == 1
        for value in _values(node.value, {}, {})
    }


def _annotations(function: ast.FunctionDef | None) -> dict[str | None, str]:
    """The annotations of a function's parameters, as text."""
    arguments = function.args if function is not None else None
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs] if arguments is not None else []
    return {item.arg: ast.unparse(item.annotation) for item in named if item.annotation is not None}


def _annotated_attributes(begin: ast.FunctionDef | None) -> dict[str | None, str]:
    """`self.name` for the attributes that `__init__` sets to annotated parameters, with the annotations."""
    known = _annotations(begin)
    return {
        _named(node.targets[0]): known[node.value.id]
        for node in (ast.walk(begin) if begin is not None else ())
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in known
    }


def _begin(owner: ast.ClassDef) -> ast.FunctionDef | None:
    return next((d for d in owner.body if isinstance(d, ast.FunctionDef) and d.name == "__init__"), None)


def _attributes(begin: ast.FunctionDef) -> dict[str, Any]:
    """Attributes that `__init__` sets to literals or to parameters with defaults."""
    known, found = _defaults(begin), {}
    for node in ast.walk(begin):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            for value in _values(node.value, known, {}):
                found[node.targets[0].attr] = value
    return found
