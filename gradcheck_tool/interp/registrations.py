"""Tables that other modules fill in: registries, plug-ins, lists of hooks.

A module may be imported only for what its body stores elsewhere (`import losses`, where losses are
registered), while its body is executed when a name of it is first read. Where a table of a module lacks what
is asked of it, what has been imported so far is executed first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.records import Dict, Frame
from gradcheck_tool.domain.values import TRUE, Const, Ref, Symbol, Value
from gradcheck_tool.interp.imports import LAZY_IMPORT, import_module, is_of_module, module_variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter

# So many modules are executed at most for what they may have registered.
MOST_MODULES = 40
_DONE = Symbol(("registered",))


def await_entry(m: Interpreter, s: State, table: Value, key: Value) -> None:
    """Make sure that a table of a module has what the modules register in it that have been imported."""
    record = s.get(table, Dict)
    if record is None or record.open or key in record.items or _DONE in s.memory:
        return
    if (isinstance(key, Const) or not record.items) and is_of_module(table):  # type: ignore[arg-type]
        s.memory[_DONE] = TRUE
        _execute_imports(m, s)


def _execute_imports(m: Interpreter, s: State) -> None:
    """Execute what the code that is running has imported, directly or through others."""
    waiting = [variables for at in s.frames for variables in (s[at], s[s[at].env.globals])]
    seen: set[Symbol] = set()
    executed: set[int] = set()
    while waiting and len(executed) < MOST_MODULES:
        for promise in [each for each in _promises(waiting.pop(0)) if each not in seen]:
            seen.add(promise)
            for module in _modules(m, s, promise):
                variables = module_variables(s, module)
                if variables is not None and module.id not in executed:
                    executed.add(module.id)
                    waiting.append(variables)


def _promises(variables: Frame) -> Iterator[Symbol]:
    """What imports have bound that nothing has read."""
    for value in variables.locals.values():
        if type(value) is Symbol and value.kind == LAZY_IMPORT:
            yield value


def _modules(m: Interpreter, s: State, promise: Symbol) -> Iterator[Ref]:
    """The modules of the repository that an import executes."""
    key: Any = promise.key
    _, importer, module, level, attribute, _ = key
    inner = [] if attribute is None else [f"{module}.{attribute}".lstrip(".")]
    for dotted in (module, *inner):
        found = import_module(m, s, importer, dotted, level)
        if isinstance(found, Ref):
            yield found
