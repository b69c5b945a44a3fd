"""Context managers of `contextlib`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    TRUE,
    LibraryObject,
    Tup,
)
from gradcheck_tool.interp.functions import leave_all
from gradcheck_tool.interp.registry import Result, function, method

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes


@method("contextlib.contextmanager", "__call__")
@method("contextlib.asynccontextmanager", "__call__")
def make_context(m: Interpreter, s: State, call: Call) -> Result:
    func = s[call.self].attrs["#func"]
    out: Outcomes = []
    for state, gen in m.call(s, func, call.args, call.kwargs, call.site):
        out.append(
            (
                state,
                state.new(
                    Instance(LibraryObject("contextlib._GeneratorContextManager"), {"#generator": gen})
                ),
            )
        )
    return out


@function("contextlib.suppress", "pytest.raises")
def swallow(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(Instance(LibraryObject("contextlib.suppress")))


@method("contextlib.suppress", "__exit__")
def swallow_exit(m: Interpreter, s: State, call: Call) -> Result:
    return TRUE


@function("contextlib.nullcontext", "contextlib.closing")
def null_context(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(
        Instance(LibraryObject("contextlib.nullcontext"), {"#value": call.args[0] if call.args else NONE})
    )


@method("contextlib.nullcontext", "__enter__")
def null_enter(m: Interpreter, s: State, call: Call) -> Result:
    return s[call.self].attrs["#value"]  # type: ignore[no-any-return]


@function("contextlib.ExitStack")
def exit_stack(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(Instance(LibraryObject("contextlib.ExitStack"), {"#stack": Tup(())}))


@method("contextlib.ExitStack", "enter_context")
def enter_context(m: Interpreter, s: State, call: Call) -> Result:
    mine = s.edit(call.self)
    mine.attrs["#stack"] = Tup((*mine.attrs["#stack"].items, call.args[0]))
    return m.enter(s, call.args[0], call.site)


@method("contextlib.ExitStack", "__exit__")
def exit_all(m: Interpreter, s: State, call: Call) -> Result:
    return leave_all(m, [(s, FALSE)], s[call.self].attrs["#stack"].items, call.site)
