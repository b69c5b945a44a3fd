"""One try: call a Function with guessed arguments, forward and backward, and learn from how it ends."""

from __future__ import annotations

import ast
import linecache
import re
import signal
import threading
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.held import held_by_others
from gradcheck_tool.gradcheck.tree import flatten
from gradcheck_tool.harness import checkpoints, without_cuda
from gradcheck_tool.harness.alone import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType, TracebackType

    from gradcheck_tool.harness.inputs.synthesised.usage import Body

_SECONDS = 2.0
_MOST_ELEMENTS = 1 << 22
_LONGEST = 300
_OF_A_TUPLE = re.compile(r"\b(?:tuple|sequence)\b|converted to an index")
_NOT_HERE = re.compile(
    r"'_OpNamespace'|Could not run '.*' with arguments from the 'CPU' backend|No CUDA GPUs are available"
    r"|Found no NVIDIA driver|Torch not compiled with CUDA enabled"
    r"|is now removed|was removed in|module '[\w.]+' has no attribute"
)
"""Errors for want of an operator, a kernel for this device, another device, or an older library."""
_BACKWARD = 3
"""The stage of a try in backward."""
_BUILDERS = re.compile(
    r"^<frozen importlib|[\\/](?:numba[\\/]core|torch[\\/]_(?:dynamo|inductor)|triton[\\/]compiler)[\\/]"
)
"""Files whose code imports modules, or compiles functions."""
_DEEPEST = 3
"""Calls below forward or backward whose rows tell how far a try came."""


class TooSlowError(BaseException):
    """A try took too long. It is no Exception, so that code under trial does not swallow it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a try ended.

    Attributes:
        problem: empty where forward and backward ran and gave finite numbers.
        stage: 0 arguments, 1 forward, 2 outputs, 3 backward, 4 gradients, 5 done.
        rows: of their files that it came to: in forward or backward, then in what was called there.
        suspects: parameters that the first of these rows works on; empty where that is not known.
        gradients: for every tensor leaf of the arguments in order, whether a gradient came back.
        flat: every gradient is zero.
        miscounted: backward returned more or fewer gradients than forward has arguments.
        mistaken: backward takes a tuple of tensors, which no argument is, for a tensor, or reads a name that
            its file does not define.
        missing: it came to a module, an operator or a device that is not there, which other arguments seldom
            avoid.
    """

    problem: str
    stage: int
    rows: tuple[int, ...] = ()
    suspects: frozenset[str] = frozenset()
    gradients: tuple[bool, ...] = ()
    flat: bool = False
    miscounted: bool = False
    mistaken: bool = False
    missing: bool = False

    @property
    def progress(self) -> tuple[int, ...]:
        """How far it came; larger is farther."""
        return self.stage, *self.rows


def try_call(call: Callable[..., Any], args: Sequence[Any], bodies: Sequence[tuple[int, Body]]) -> Outcome:
    """Run forward and backward once.

    Args:
        call: `Function.apply` or any callable.
        args: its arguments; floating-point leaves that require grad are differentiated.
        bodies: the functions whose rows tell how far a try came, each with its stage.
    """
    leaves, rebuild = flatten(list(args))
    stage = 1
    try:
        with limited(), warnings.catch_warnings(), torch.enable_grad():
            warnings.simplefilter("ignore")
            # In-place Functions refuse leaves. What a module holds is to be the tensor that it holds.
            held = held_by_others(leaves)
            given = [
                x.clone() if isinstance(x, Tensor) and x.requires_grad and i not in held else x
                for i, x in enumerate(leaves)
            ]
            outputs = flatten(call(*rebuild(given)))[0]
            problem = _unfit(outputs)
            if problem:
                return Outcome(problem, 2)
            stage = _BACKWARD
            return _backward(leaves, outputs)
    except TooSlowError:
        return Outcome(f"works for longer than {_SECONDS:g} s", 0)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - guessed arguments make user code raise anything
        if joined(str(error)) or without_cuda.stays(str(error)) or checkpoints.allowed(str(error)):
            return try_call(call, args, bodies)
        outcome = _failed(error, stage, bodies)
        return replace(outcome, mistaken=outcome.mistaken and not any(map(_is_several, args)))


