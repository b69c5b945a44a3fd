"""Imports: modules of the repository, models of libraries, and what an import binds.

The body of a module is executed once a process, in a state of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradcheck_tool.domain.read_tracking import ReadTrackingHeap
from gradcheck_tool.domain.records import Dict, Frame, Instance, List, Record
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import Const, LibraryObject, Ref, Symbol, Value
from gradcheck_tool.engine import optable
from gradcheck_tool.interp.api import Env, Interpreter
from gradcheck_tool.interp.budget import Budget
from gradcheck_tool.interp.entry_points import bounded, rows
from gradcheck_tool.interp.names import imported_object
from gradcheck_tool.ir import nodes as ir

# The kind of a symbol that stands for what an import binds, until that is first read.
LAZY_IMPORT = "import"
IMPORT_LIMIT = 10_000
KEEP = 256

# `from torch.nn import *` and friends bind these; what else they bind is never asked for.
_STAR = {
    "torch": ("nn", "optim", "autograd", "Tensor", "no_grad", "tensor"),
    "torch.nn": ("Module", "Linear", "Parameter", "Sequential", "ModuleList", "functional", "init", "ReLU"),
}


# -- what an import binds --------------------------------------------------------------------------


def import_value(m: Interpreter, s: State, i: ir.Import) -> Value:
    """What an import binds: a library object, or a promise where it may be of the repository.

    A module's body runs in a state of its own, so that it may as well run when a name of it is first read.
    What a model imports is never of the repository.
    """
    env = s[s.frames[-1]].env
    if env.is_model:
        return imported_object(_absolute(env, i.module, i.level), 0, i.attribute, i.top)
    if m.program.imports is None:
        return imported_object(i.module, i.level, i.attribute, i.top)
    return Symbol(("import", env.module.filename, i.module, i.level, i.attribute, i.top), LAZY_IMPORT)


def _absolute(env: Env, module: str, level: int) -> str:
    """The name of a module that a model imports by so many leading dots."""
    if not level:
        return module
    package = env.dotted.split(".")
    kept = package[: len(package) - level + is_package(env.module.filename)]
    return ".".join([*kept, *([module] if module else [])])


def is_package(filename: str) -> bool:
    """Is a file the body of a package?"""
    return filename.endswith("__init__.py")


def resolve_import(m: Interpreter, s: State, value: Value) -> Value:
    """The value itself, or what a lazy import leads to: an object of the repository, or a library's."""
    if type(value) is not Symbol or value.kind != LAZY_IMPORT:
        return value
    known = m.program.resolved_imports.get(value)
    if known is None:
        key: Any = value.key
        _, importer, module, level, attribute, top = key
        library = m.program.resolved_imports[value] = imported_object(module, level, attribute, top)
        known = _from_repository(m, s, importer, module, level, attribute, top) or library
        if isinstance(known, (LibraryObject, Const)):
            m.program.resolved_imports[value] = known
        else:
            del m.program.resolved_imports[value]  # every state has to get the records
    return known


def _from_repository(
    m: Interpreter, s: State, importer: str, module: str, level: int, attribute: str | None, top: bool
) -> Value | None:
    found = import_module(m, s, importer, module, level)
    if attribute is None:
        package = module.partition(".")[0]
        if found is None or not top or package == module:
            return found
        return import_module(m, s, importer, package, level) or LibraryObject(package)
    variables = module_variables(s, found)
    value = None if variables is None else variables.locals.get(attribute)
    if value is None or _is_import_of(value, importer, module, level, attribute):
        return import_module(m, s, importer, f"{module}.{attribute}" if module else attribute, level)
    return resolve_import(m, s, value)


def _is_import_of(value: Value, importer: str, module: str, level: int, attribute: str) -> bool:
    """Is it bound by the very import that asks: `from . import layers`, in the package that has `layers`?"""
    key = value.key if isinstance(value, Symbol) else None
    return isinstance(key, tuple) and key[:5] == ("import", importer, module, level, attribute)


def module_variables(s: State, module: Value | None) -> Frame | None:
    """The frame of a module's body, which has its variables."""
    record = s.get(module, Instance)
    return None if record is None else s.get(record.attrs.get("#frame"), Frame)


def star_names(m: Interpreter, s: State, module: str, level: int) -> dict[str, Value]:
    """What `from module import *` binds, as far as it is known."""
    env = s[s.frames[-1]].env
    if env.is_model:
        variables = module_variables(s, import_model(m, s, _absolute(env, module, level)))
        if variables is not None:
            return {k: v for k, v in variables.locals.items() if isinstance(k, str) and not k.startswith("_")}
    elif m.program.imports is not None and (module or level):
        found = m.program.imports(env.module.filename, module, level)
        if found is not None:
            names = _bound_names(m, found, set())
            return {
                name: Symbol(("import", env.module.filename, module, level, name, False), LAZY_IMPORT)
                for name in sorted(names)
            }
    if level == 0 and module.split(".", maxsplit=1)[0] == "torch":
        names = {name.rpartition(".")[2] for name in optable.names(module)} | set(_STAR.get(module, ()))
        return {name: LibraryObject(f"{module}.{name}") for name in names}
    return {}


def _bound_names(m: Interpreter, module: ir.ModuleIR, seen: set[int]) -> set[str]:
    """The public names that a module of the repository binds, those of its star imports among them."""
    if id(module) in seen or m.program.imports is None:
        return set()
    seen.add(id(module))
    found = {name for name in module.body.local_names if not name.startswith("_")}
    for block in module.body.blocks.values():
        for i in block.instrs:
            if isinstance(i, ir.ImportStar):
                inner = m.program.imports(module.filename, i.module, i.level)
                found |= set() if inner is None else _bound_names(m, inner, seen)
    return found


