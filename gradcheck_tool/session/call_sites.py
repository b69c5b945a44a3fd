"""What the files of a repository pass to the functions and constructors of others, read off their texts.

A call shows what a parameter is: an object of a class, an optimizer, data. Names are followed to what is
stored under them in the same function, class or file, through functions that make it, and through imports.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.given import Given
from gradcheck_tool.cache.caches import CALLERS, HAVING
from gradcheck_tool.ir.files import is_called_like_tests
from gradcheck_tool.session.scopes import Scope, last_name, scopes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gradcheck_tool.session.modules import ModuleCache
    from gradcheck_tool.session.repository import Repository

# How many files with calls are read, and how far a value is followed.
MOST_FILES = 8
DEPTH = 4
# What hands on the module that it is called on, or given.
_SAME = frozenset({"cpu", "cuda", "double", "eval", "float", "half", "requires_grad_", "to", "train"})
_WRAPPERS = frozenset(
    {"torch.compile", "torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel", "copy.deepcopy"}
)
_CRITERIA = frozenset(
    {"binary_cross_entropy", "cross_entropy", "l1_loss", "mse_loss", "nll_loss", "smooth_l1_loss"}
)


class CallSites:
    """Answers what other files pass to a unit, each question once."""

    def __init__(self, repository: Repository, modules: ModuleCache) -> None:
        self._repository = repository
        self._modules = modules
        self._changes = modules.changes
        self._scopes: dict[Path, Scope | None] = {}
        self._known: dict[tuple[str, str], tuple[dict[str, Given], list[tuple[str, str, int]]]] = {}

    def given(self, filename: str, name: str, params: Sequence[str]) -> Mapping[str, Given]:
        """What other files pass to a function, or to the constructor of a class, by parameter."""
        self._forget_what_changed()
        asked = self._modules.asked
        asked.append((filename, name, CALLERS))
        key = filename, name
        if key in self._known:
            found, depends = self._known[key]
            asked += depends
            return found
        before = len(asked)
        found = dict(self._agreed(Path(filename), name, params))
        self._known[key] = found, asked[before:]
        return found

    def having(self, filename: str, names: Iterable[str]) -> Given | None:
        """The one class of modules of the repository that has methods or attributes of all these names.

        It stands in another file.
        """
        wanted = sorted(names)
        self._modules.asked.append((filename, " ".join(wanted), HAVING))
        path = Path(filename)
        found = self._repository.having(path, wanted)
        if len(found) != 1 or found[0][0] == path:
            return None
        where, name = found[0]
        one = self._seen_from(path, Given("object", str(where), name))
        return one if one.kind == "object" else None

    def outside_networks(self, filename: str, name: str) -> bool:
        """Do methods of classes call a function in other files, none of which is a class of modules?

        What tests do shows nothing, and what functions do is up to their own callers.
        """
        self._forget_what_changed()
        self._modules.asked.append((filename, name, CALLERS))
        path = Path(filename)
        scopes = [scope for scope, _ in self._calls(path, name) if not is_called_like_tests(str(scope.path))]
        return bool(scopes) and all(self._is_plain_method(scope) for scope in scopes)

    def _is_plain_method(self, scope: Scope) -> bool:
        around: Scope | None = scope
        while around is not None and not around.is_class:
            around = around.outer
        outer = None if around is None else around.outer
        if outer is None:
            return False
        names = [name for name, cls in outer.classes.items() if cls is around]
        return not any(self._repository.is_module(scope.path, name) for name in names)

    def _forget_what_changed(self) -> None:
        if self._changes != self._modules.changes:
            self._scopes.clear()
            self._known.clear()
            self._changes = self._modules.changes

    def _agreed(self, path: Path, name: str, params: Sequence[str]) -> Iterator[tuple[str, Given]]:
        """What those callers pass of which something is known, where they agree."""
        sites = list(self._sites(path, name, params))
        for param in params:
            found = {site[param] for site in sites if param in site}
            kinds = {each.kind for each in found}
            if len(found) == 1:
                yield param, found.pop()
            elif len(kinds) == 1 and kinds != {"object"}:
                yield param, Given(kinds.pop())

    def _sites(self, path: Path, name: str, params: Sequence[str]) -> Iterator[dict[str, Given]]:
        """What each call passes."""
        for scope, call in self._calls(path, name):
            yield dict(self._passed(path, scope, call, params))

    def _calls(self, path: Path, name: str) -> Iterator[tuple[Scope, ast.Call]]:
        """The calls in other files, each with where it stands."""
        for other in self._repository.callers(path, name)[:MOST_FILES]:
            top = self._scope(other)
            for scope, call in top.calls(name) if top is not None else ():
                if self._definition(scope, call.func) == (path, name):
                    yield scope, call

    def _passed(
        self, path: Path, scope: Scope, call: ast.Call, params: Sequence[str]
    ) -> Iterator[tuple[str, Given]]:
        """What one call passes of which something is known."""
        values = dict(zip(params, _plain(call.args), strict=False))
        values |= {
            each.arg: each.value for each in call.keywords if each.arg is not None and each.arg in params
        }
        texts = {ast.unparse(value): param for param, value in values.items()}
        for param, value in values.items():
            found = self._role(scope, value)
            if found is not None:
                found = replace(found, of=texts.get(found.of, ""))
                yield param, self._seen_from(path, found)

    def _seen_from(self, path: Path, found: Given) -> Given:
        """A class of modules under the name by which a file can import it."""
        where = Path(found.module)
        if found.kind != "object":
            return found
        if not self._repository.is_module(where, found.name):
            return Given("other")
        dotted = self._repository.dotted(path, where)
        if dotted and self._modules.find(path, dotted, 0) == where:
            return replace(found, module=dotted)
        return Given("module")

    def _role(self, scope: Scope, value: ast.expr, depth: int = DEPTH) -> Given | None:
        """What an expression gives, as far as it is known."""
        if not depth:
            return None
        if isinstance(value, ast.Call):
            return self._of_call(scope, value, depth)
        if isinstance(value, ast.IfExp):
            return self._one(self._role(scope, each, depth - 1) for each in (value.body, value.orelse))
        dotted = scope.top.dotted(value)
        if dotted.startswith("torch.nn.functional."):
            return Given("criterion") if dotted.rpartition(".")[2] in _CRITERIA else None
        inside, stored = scope.stored(value)
        stored = [each for each in stored if each is None or not _mentions(each, value)]
        return self._one(self._role(inside, each, depth - 1) if each is not None else None for each in stored)

    def _of_call(self, scope: Scope, call: ast.Call, depth: int) -> Given | None:
        if isinstance(call.func, ast.Attribute) and call.func.attr in _SAME:
            return self._role(scope, call.func.value, depth - 1)
        dotted = scope.top.dotted(call.func)
        if dotted in _WRAPPERS and call.args:
            found = self._role(scope, call.args[0], depth - 1)
            return found if dotted in ("torch.compile", "copy.deepcopy") or found is None else Given("module")
        if dotted.startswith(("torch.", "torchvision.models.")):
            return _of_library(dotted, call)
        target = self._definition(scope, call.func)
        top = None if target is None else self._scope(target[0])
        if target is None or top is None:
            return None
        if target[1] in top.classes:
            return Given("object", str(target[0]), target[1])
        inside = top.functions.get(target[1])
        return (
            None
            if inside is None
            else self._one(self._role(inside, each, depth - 1) for each in inside.results())
        )

    def _one(self, found: Iterable[Given | None]) -> Given | None:
        """What all of them are."""
        whole = list(found)
        return whole[0] if whole and all(each == whole[0] for each in whole) else None

    def _definition(self, scope: Scope, func: ast.expr) -> tuple[Path, str] | None:
        """The file and the name of the class or function of the repository that an expression names."""
        name = last_name(func)
        if isinstance(func, ast.Name):
            if scope.binds(func.id):
                return None
            return self._named(scope.top, name)
        module = scope.top.imported(func.value) if isinstance(func, ast.Attribute) else None
        path = None if module is None else self._modules.find(scope.top.path, *module)
        top = None if path is None else self._scope(path)
        return None if top is None else self._named(top, name)

    def _named(self, top: Scope, name: str, depth: int = DEPTH) -> tuple[Path, str] | None:
        """What a name of a file means, through the files that hand it on."""
        if name in top.classes or name in top.functions:
            return top.path, name
        for module, level, attribute in top.sources(name) if depth else ():
            path = self._modules.find(top.path, module, level)
            inner = None if path is None or path == top.path else self._scope(path)
            found = None if inner is None else self._named(inner, attribute, depth - 1)
            if found is not None:
                return found
        return None

    def _scope(self, path: Path) -> Scope | None:
        """The top-level scope of a file; None where it is not Python."""
        if path not in self._scopes:
            try:
                self._scopes[path] = scopes_of(path, self._modules.read(path))
            except (OSError, SyntaxError, ValueError, RecursionError):
                self._scopes[path] = None
        return self._scopes[path]


def _mentions(value: ast.expr, name: ast.expr) -> bool:
    """Is something made of what has the name so far, such as `model.to(device)`?"""
    text = ast.unparse(name)
    return any(
        isinstance(each, ast.Name | ast.Attribute) and ast.unparse(each) == text for each in ast.walk(value)
    )


def _plain(args: list[ast.expr]) -> list[ast.expr]:
    """The positional arguments up to the first that stands for several."""
    stars = [index for index, arg in enumerate(args) if isinstance(arg, ast.Starred)]
    return args[: stars[0]] if stars else args


def _of_library(dotted: str, call: ast.Call) -> Given | None:
    """What a call of a library gives."""
    module, _, name = dotted.rpartition(".")
    if dotted == "torch.utils.data.DataLoader":
        return Given("data")
    if module == "torchvision.models":
        return Given("module")
    if module == "torch.optim" and name[:1].isupper():
        held = call.args[0] if call.args else None
        func = held.func if isinstance(held, ast.Call) else None
        whole = isinstance(func, ast.Attribute) and func.attr == "parameters"
        return Given("optimizer", of=ast.unparse(func.value) if whole else "")  # type: ignore[union-attr]
    if module == "torch.nn" and name[:1].isupper() and not name.startswith("Parameter"):
        return Given("criterion" if name.endswith("Loss") else "module")
    return None
