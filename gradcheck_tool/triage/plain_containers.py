"""Whether a method may keep modules or parameters in a list or dictionary of `self`, judged by its text."""

from __future__ import annotations

import ast
import builtins

from gradcheck_tool.triage.syntax import statements_in

_DISPLAYS = (
    ast.List,
    ast.ListComp,
    ast.Tuple,
    ast.Dict,
    ast.DictComp,
    ast.Set,
    ast.SetComp,
    ast.GeneratorExp,
)
_MAKERS = frozenset(
    {"list", "dict", "tuple", "set", "zip", "map", "OrderedDict", "defaultdict", "deque", "cycle"}
)
_ADDERS = frozenset({"append", "extend", "insert", "update", "setdefault", "add", "appendleft"})
_REGISTER = frozenset({"ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"})
_PLAIN = frozenset(dir(builtins)) | _MAKERS


def keeps_in_plain_container(method: ast.AST, makers: frozenset[str] = frozenset()) -> bool:
    """May an attribute of `self` be a container that something like a module was put into?

    `makers` are functions and methods of the file that give such a container.
    """
    found = _Containers(makers)
    for statement in statements_in(method):
        found.see(statement)
    return bool(found.filled & found.kept)


def gives_plain_container(function: ast.AST) -> bool:
    """May a function return a container that something was put into?"""
    found = _Containers()
    for statement in statements_in(function):
        if isinstance(statement, ast.Return) and found.is_filled(statement.value):
            return True
        found.see(statement)
    return False


class _Containers:
    """Variables and attributes (`self.x`) that hold containers, by what the statements so far say.

    `filled` are those that got something that a call made, `kept` those that an attribute holds.
    """

    def __init__(self, makers: frozenset[str] = frozenset()) -> None:
        self._makers = _MAKERS | makers
        self._containers: set[str] = set()
        self.filled: set[str] = set()
        self.kept: set[str] = set()

    def see(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._assigned(target, statement.value)
        elif isinstance(statement, ast.AnnAssign | ast.AugAssign) and statement.value is not None:
            self._assigned(statement.target, statement.value)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if isinstance(call.func, ast.Attribute) and call.func.attr in _ADDERS:
                name = _name(call.func.value)
                if name in self._containers and any(map(self._is_made, call.args)):
                    self.filled.add(name)

    def is_filled(self, value: ast.expr | None) -> bool:
        """May it be a container with something in it?"""
        if value is None or not self._is_container(value):
            return False
        return _name(value) in self.filled or (not _name(value) and self._is_made(value))

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Subscript):
            if _name(target.value) in self._containers and self._is_made(value):
                self.filled.add(_name(target.value))
            return
        name = _name(target)
        if "." in name and self._hands_on(value):
            self.filled.add(name)
            self.kept.add(name)
        if not name or not self._is_container(value):
            return
        self._containers.add(name)
        if self._is_made(value):
            self.filled.add(name)
        if "." in name:
            self.kept |= {name, _name(value)}

    def _hands_on(self, value: ast.expr) -> bool:
        """Is an object made that is given such a container, and may keep it as it is?"""
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
            return False
        made = value.func.id
        given = [*value.args, *(keyword.value for keyword in value.keywords)]
        return made[:1].isupper() and made not in _REGISTER and any(map(self.is_filled, given))

    def _is_container(self, value: ast.expr) -> bool:
        if isinstance(value, _DISPLAYS):
            return True
        if isinstance(value, ast.Call):
            func = value.func
            return (func.attr if isinstance(func, ast.Attribute) else _name(func)) in self._makers
        if isinstance(value, ast.IfExp):
            return self._is_container(value.body) or self._is_container(value.orelse)
        if isinstance(value, ast.BinOp):
            return self._is_container(value.left) or self._is_container(value.right)
        if isinstance(value, ast.BoolOp):
            return any(map(self._is_container, value.values))
        return _name(value) in self._containers

    def _is_made(self, value: ast.expr) -> bool:
        """May there be a module or parameter in it: the result of a call, or a variable?"""
        return isinstance(value, ast.Name) or any(map(self._makes, ast.walk(value)))

    def _makes(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.filled
        if not isinstance(node, ast.Call):
            return False
        func = node.func
        if isinstance(func, ast.Name):
            return func.id not in _PLAIN
        if isinstance(func, ast.Attribute):
            return func.attr[:1].isupper() or _name(func.value) == "self"
        return True


def _name(node: ast.expr) -> str:
    """`x` or `self.x`; '' for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f"self.{node.attr}"
    return ""
