"""How functions use their variables and the attributes of `self`, read off the instructions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.handed_optimizers import STEPS_OPTIMIZER

if TYPE_CHECKING:
    from collections.abc import Iterable


# Methods of modules and tensors that return what they are called on, or the same elsewhere.
RETURN_SELF = frozenset({"cpu", "cuda", "double", "eval", "float", "half", "requires_grad_", "to", "train"})
# What makes an optimizer, by its name or that of its module; functions that hand on what they iterate over.
_OPTIMIZERS = re.compile(
    r"optim|(?:^|[._])opt(?:$|_)|(?:^|\.)(?:Adam\w*|SGD|RMSprop|LBFGS|Adagrad|Adadelta)$", re.IGNORECASE
)
# Methods of scalers and frameworks that are given an optimizer.
_STEPS = re.compile(rf"{STEPS_OPTIMIZER}|^unscale_$")
_ITERATE = frozenset({"enumerate", "iter", "tqdm", "tqdm.tqdm", "zip"})
# What dictionaries have, and single tensors have not.
_OF_TABLES = frozenset({"get", "items", "keys", "pop"})
_HAND_ON = frozenset({"chain", "filter", "iter", "itertools.chain", "list", "tuple"})


@dataclass(slots=True)
class Usage:
    """What is done with one value.

    Attributes:
        attributes: names of attributes that are read of it, methods included.
        methods: those of them that are called.
        called: it is called itself, or its `forward` is; `arity` has the numbers of positional arguments.
        iterated: a loop goes through it.
        differentiated: what a call of it returned has its `backward` called.
        taken_apart: what a call of it returned is unpacked, indexed or iterated over.
        optimized: its `parameters()` are given to what makes an optimizer.
        stepped: it is given to something else that steps it or unscales its gradients.
        passed: to what it is passed: a name, `module.name` or `self.method`, and the position or the keyword.
        stored: the attributes of `self` that it is stored in.
    """

    attributes: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    called: bool = False
    arity: set[int] = field(default_factory=set)
    iterated: bool = False
    differentiated: bool = False
    taken_apart: bool = False
    optimized: bool = False
    stepped: bool = False
    passed: set[tuple[str, int | str]] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)

    def add(self, other: Usage) -> None:
        """Add what is done with the same value elsewhere."""
        self.attributes |= other.attributes
        self.methods |= other.methods
        self.arity |= other.arity
        self.called = self.called or other.called
        self.iterated = self.iterated or other.iterated
        self.differentiated = self.differentiated or other.differentiated
        self.taken_apart = self.taken_apart or other.taken_apart
        self.optimized = self.optimized or other.optimized
        self.stepped = self.stepped or other.stepped
        self.passed |= other.passed
        self.stored |= other.stored


# Names of variables, and `self.attribute` for attributes of the first parameter of methods.
Uses = dict[str, Usage]


def uses_in(functions: Iterable[ir.Function], *, methods: bool) -> Uses:
    """How functions, or methods, use their variables and the attributes of `self`, together."""
    found: Uses = {}
    for function in functions:
        for path, usage in function.worked_out(_in_method if methods else _in_function).items():
            found.setdefault(path, Usage()).add(usage)
    return found


def _in_method(function: ir.Function) -> Uses:
    return _Reader(function, method=True).uses


def _in_function(function: ir.Function) -> Uses:
    return _Reader(function, method=False).uses


def uses_at_module_level(body: ir.Function) -> Uses:
    """How a module's body and its functions use the module's variables."""
    found = _Reader(body, method=False, inner=False).uses
    for function in body.with_inner():
        if function is not body:
            for name, usage in function.worked_out(_in_itself).items():
                if name not in function.local_names:
                    found.setdefault(name, Usage()).add(usage)
    return found


def _in_itself(function: ir.Function) -> Uses:
    return _Reader(function, method=False, inner=False).uses


class _Reader:
    """The uses in one function and those inside it."""

    def __init__(self, function: ir.Function, *, method: bool, inner: bool = True) -> None:
        self.uses: Uses = {}
        self._receiver = function.params[0].name if method and function.params else ""
        self._aliases: dict[str, str] = {}
        for code in function.with_inner() if inner else (function,):
            # What each name of the function is given: what a call of a path returned (None: anything else).
            self._given: dict[str, set[str | None]] = {}
            # Names that are read in another block than they are stored in.
            self._read_later: set[str] = set()
            for block in code.blocks.values():
                self._block(block, {})
            only = ((name, next(iter(paths))) for name, paths in self._given.items() if len(paths) == 1)
            results = {name: path for name, path in only if path is not None}
            if not self._read_later.isdisjoint(results):
                for block in code.blocks.values():
                    self._block(block, results)
        for name, path in self._aliases.items():
            if name in self.uses and name != path:
                self.uses.setdefault(path, Usage()).add(self.uses[name])

    def _block(self, block: ir.Block, carried: dict[str, str]) -> None:
        """Read a block; `carried`: names that hold what calls in other blocks returned."""
        paths: dict[int, str] = {}
        methods: dict[int, tuple[str, str]] = {}
        results: dict[int, str] = {}
        named: dict[str, str] = dict(carried)
        stored: set[str] = set()
        tuples: dict[int, list[int]] = {}
        self._texts: dict[int, str] = {}
        self._parameters: dict[int, str] = {}
        for instr in block.instrs:
            if isinstance(instr, ir.LoadName):
                paths[instr.dst] = self._texts[instr.dst] = instr.name
                if instr.name in named:
                    results[instr.dst] = named[instr.name]
                if instr.name not in stored:
                    self._read_later.add(instr.name)
            elif isinstance(instr, ir.StoreName):
                if instr.src in paths and paths[instr.src] != instr.name:
                    self._aliases.setdefault(instr.name, paths[instr.src])
                stored.add(instr.name)
                self._given.setdefault(instr.name, set()).add(results.get(instr.src))
                if instr.src in results:
                    named[instr.name] = results[instr.src]
            elif isinstance(instr, ir.SetAttr):
                if paths.get(instr.obj) == self._receiver and instr.src in paths:
                    self._of(paths[instr.src]).stored.add(f"self.{instr.name}")
            elif isinstance(instr, ir.GetAttr):
                self._texts[instr.dst] = f"{self._texts.get(instr.obj, '')}.{instr.name}"
                self._attribute(instr, paths, methods, results)
            elif isinstance(instr, ir.Call):
                self._optimize(instr, methods)
                self._call(instr, paths, methods, results)
            elif isinstance(instr, ir.BuildTuple):
                tuples[instr.dst] = [item for item, _ in instr.items]
            elif isinstance(instr, ir.Unpack) and instr.star is None:
                parts = zip(instr.dsts, tuples.get(instr.src, ()), strict=False)
                paths.update({dst: paths[item] for dst, item in parts if item in paths})
            elif isinstance(instr, ir.GetIter) and instr.src in paths:
                self._of(paths[instr.src]).iterated = True
            if isinstance(instr, ir.Unpack | ir.GetIter) and instr.src in results:
                self._of(results[instr.src]).taken_apart = True
            elif (isinstance(instr, ir.GetItem) and instr.obj in results) or (
                isinstance(instr, ir.GetAttr) and instr.obj in results and instr.name in _OF_TABLES
            ):
                self._of(results[instr.obj]).taken_apart = True

    def _attribute(
        self,
        instr: ir.GetAttr,
        paths: dict[int, str],
        methods: dict[int, tuple[str, str]],
        results: dict[int, str],
    ) -> None:
        owner = paths.get(instr.obj)
        if instr.name == "backward" and instr.obj in results:
            self._of(results[instr.obj]).differentiated = True
        if owner is None:
            return
        if owner == self._receiver:
            paths[instr.dst] = f"self.{instr.name}"
        else:
            self._of(owner).attributes.add(instr.name)
            methods[instr.dst] = (owner, instr.name)

    def _call(
        self,
        instr: ir.Call,
        paths: dict[int, str],
        methods: dict[int, tuple[str, str]],
        results: dict[int, str],
    ) -> None:
        if instr.func in methods:
            owner, name = methods[instr.func]
            self._of(owner).methods.add(name)
            self._iterate(f"{owner}.{name}", instr.args, paths)
            self._pass(f"{owner}.{name}", instr.args, paths)
            if name in RETURN_SELF:
                paths[instr.dst] = owner
            elif name == "forward":
                self._call_itself(instr, owner, results)
            elif _STEPS.search(name) and instr.args and instr.args[0].value in paths:
                self._of(paths[instr.args[0].value]).stepped = True
        elif instr.func in paths:
            self._call_itself(instr, paths[instr.func], results)
            self._iterate(paths[instr.func], instr.args, paths)
            self._pass(paths[instr.func], instr.args, paths)

    def _call_itself(self, instr: ir.Call, path: str, results: dict[int, str]) -> None:
        """Note that a value is called: by its `forward`, too, as that is what calling a module comes to."""
        usage = self._of(path)
        usage.called = True
        if all(arg.kind is ir.ArgKind.POSITIONAL for arg in instr.args):
            usage.arity.add(len(instr.args))
        results[instr.dst] = path

    def _optimize(self, instr: ir.Call, methods: dict[int, tuple[str, str]]) -> None:
        """Note whose parameters a call gives to an optimizer."""
        owner, name = methods.get(instr.func, ("", ""))
        callee = self._texts.get(instr.func, "")
        given = [self._parameters[arg.value] for arg in instr.args if arg.value in self._parameters]
        if name == "parameters":
            self._parameters[instr.dst] = owner
        elif callee in _HAND_ON and given:
            self._parameters[instr.dst] = given[0]
        elif _OPTIMIZERS.search(callee):
            for each in given:
                self._of(each).optimized = True

    def _pass(self, callee: str, args: list[ir.Argument], paths: dict[int, str]) -> None:
        """Note which values a call passes on, up to an argument that stands for several."""
        for index, arg in enumerate(args):
            if arg.kind in (ir.ArgKind.STAR, ir.ArgKind.DOUBLE_STAR):
                return
            if arg.value in paths:
                self._of(paths[arg.value]).passed.add((callee, arg.name or index))

    def _iterate(self, callee: str, args: list[ir.Argument], paths: dict[int, str]) -> None:
        """Note what a loop goes through by way of a call: `tqdm.tqdm(loader)`."""
        for arg in args if callee in _ITERATE else ():
            if arg.value in paths:
                self._of(paths[arg.value]).iterated = True

    def _of(self, path: str) -> Usage:
        return self.uses.setdefault(path, Usage())