def _is_several(arg: Any) -> bool:
    return isinstance(arg, (tuple, list, dict))


def _unfit(outputs: list[Any]) -> str:
    """Why these outputs cannot be differentiated; empty where they can."""
    tensors = [y for y in outputs if isinstance(y, Tensor) and y.requires_grad]
    if not tensors:
        return "no output requires grad"
    if sum(y.numel() for y in tensors) == 0:
        return "the outputs are empty"
    if sum(y.numel() for y in tensors) > _MOST_ELEMENTS:
        return "the outputs are huge"
    if not all(_finite(y) for y in tensors):
        return "an output is not finite"
    return ""


def _backward(leaves: Sequence[Any], outputs: list[Any]) -> Outcome:
    asked = [x for x in leaves if isinstance(x, Tensor) and x.requires_grad]
    tensors = [y for y in outputs if isinstance(y, Tensor) and y.requires_grad]
    generator = torch.Generator().manual_seed(1)
    cotangents = [torch.randn(y.shape, generator=generator).to(y) for y in tensors]
    found = torch.autograd.grad(tensors, asked, cotangents, allow_unused=True)
    if all(g is None for g in found):
        return Outcome("backward returns no gradient", 4)
    if not all(_finite(g) for g in found if g is not None):
        return Outcome("a gradient is not finite", 4)
    came = iter(g is not None for g in found)
    pattern = tuple(
        next(came) if isinstance(x, Tensor) and x.requires_grad else False
        for x in leaves
        if isinstance(x, Tensor)
    )
    flat = not any(bool((g != 0).any()) for g in found if g is not None)
    return Outcome("", 5, gradients=pattern, flat=flat)


def _finite(value: Tensor) -> bool:
    value = value.detach()
    value = value.to_dense() if value.layout != torch.strided else value
    return bool(torch.isfinite(value).all())


def _failed(error: BaseException, stage: int, bodies: Sequence[tuple[int, Body]]) -> Outcome:
    """Where in forward or backward an exception came from."""
    problem = f"{type(error).__name__}: {_shortened(' '.join(str(error).split()))}"
    # A program ends where what it needs is absent; arguments are refused with exceptions.
    missing = (
        isinstance(error, (ImportError, SystemExit))
        or _NOT_HERE.search(problem) is not None
        or _failed_to_import(error)
    )
    problem += _asserted(error)
    by_code = {id(body.code): (at, body) for at, body in bodies}
    trace, place = error.__traceback__, None
    deeper: list[TracebackType] = []
    while trace is not None:
        known = by_code.get(id(trace.tb_frame.f_code))
        place, deeper = ((*known, trace), []) if known else (place, [*deeper, trace])
        trace = trace.tb_next
    if place is None:
        miscounted = "incorrect number of gradients" in problem
        return Outcome(problem, stage if stage > 1 else 0, miscounted=miscounted, missing=missing)
    at, body, here = place
    suspects = _passed_on(here, deeper) or body.suspects(here.tb_lineno)
    own = at == _BACKWARD and not deeper
    mistaken = own and (_takes_a_tuple(error, here) or _is_undefined(error, here))
    rows = (here.tb_lineno, *(trace.tb_lineno for trace in deeper[:_DEEPEST]))
    return Outcome(problem, at, rows, suspects, mistaken=mistaken, missing=missing)


def _asserted(error: BaseException) -> str:
    """The condition of an `assert` that failed, which says more than its message."""
    trace = error.__traceback__ if isinstance(error, AssertionError) else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    rows = (node for node in _statements(trace.tb_frame.f_code.co_filename) if isinstance(node, ast.Assert))
    failed = next((n for n in rows if n.lineno <= trace.tb_lineno <= (n.end_lineno or n.lineno)), None)
    return "" if failed is None else f" (assert {_shortened(ast.unparse(failed.test))})"


