"""A concrete interpreter of the IR: it runs real programs, and what they print proves the lowering.

Functions of the program become Python functions that run their IR. One run is a generator of
requests (`yield`, `from`, `await`), so that the same loop serves functions, generators, coroutines
and asynchronous generators; a driver for each answers the requests.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import operator
import types
from dataclasses import dataclass
from typing import Any

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.liveness import live_in
from gradcheck_tool.ir.lower import lower_module
from tests.ir.frames import Frame, del_name, load_name, store_name
from tests.ir.values import (
    BINARY,
    COMPARE,
    INPLACE,
    UNARY,
    append,
    build_dict,
    build_slice,
    format_,
    match_test,
    matches,
    sets,
    starred,
    unpack,
)

KINDS = {
    ir.ParamKind.POSITIONAL_ONLY: inspect.Parameter.POSITIONAL_ONLY,
    ir.ParamKind.POSITIONAL: inspect.Parameter.POSITIONAL_OR_KEYWORD,
    ir.ParamKind.VARARGS: inspect.Parameter.VAR_POSITIONAL,
    ir.ParamKind.KEYWORD_ONLY: inspect.Parameter.KEYWORD_ONLY,
    ir.ParamKind.KWARGS: inspect.Parameter.VAR_KEYWORD,
}
EXHAUSTED = object()


def run(source: str, name: str = "__main__", package: str | None = None) -> dict[str, Any]:
    """Lower and run a program; returns its global variables.

    Those that the program itself reads no more are forgotten, unless it is a library (has a package).
    """
    module = lower_module(source, "program.py")
    if package is not None:
        names = module.body.local_names
        module.body.live = {id_: live | names for id_, live in live_in(module.body).items()}
    variables: dict[str, Any] = {"__name__": name, "__builtins__": builtins, "__package__": package}
    variables["__doc__"] = module.body.docstring
    finish(execute(Frame(module.body, variables, variables, None)))
    return variables


@dataclass
class Failed:
    """A run ended with this exception."""

    exception: BaseException


def finish(requests: Any) -> Any:
    """Drive the run of an ordinary function, which asks for nothing."""
    try:
        request = next(requests)
    except StopIteration as stop:
        return result_of(stop.value)
    raise AssertionError(f"an ordinary function asked for {request}")


def result_of(outcome: Any) -> Any:
    if isinstance(outcome, Failed):
        raise outcome.exception
    return outcome


def step(requests: Any, answer: Any, exception: BaseException | None) -> tuple[bool, Any]:
    """Go on with a run; (True, result) at its end, else (False, next request)."""
    try:
        return False, requests.throw(exception) if exception is not None else requests.send(answer)
    except StopIteration as stop:
        return True, stop.value


def drive_generator(requests: Any) -> Any:
    answer, exception = None, None
    while True:
        done, request = step(requests, answer, exception)
        if done:
            return result_of(request)
        answer, exception = None, None
        try:
            answer = (yield request[1]) if request[0] == "yield" else (yield from request[1])
        except BaseException as error:  # noqa: BLE001  the program's, handled or raised later
            exception = error


async def drive_coroutine(requests: Any) -> Any:
    answer, exception = None, None
    while True:
        done, request = step(requests, answer, exception)
        if done:
            return result_of(request)
        assert request[0] == "await"
        answer, exception = None, None
        try:
            answer = await request[1]
        except BaseException as error:  # noqa: BLE001  the program's, handled or raised later
            exception = error


async def drive_async_generator(requests: Any) -> Any:
    answer, exception = None, None
    while True:
        done, request = step(requests, answer, exception)
        if done:
            result_of(request)
            return
        answer, exception = None, None
        try:
            answer = (await request[1]) if request[0] == "await" else (yield request[1])
        except BaseException as error:  # noqa: BLE001  the program's, handled or raised later
            exception = error


def start(function: ir.Function, requests: Any) -> Any:
    """What calling a function gives: its result, or an object that runs it later."""
    if function.is_async:
        return (drive_async_generator if function.is_generator else drive_coroutine)(requests)
    return (drive_generator if function.is_generator else finish)(requests)


def execute(frame: Frame) -> Any:
    """Run a function. A generator of requests that returns the result or `Failed`."""
    function = frame.function
    block = function.blocks[function.entry]
    while True:
        forget_dead(frame, live_in(function)[block.id])
        try:
            for instr in block.instrs:
                if type(instr) in REQUESTS:
                    yield from REQUESTS[type(instr)](frame, instr)
                else:
                    EXECUTE[type(instr)](frame, instr)
            end = block.terminator
            if isinstance(end, ir.Return):
                return None if end.value is None else frame.regs[end.value]
            if isinstance(end, ir.Raise | ir.Reraise):
                assert end.exc is not None
                raise frame.regs[end.exc]  # noqa: TRY301  the block's own handler is next
            target = yield from follow(frame, end)
        except BaseException as error:  # noqa: BLE001  the program's, handled or raised later
            if block.handler is None:
                return Failed(error)
            block = function.blocks[block.handler]
            frame.caught = error
        else:
            block = function.blocks[target]


def forget_dead(frame: Frame, live: frozenset[int | str]) -> None:
    for reg in frame.regs.keys() - live:
        del frame.regs[reg]
    for name in frame.function.local_names & frame.variables.keys() - live:
        del frame.variables[name]


def follow(frame: Frame, end: ir.Terminator | None) -> Any:
    if isinstance(end, ir.Jump):
        return end.target
    if isinstance(end, ir.Branch):
        return end.then if frame.regs[end.condition] else end.otherwise
    assert isinstance(end, ir.ForIter)
    iterator = frame.regs[end.iterator]
    item = (yield "await", anext(iterator, EXHAUSTED)) if end.is_async else next(iterator, EXHAUSTED)
    frame.regs[end.dst] = item
    return end.exhausted if item is EXHAUSTED else end.body


# Calls and definitions


def call(frame: Frame, i: ir.Call) -> None:
    func = frame.regs[i.func]
    args, kwargs = arguments(frame, i.args)
    if func is super and not args:
        first = frame.variables[frame.function.params[0].name]
        args = [frame.class_around().class_cell.cell_contents, first]
    elif func in (globals, locals):
        func = (lambda: frame.module) if func is globals else (lambda: frame.variables)
    frame.regs[i.dst] = func(*args, **kwargs)


def arguments(frame: Frame, args: list[ir.Argument]) -> tuple[list[Any], dict[str, Any]]:
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for arg in args:
        value = frame.regs[arg.value]
        if arg.kind is ir.ArgKind.POSITIONAL:
            positional.append(value)
        elif arg.kind is ir.ArgKind.STAR:
            positional.extend(value)
        else:
            entries = {arg.name: value} if arg.kind is ir.ArgKind.KEYWORD else dict(value)
            if named.keys() & entries.keys():
                raise TypeError("got multiple values for a keyword argument")
            named |= entries
    return positional, named


def make_function(frame: Frame, i: ir.MakeFunction) -> None:
    function = i.function
    if function.kind is ir.FunctionKind.COMPREHENSION:
        frame.regs[i.dst] = lambda iterator: start(
            function, execute(Frame(function, {".0": iterator}, frame.module, frame))
        )
        return
    signature = inspect.Signature(
        [
            inspect.Parameter(
                parameter.name,
                KINDS[parameter.kind],
                default=frame.regs[i.defaults[parameter.name]]
                if parameter.has_default
                else inspect.Parameter.empty,
            )
            for parameter in function.params
        ]
    )

    def called(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return start(function, execute(Frame(function, dict(bound.arguments), frame.module, frame)))

    called.__name__, called.__qualname__ = function.name, function.qualname
    called.__doc__, called.__module__ = function.docstring, frame.module["__name__"]
    called.__signature__ = signature  # type: ignore[attr-defined]
    frame.regs[i.dst] = called


def make_class(frame: Frame, i: ir.MakeClass) -> None:
    bases, keywords = arguments(frame, i.bases)
    inner = Frame(i.body, {}, frame.module, frame)

    def fill(variables: dict[str, Any]) -> None:
        variables["__module__"], variables["__qualname__"] = frame.module["__name__"], i.body.qualname
        if i.body.docstring is not None:
            variables["__doc__"] = i.body.docstring
        inner.variables = variables
        finish(execute(inner))
        if "__class__" in i.body.captured or uses_super(i.body):
            variables["__classcell__"] = inner.class_cell

    frame.regs[i.dst] = types.new_class(i.name, tuple(bases), keywords, fill)


def uses_super(function: ir.Function) -> bool:
    return any(
        isinstance(instr, ir.LoadName) and instr.name == "super"
        for inner in function.inner
        for block in inner.blocks.values()
        for instr in block.instrs
    ) or any(uses_super(inner) for inner in function.inner if inner.kind is not ir.FunctionKind.CLASS)


def import_(frame: Frame, i: ir.Import) -> None:
    package = frame.module.get("__package__")
    module = importlib.import_module("." * i.level + i.module, package)
    if i.top:
        module = importlib.import_module(i.module.partition(".")[0])
    if i.attribute is None:
        frame.regs[i.dst] = module
    elif hasattr(module, i.attribute):
        frame.regs[i.dst] = getattr(module, i.attribute)
    else:
        try:
            frame.regs[i.dst] = importlib.import_module(f"{module.__name__}.{i.attribute}")
        except ModuleNotFoundError as error:
            raise ImportError(i.attribute) from error


def import_star(frame: Frame, i: ir.ImportStar) -> None:
    module = importlib.import_module("." * i.level + i.module, frame.module.get("__package__"))
    names = getattr(module, "__all__", None) or [name for name in vars(module) if name[0] != "_"]
    frame.module.update({name: getattr(module, name) for name in names})


# Requests


def enter_with(frame: Frame, i: ir.EnterWith) -> Any:
    manager = frame.regs[i.manager]
    kind = type(manager)
    if i.is_async:
        frame.regs[i.dst] = yield "await", kind.__aenter__(manager)
    else:
        frame.regs[i.dst] = kind.__enter__(manager)


def exit_with(frame: Frame, i: ir.ExitWith) -> Any:
    manager = frame.regs[i.manager]
    kind = type(manager)
    exc = None if i.exc is None else frame.regs[i.exc]
    details = (None, None, None) if exc is None else (type(exc), exc, exc.__traceback__)
    if i.is_async:
        frame.regs[i.dst] = yield "await", kind.__aexit__(manager, *details)
    else:
        frame.regs[i.dst] = kind.__exit__(manager, *details)


def yield_(frame: Frame, i: ir.Yield) -> Any:
    frame.regs[i.dst] = yield "yield", None if i.value is None else frame.regs[i.value]


def yield_from(frame: Frame, i: ir.YieldFrom) -> Any:
    frame.regs[i.dst] = yield "from", frame.regs[i.value]


def await_(frame: Frame, i: ir.Await) -> Any:
    frame.regs[i.dst] = yield "await", frame.regs[i.value]


REQUESTS: dict[type, Any] = {
    ir.EnterWith: enter_with,
    ir.ExitWith: exit_with,
    ir.Yield: yield_,
    ir.YieldFrom: yield_from,
    ir.Await: await_,
}


def catch(frame: Frame, i: ir.Catch) -> None:
    frame.regs[i.dst], frame.caught = frame.caught, None


EXECUTE: dict[type, Any] = {
    ir.Const: sets(lambda r, i: i.value),
    ir.LoadName: load_name,
    ir.StoreName: store_name,
    ir.DelName: del_name,
    ir.GetAttr: sets(lambda r, i: getattr(r[i.obj], i.name)),
    ir.SetAttr: lambda f, i: setattr(f.regs[i.obj], i.name, f.regs[i.src]),
    ir.DelAttr: lambda f, i: delattr(f.regs[i.obj], i.name),
    ir.GetItem: sets(lambda r, i: r[i.obj][r[i.index]]),
    ir.SetItem: lambda f, i: operator.setitem(f.regs[i.obj], f.regs[i.index], f.regs[i.src]),
    ir.DelItem: lambda f, i: operator.delitem(f.regs[i.obj], f.regs[i.index]),
    ir.BuildSlice: build_slice,
    ir.Call: call,
    ir.BinOp: sets(lambda r, i: BINARY[i.op](r[i.left], r[i.right])),
    ir.InplaceOp: sets(lambda r, i: INPLACE[i.op](r[i.left], r[i.right])),
    ir.UnaryOp: sets(lambda r, i: UNARY[i.op](r[i.value])),
    ir.Compare: sets(lambda r, i: COMPARE[i.op](r[i.left], r[i.right])),
    ir.BuildTuple: lambda f, i: f.regs.update({i.dst: tuple(starred(f, i.items))}),
    ir.BuildList: lambda f, i: f.regs.update({i.dst: starred(f, i.items)}),
    ir.BuildSet: lambda f, i: f.regs.update({i.dst: set(starred(f, i.items))}),
    ir.BuildDict: build_dict,
    ir.Append: append,
    ir.InsertItem: lambda f, i: operator.setitem(f.regs[i.container], f.regs[i.key], f.regs[i.value]),
    ir.Format: format_,
    ir.Copy: sets(lambda r, i: r[i.src]),
    ir.Unpack: unpack,
    ir.GetIter: sets(lambda r, i: aiter(r[i.src]) if i.is_async else iter(r[i.src])),
    ir.Import: import_,
    ir.ImportStar: import_star,
    ir.MakeFunction: make_function,
    ir.MakeClass: make_class,
    ir.Catch: catch,
    ir.MatchException: sets(lambda r, i: matches(r[i.exc], r[i.kind])),
    ir.MatchTest: match_test,
}