# -- modules that are executed ---------------------------------------------------------------------


def import_module(m: Interpreter, s: State, importer: str, dotted: str, level: int) -> Value | None:
    """A module of the repository, as a file of it imports it; None if it is not of the repository."""
    if m.program.imports is None or (not dotted and not level):
        return None
    key = Symbol(("module", importer, level, dotted))
    if key in s.memory:
        return s.memory[key]
    if m.budget.rest <= 0:
        m.budget.is_short = True
        return None
    return _import(m, s, key, m.program.imports(importer, dotted, level), dotted)


def import_model(m: Interpreter, s: State, dotted: str) -> Value | None:
    """The model of a library's module as an object; None where no pack has one."""
    key = Symbol(("model", dotted))
    if key in s.memory:
        return s.memory[key]
    return (
        None
        if m.program.models is None
        else _import(m, s, key, m.program.models.module(dotted), dotted, is_model=True)
    )


def _import(
    m: Interpreter,
    s: State,
    key: Symbol,
    module: ir.ModuleIR | None,
    dotted: str,
    is_model: bool = False,
) -> Value | None:
    """A module as an object. Importing adds what its body left to `s`."""
    if module is None or id(module) in m.program.importing:
        return None
    made = _EXECUTED.get(id(module))
    if made is None or made.module is not module:
        made = _execute(m, module, dotted, is_model)
        while len(_EXECUTED) >= KEEP:
            del _EXECUTED[next(iter(_EXECUTED))]
        _EXECUTED[id(module)] = made
    if isinstance(s.heap, ReadTrackingHeap):
        s.heap.watch.spoiled = True
    if made.value.id not in s.heap:
        kept = [at for at in made.filled if at in s.heap and s.heap[at] is not made.heap[at]]
        s.heap = {**made.heap, **s.heap}
        for at in kept:
            _fill(s.edit(Ref(at)), made.heap[at])
    s.memory[key] = made.value
    return made.value


def _fill(mine: Record, theirs: Record) -> None:
    """Add to a container what a module has stored in it."""
    if isinstance(mine, Dict) and isinstance(theirs, Dict):
        mine.items = {**theirs.items, **mine.items}
        mine.open = mine.open or theirs.open
    elif isinstance(mine, List) and isinstance(theirs, List):
        mine.items = [*mine.items, *(value for value in theirs.items if value not in mine.items)]
        mine.open = mine.open or theirs.open


@dataclass(frozen=True, slots=True)
class Executed:
    """What running a module body left: its records and the object that stands for the module.

    `containers` are the lists and dictionaries among the records; `filled` are those of other modules that
    the body has changed.
    """

    module: ir.ModuleIR
    heap: dict[int, Record]
    value: Ref
    containers: tuple[int, ...]
    filled: tuple[int, ...]


_EXECUTED: dict[int, Executed] = {}


def entered_elsewhere(entered: set[int], main: ir.ModuleIR) -> set[tuple[str, str]]:
    """The file and the qualified name of the functions among `entered` that stand in other files."""
    found: set[tuple[str, str]] = set()
    if entered.issubset({id(main.body), *map(id, main.functions)}):
        return found
    for made in _EXECUTED.values():
        names = {function.qualname for function in made.module.functions if id(function) in entered}
        found |= {(made.module.filename, name) for name in names}
    return found


def is_of_module(ref: Ref) -> bool:
    """Has the body of an imported module made an object?"""
    return any(ref.id in made.heap for made in _EXECUTED.values())


def forget_modules() -> None:
    """Forget what module bodies have left: a file that one of them imports has changed."""
    _EXECUTED.clear()


def _execute(m: Interpreter, module: ir.ModuleIR, dotted: str, is_model: bool) -> Executed:
    """Run the body of an imported module, within a work limit of its own.

    Others will import what this leaves: it does not depend on how much work is left to who came first. A
    model costs no program anything.
    """
    s = State()
    frame = Frame(module.body, None, None)
    ref = s.new(frame)
    frame.env = Env(module, ref, dotted, is_model)
    frame.locals["__name__"] = Const(dotted)
    value = s.new(Instance(LibraryObject("#module"), {"#frame": ref}, open=True))
    s.frames.append(ref)
    outer, m.budget = m.budget, Budget(IMPORT_LIMIT, IMPORT_LIMIT, IMPORT_LIMIT)
    m.program.importing.add(id(module))
    ends = bounded(m, lambda start: m.run_frame(start, module.body.entry), s, module.body)
    m.program.importing.discard(id(module))
    if not is_model:
        # Lowering it takes about as long as executing as many instructions as it has rows.
        outer.charge(m.budget, rows(module))
    m.budget = outer
    end = next((e.state for e in ends if e.kind == "return"), s)
    containers = tuple(at for at, record in end.heap.items() if isinstance(record, (Dict, List)))
    return Executed(module, end.heap, value, containers, _filled(end.heap))


def _filled(heap: dict[int, Record]) -> tuple[int, ...]:
    """The containers of other modules that have changed."""
    others = [made for made in _EXECUTED.values() if made.value.id in heap]
    changed = (at for made in others for at in made.containers if heap.get(at) is not made.heap[at])
    return tuple(dict.fromkeys(changed))
