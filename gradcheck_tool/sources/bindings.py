"""Which names a program reads where nothing binds them, and which it binds where nothing reads them."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import warnings
from collections import Counter
from functools import lru_cache

# What a star import binds is not known; what is executed or loaded as text may bind anything.
_STAR = re.compile(r"^\s*from\s+[\w.]+\s+import\s*\(?\s*\*", re.MULTILINE)
_GIVEN = frozenset((*dir(builtins), "__file__", "__path__", "__builtins__", "__class__", "__annotations__"))

# A scope by the names of those around it, and a name.
Unbound = tuple[str, str]


@lru_cache(maxsize=4)
def unbound_names(text: str) -> frozenset[Unbound] | None:
    """The names that are read and bound nowhere in sight, each with the scope that reads it.

    `super` without a method around it is one of them: without arguments, it has to be in one.

    Returns:
        None where that cannot be told: the text is no Python, or imports all names of a module.
    """
    if _STAR.search(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = symtable.symtable(text, "<program>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: set[Unbound] = set()
    bound = {symbol.get_name() for symbol in table.get_symbols() if _is_bound(symbol)}
    _collect(table, "", bound | _declared(table), False, found)
    return frozenset(found)


def binds_as_much(before: str, after: str) -> bool:
    """Does no scope of a changed program read more unbound names than before, as far as is known?"""
    old, new = unbound_names(before), unbound_names(after)
    if old is None or new is None:
        return True
    return not Counter(scope for scope, _ in new - old) - Counter(scope for scope, _ in old - new)


def binds_no_more_in_vain(before: str, after: str) -> bool:
    """Does a changed program rebind no more variables of loops that are not read after that?"""
    return not _in_vain(after) - _in_vain(before)


@lru_cache(maxsize=4)
def _in_vain(text: str) -> Counter[str]:
    """The variables of loops that the last statement about them rebinds: the next iteration does so, too."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Counter()
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.AsyncFor)]
    return Counter(name for loop in loops for name in _last_bound(loop))


def _last_bound(loop: ast.For | ast.AsyncFor) -> set[str]:
    given = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    last = {}
    for statement in loop.body:
        for name in given & _names(statement):
            last[name] = statement
    return {name for name, statement in last.items() if _binds_alone(statement, name)}


def _binds_alone(statement: ast.stmt, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id == name


def _names(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def _collect(
    table: symtable.SymbolTable, around: str, bound: set[str], in_method: bool, found: set[Unbound]
) -> None:
    path = f"{around}.{table.get_name()}"
    for symbol in table.get_symbols():
        name = symbol.get_name()
        if not symbol.is_referenced():
            continue
        is_global = table.get_type() == "module" or symbol.is_global()
        if (is_global and name not in bound and name not in _GIVEN) or (name == "super" and not in_method):
            found.add((path, name))
    for child in table.get_children():
        is_method = in_method or (table.get_type() == "class" and child.get_type() == "function")
        _collect(child, path, bound, is_method, found)


def _is_bound(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _declared(table: symtable.SymbolTable) -> set[str]:
    """The names that functions declare to be global and bind."""
    found: set[str] = set()
    for child in table.get_children():
        found |= {
            symbol.get_name()
            for symbol in child.get_symbols()
            if symbol.is_declared_global() and _is_bound(symbol)
        }
        found |= _declared(child)
    return found
