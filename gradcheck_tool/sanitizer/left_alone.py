"""What of a run is left alone: compiled functions, other hooks, other threads and other processes."""

from __future__ import annotations

import multiprocessing.process
import os
import re
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from gradcheck_tool.report.not_watched import HOOKS, PROCESS, THREAD, NotWatched
from gradcheck_tool.sanitizer.compiled import compiled_functions
from gradcheck_tool.sanitizer.logs import log_here
from gradcheck_tool.sanitizer.replacing import replaced
from gradcheck_tool.sanitizer.sites import first_row, here, source_text
from gradcheck_tool.startup.launch import START

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import FrameType

    from gradcheck_tool.sanitizer.passes import Pass, Passes
    from gradcheck_tool.sanitizer.sites import Site

_FOLLOWED = ("torch.utils.checkpoint",)
"""Modules whose saved-tensor hooks are followed."""
_WORKERS = tuple(
    str(Path(torch.__file__).parent.joinpath(*parts)) for parts in (("utils", "data"), ("_inductor",))
)
"""Code that starts processes which load data or compile, and differentiate nothing."""
_PYTHON = re.compile(r"(?i)(python|pypy)[0-9.]*(\.exe)?$")


@dataclass(slots=True)
class LeftAlone:
    """What one process has left alone, in the order in which it was met."""

    passes: Passes
    _met: dict[NotWatched, None] = field(default_factory=dict)

    def meets(self, why: str, site: Site | None) -> None:
        """Something happens that leads out of the watch."""
        if site is not None:
            place = first_row(site.location)
            what = source_text(place).rstrip(":") or site.function
            self._met[NotWatched(what, why, place)] = None

    def pass_begins(self, begun: Pass, _: object) -> None:
        """A pass begins, perhaps in a thread that is not watched; the engine has threads of its own."""
        if log_here() is None and self.passes.current is None:
            self.meets(THREAD, begun.site)

    def all(self) -> list[NotWatched]:
        """All of it."""
        return [*compiled_functions(), *self._met]


@contextmanager
def ways_out_watched(left_alone: LeftAlone) -> Iterator[None]:
    """What leads out of the watch inside is noted."""
    with ExitStack() as stack:
        stack.enter_context(_hooks_noted(left_alone))
        stack.enter_context(_processes_noted(left_alone))
        yield


@contextmanager
def _hooks_noted(left_alone: LeftAlone) -> Iterator[None]:
    original = saved_tensors_hooks.__enter__

    @wraps(original)
    def enter(hooks: saved_tensors_hooks) -> None:
        original(hooks)
        if type(hooks).__module__ not in _FOLLOWED and not torch.compiler.is_compiling():
            left_alone.meets(HOOKS, here())

    with replaced(saved_tensors_hooks, __enter__=enter):
        yield


@contextmanager
def _processes_noted(left_alone: LeftAlone) -> Iterator[None]:
    """Processes that are started with our variables in their environment are watched."""
    popen: Any = subprocess.Popen
    process: Any = multiprocessing.process.BaseProcess
    init, start = popen.__init__, process.start

    @wraps(init)
    def begins(one: Any, args: Any, *others: Any, **options: Any) -> None:
        init(one, args, *others, **options)
        if not _is_worker() and runs_python_outside(args, options.get("env")):
            left_alone.meets(PROCESS, here())

    def replaces(original: Any) -> Any:
        @wraps(original)
        def execute(path: Any, args: Any, *environment: Any) -> Any:
            if runs_python_outside([path, *args[1:]], *(environment or (None,))):
                left_alone.meets(PROCESS, here())
            return original(path, args, *environment)

        return execute

    @wraps(start)
    def starts(one: Any) -> None:
        start(one)
        if START not in os.environ and not _is_worker():
            left_alone.meets(PROCESS, here())

    executes = {name: replaces(getattr(os, name)) for name in ("execv", "execve")}
    with replaced(popen, __init__=begins), replaced(process, start=starts), replaced(os, **executes):
        yield


def runs_python_outside(args: Any, environment: Mapping[str, str] | None) -> bool:
    """Does a command run Python, without the variables by which the watch begins there?"""
    words = args.split() if isinstance(args, str) else args
    if not isinstance(words, (list, tuple)) or not words or not isinstance(words[0], (str, os.PathLike)):
        return False
    if _PYTHON.search(os.fspath(words[0])) is None:
        return False
    return START not in (os.environ if environment is None else environment) or _looks_away(words[1:])


def _looks_away(words: Sequence[Any]) -> bool:
    """Do options of Python keep it from its environment (`-I`, `-E`) or from `site` (`-S`)?"""
    for word in words:
        if not isinstance(word, str) or not word.startswith("-") or word[1:2] in ("", "-", "c", "m"):
            return False
        if set(word[1:]) & set("IES"):
            return True
    return False


def _is_worker() -> bool:
    """Is it PyTorch itself that starts a process?"""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith(_WORKERS):
            return True
        frame = frame.f_back
    return False