def _failed_to_import(error: BaseException) -> bool:
    """Whether a name is not there that the file would have imported, had it been able to."""
    if not isinstance(error, NameError) or isinstance(error, UnboundLocalError) or not error.name:
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and error.name in _imported(trace.tb_frame.f_code.co_filename)


@lru_cache(maxsize=32)
def _imported(filename: str) -> frozenset[str]:
    """The names that the imports of a file, wherever they stand, give something."""
    imports = (n for n in ast.walk(_parsed(filename)) if isinstance(n, (ast.Import, ast.ImportFrom)))
    return frozenset(
        (alias.asname or alias.name).partition(".")[0] for node in imports for alias in node.names
    )


def _takes_a_tuple(error: BaseException, here: TracebackType) -> bool:
    """Whether a row failed because a tuple of tensors stands where a tensor should."""
    if isinstance(error, AttributeError):
        return _is_of_tensors(error.obj)
    if not isinstance(error, TypeError) or not _OF_A_TUPLE.search(str(error)):
        return False
    return any(_is_of_tensors(here.tb_frame.f_locals.get(name)) for name in _names_at(here))


def _is_undefined(error: BaseException, here: TracebackType) -> bool:
    """Whether a row failed because of a name that its file defines nowhere, nor tries to import."""
    if not isinstance(error, NameError) or isinstance(error, UnboundLocalError) or not error.name:
        return False
    filename = here.tb_frame.f_code.co_filename
    known = _defined(filename)
    return bool(known) and not known & {error.name, "*"}


@lru_cache(maxsize=32)
def _defined(filename: str) -> frozenset[str]:
    """The names to which the top of a file, or a `global`, gives something; `*` for a star import."""
    tree = _parsed(filename)
    found = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    pending: list[ast.AST] = [*tree.body]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        pending += ast.iter_child_nodes(node)
    return frozenset(found)


def _is_of_tensors(value: Any) -> bool:
    return type(value) is tuple and bool(value) and all(isinstance(x, Tensor) for x in value)


def _passed_on(here: TracebackType, deeper: Sequence[TracebackType]) -> frozenset[str]:
    """Of the names in a frame, those whose values the row works on at which a function called there failed.

    The innermost function that was handed any of them counts; where one value has several names, the one that
    goes by the same name in both.
    """
    mine = {name: value for name, value in here.tb_frame.f_locals.items() if name not in ("ctx", "self")}
    for trace in reversed(deeper):
        used = {name: trace.tb_frame.f_locals.get(name, here) for name in _names_at(trace)}
        found = {name for name, value in mine.items() if any(value is other for other in used.values())}
        if found:
            return frozenset(found & set(used) or found)
    return frozenset()


@lru_cache(maxsize=32)
def _parsed(filename: str) -> ast.Module:
    """A file; an empty one where it cannot be parsed."""
    try:
        return ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


@lru_cache(maxsize=32)
def _statements(filename: str) -> tuple[ast.stmt, ...]:
    """The statements of a file, those inside others after them."""
    return tuple(node for node in ast.walk(_parsed(filename)) if isinstance(node, ast.stmt))


def _names_at(trace: TracebackType) -> set[str]:
    """The names in the statement at which a frame failed."""
    row = trace.tb_lineno
    around = [
        node
        for node in _statements(trace.tb_frame.f_code.co_filename)
        if node.lineno <= row <= (node.end_lineno or node.lineno)
    ]
    return {node.id for node in ast.walk(around[-1]) if isinstance(node, ast.Name)} if around else set()


def _shortened(text: str) -> str:
    """Both ends of a long text: what a compiler of its own raises says the cause at the end."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"


@contextmanager
def limited() -> Iterator[None]:
    """Raise `TooSlowError` after some seconds of work, where a signal can: in the main thread of Unix."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def late(_: int, frame: FrameType | None) -> None:
        # A module whose import is cut short stays broken for the rest of the process, and what is compiled
        # on the first call would be compiled anew on every other.
        if _building(frame):
            signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        else:
            raise TooSlowError

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _building(frame: FrameType | None) -> bool:
    """Whether a module is being imported, or a function compiled."""
    while frame is not None:
        if _BUILDERS.search(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False
