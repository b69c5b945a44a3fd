"""Where a file uses names, and whether gradients are recorded there."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from gradcheck_tool.session.differentiating import differentiating
from gradcheck_tool.session.read_out import read_out_calls
from gradcheck_tool.session.scopes import last_name

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_WITHOUT_GRAD = frozenset({"inference_mode", "no_grad"})


@dataclass(frozen=True, slots=True)
class Arguments:
    """How many arguments a call passes by position, and which by name."""

    positions: int
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a function takes: `names` by position, of which the first `needed` have no default.

    `by_name` are those that it takes by name only; with `more_positions` and `more_names` it takes any.
    """

    names: tuple[str, ...]
    needed: int
    by_name: frozenset[str]
    more_positions: bool
    more_names: bool

    def take(self, given: Arguments) -> bool:
        """Can a function with these parameters be called so?"""
        if given.positions > len(self.names) and not self.more_positions:
            return False
        if given.names - self.by_name - set(self.names) and not self.more_names:
            return False
        return given.names.issuperset(self.names[given.positions : self.needed])


@dataclass(frozen=True, slots=True)
class Use:
    """A place where a file mentions a name.

    Attributes:
        receiver: the last name of what it is an attribute of; None for a plain name.
        cls: the class around, if any.
        function: the function around, if any.
        without: no gradients are recorded there, whoever calls the function around.
        is_called: is what it names called there?
        given: the arguments that it is called with, as far as all of them are known.
        is_read_out: is it called for a loss of which only the number is used?
        differentiates: does the function around compute gradients, or what it names of its file?
    """

    receiver: str | None = None
    cls: str = ""
    function: str = ""
    without: bool = False
    is_called: bool = False
    given: Arguments | None = None
    is_read_out: bool = False
    differentiates: bool = False


@dataclass(slots=True)
class Uses:
    """What a file mentions, by name.

    Attributes:
        named: the places.
        kept: names, and the names of what is stored under them or passed for parameters of these names, or
            of what is called to make that.
        defined: the functions and classes at its top level.
        functions: what those at its top level take, and methods by their class.
    """

    named: dict[str, list[Use]] = field(default_factory=dict)
    kept: list[tuple[str, str]] = field(default_factory=list)
    defined: frozenset[str] = frozenset()
    functions: dict[tuple[str, str], Parameters] = field(default_factory=dict)

    def kept_as(self, known: set[str]) -> set[str]:
        """The names under which a file keeps what is called by a known name, or made by calling one."""
        return {name for name, made_of in self.kept if made_of in known}


class ReadUses:
    """The uses in the texts of files, each of which is read once."""

    def __init__(self) -> None:
        self._known: dict[bytes, Uses | None] = {}

    def of(self, text: bytes) -> Uses | None:
        """The uses of all names in a file; None where it is not Python."""
        if text not in self._known:
            try:
                self._known[text] = uses_of(ast.parse(text))
            except (SyntaxError, ValueError, RecursionError):
                self._known[text] = None
        return self._known[text]


def uses_of(tree: ast.Module) -> Uses:
    """The uses of all names in a file."""
    found = Uses(defined=frozenset(each.name for each in tree.body if isinstance(each, _DEFINITIONS)))
    reader = _Reader(found, read_out_calls(tree), differentiating(tree))
    reader.read(tree, Use(without=_switches_off(tree)))
    return found


class _Reader:
    """Reads a tree, with the surroundings of each part of it."""

    def __init__(self, found: Uses, read_out: set[ast.Call], differentiating: set[str]) -> None:
        self._found = found
        self._read_out = read_out
        self._differentiating = differentiating

    def read(self, node: ast.AST, around: Use) -> None:
        self._keep(node)
        if isinstance(node, ast.ClassDef):
            around = replace(around, cls=node.name)
        elif isinstance(node, _FUNCTIONS):
            # What a function does depends on where it is called, unless its decorator decides.
            self._found.functions[around.cls, node.name] = _parameters(node, is_method=bool(around.cls))
            without = any(map(_is_without_grad, node.decorator_list)) or _switches_off(node)
            differentiates = around.differentiates or node.name in self._differentiating
            around = replace(around, function=node.name, without=without, differentiates=differentiates)
        elif isinstance(node, ast.Lambda):
            around = replace(around, without=False)
        elif isinstance(node, ast.With):
            without = around.without or any(_is_without_grad(item.context_expr) for item in node.items)
            around = replace(around, without=without)
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name | ast.Attribute):
                self._mention(node.func, around, call=node)
                self._go_on(node.func, around)
            else:
                self.read(node.func, around)
            for argument in (*node.args, *node.keywords):
                self.read(argument, around)
            return
        elif isinstance(node, ast.expr):
            self._mention(node, around)
        self._go_on(node, around)

    def _go_on(self, node: ast.AST, around: Use) -> None:
        """Read the parts of what has been read itself."""
        # What an attribute is read of is not called or handed on itself.
        while isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            node = node.value
        for child in ast.iter_child_nodes(node):
            self.read(child, around)

    def _mention(self, node: ast.expr, around: Use, call: ast.Call | None = None) -> None:
        if isinstance(node, ast.Name):
            name, receiver = node.id, None
        elif isinstance(node, ast.Attribute):
            name, receiver = node.attr, last_name(node.value)
        else:
            return
        if not isinstance(node.ctx, ast.Load):
            return
        given = _given(call) if call is not None else None
        use = replace(
            around,
            receiver=receiver,
            is_called=call is not None,
            given=given,
            is_read_out=call in self._read_out,
        )
        self._found.named.setdefault(name, []).append(use)

    def _keep(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            made_of = _made_of(node.value)
            self._found.kept += [(last_name(each), made_of) for each in node.targets if last_name(each)]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._found.kept.append((last_name(node.target), _made_of(node.value)))
        elif isinstance(node, ast.keyword) and node.arg is not None:
            self._found.kept.append((node.arg, _made_of(node.value)))


def _given(call: ast.Call) -> Arguments | None:
    names = [each.arg for each in call.keywords if each.arg is not None]
    if len(names) < len(call.keywords) or any(isinstance(each, ast.Starred) for each in call.args):
        return None
    return Arguments(len(call.args), frozenset(names))


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef, *, is_method: bool) -> Parameters:
    """What a function takes; a method without its object."""
    found = function.args
    is_bound = is_method and not any(last_name(each) == "staticmethod" for each in function.decorator_list)
    names = tuple(each.arg for each in (*found.posonlyargs, *found.args))[is_bound:]
    return Parameters(
        names,
        len(names) - len(found.defaults),
        frozenset(each.arg for each in found.kwonlyargs),
        found.vararg is not None,
        found.kwarg is not None,
    )


def _made_of(value: ast.expr) -> str:
    """The name of what an expression hands on, or calls to make its value."""
    while isinstance(value, ast.Call | ast.Await):
        value = value.func if isinstance(value, ast.Call) else value.value
        if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Call):
            value = value.value
    return last_name(value)


def _switches_off(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Does a statement of its body switch recording off, and none switch it on again?"""
    calls = [each.value for each in node.body if isinstance(each, ast.Expr)]
    switches = [
        call for call in calls if isinstance(call, ast.Call) and last_name(call.func) == "set_grad_enabled"
    ]
    return bool(switches) and all(map(_is_without_grad, switches))


def _is_without_grad(node: ast.expr) -> bool:
    func = node.func if isinstance(node, ast.Call) else node
    if isinstance(node, ast.Call) and last_name(func) == "set_grad_enabled":
        return len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value is False
    return last_name(func) in _WITHOUT_GRAD
