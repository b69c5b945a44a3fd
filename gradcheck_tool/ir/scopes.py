"""Which variable a name means, decided as Python's compiler does: from all bindings of a function.

A binding anywhere in a function makes the name local everywhere in it, so names are resolved after
the whole module is lowered: the builder notes every access, and `resolve` sets its `scope`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gradcheck_tool.ir.nodes import DelName, Function, FunctionKind, LoadName, Scope, StoreName

Access = LoadName | StoreName | DelName

# Whoever calls these may read every variable of the function by name.
_READS_ALL_NAMES = frozenset({"locals", "vars", "dir", "eval", "exec"})

_OWN_SCOPE = {FunctionKind.MODULE: Scope.GLOBAL, FunctionKind.CLASS: Scope.CLASS}


@dataclass(slots=True, eq=False)
class ScopeTable:
    """What one function binds, declares and accesses, and the tables of the functions in it."""

    function: Function
    bound: set[str] = field(default_factory=set)
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)
    accesses: list[Access] = field(default_factory=list)
    children: list[ScopeTable] = field(default_factory=list)
    captured: set[str] = field(default_factory=set)

    def own_names(self) -> set[str]:
        """Names that live in this function itself."""
        return self.bound - self.global_names - self.nonlocal_names


def resolve(module: ScopeTable) -> None:
    """Set the scope of every access in `module`, and each function's `local_names` and `captured`."""
    global_reads: set[str] = set()
    _resolve(module, {}, global_reads)
    module.captured |= global_reads
    module.function.captured = frozenset(module.captured & module.bound)


def resolve_later(table: ScopeTable, around: ScopeTable) -> None:
    """Resolve a function of a module or class body that is lowered after them."""
    enclosing = _seen_from_inside(around, set(), {}) if around.children else {}
    _resolve(table, enclosing, set())


def _resolve(table: ScopeTable, enclosing: dict[str, ScopeTable], global_reads: set[str]) -> None:
    """Resolve `table` where `enclosing` maps each name of the functions around it to its owner."""
    function = table.function
    own = table.own_names()
    own_scope = _OWN_SCOPE.get(function.kind, Scope.LOCAL)
    found: dict[str, Scope] = {}
    for access in table.accesses:
        name = access.name
        scope = found.get(name)
        if scope is None:
            scope = found[name] = _scope_of(name, table, own, own_scope, enclosing)
            if scope is Scope.FREE and name in enclosing:
                enclosing[name].captured.add(name)
            elif scope is Scope.GLOBAL and function.kind is not FunctionKind.MODULE:
                global_reads.add(name)
        access.scope = scope
    inner = _seen_from_inside(table, own, enclosing)
    for child in table.children:
        _resolve(child, inner, global_reads)
    if not _READS_ALL_NAMES.isdisjoint(found):
        table.captured |= own
    if "super" in found and function.params:
        table.captured.add(function.params[0].name)  # `super()` reads it
    function.local_names = frozenset(own)
    function.captured = frozenset(table.captured)


def _scope_of(
    name: str, table: ScopeTable, own: set[str], own_scope: Scope, enclosing: dict[str, ScopeTable]
) -> Scope:
    if name in own:
        return own_scope
    if name in table.global_names:
        return Scope.GLOBAL
    if name in table.nonlocal_names or name in enclosing:
        return Scope.FREE
    return Scope.GLOBAL


def _seen_from_inside(
    table: ScopeTable, own: set[str], enclosing: dict[str, ScopeTable]
) -> dict[str, ScopeTable]:
    """What the functions inside `table` find around them. The names of a class body are not seen."""
    kind = table.function.kind
    if not table.children or kind is FunctionKind.MODULE:
        return enclosing
    if kind is FunctionKind.CLASS:
        return {**enclosing, "__class__": table}
    inner = {**enclosing, **dict.fromkeys(own, table)}
    for name in table.global_names:
        inner.pop(name, None)
    return inner


def mangle(name: str, class_name: str | None) -> str:
    """The private name that `__name` means inside class `class_name`."""
    if class_name is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    stripped = class_name.lstrip("_")
    return f"_{stripped}{name}" if stripped else name
