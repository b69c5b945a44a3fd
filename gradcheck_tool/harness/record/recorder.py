"""Keeps a few calls of each kind of every `autograd.Function` in this process."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode_stack

from gradcheck_tool.cache.store import digest
from gradcheck_tool.harness.record import store
from gradcheck_tool.harness.record.arguments import pack
from gradcheck_tool.harness.record.calls import (
    RecordedCall,
    digest_of,
    stored_cotangents,
    surroundings_now,
)
from gradcheck_tool.harness.record.interception import intercept
from gradcheck_tool.harness.record.kinds import kind_of, outline_of, sizes_of
from gradcheck_tool.harness.record.tensors import NotStorableError
from gradcheck_tool.trust.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MOST_CALLS = 12
_MOST_OF_A_KIND = 2
_LOOK_AT = 500
"""After so many different calls of a Function its further calls are not even looked at."""


@dataclass(slots=True)
class _Book:
    """What is known of one Function in this process.

    Attributes:
        open: more calls are wanted.
        filename: where it is defined.
        known: outlines of the calls that were looked at.
        kinds: the sizes kept of each kind.
    """

    open: bool
    filename: str | None = None
    known: set[tuple[Any, ...]] = field(default_factory=set)
    kinds: dict[str, list[Any]] = field(default_factory=dict)

    def knows(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a like call was looked at before. Almost every call ends here, so this is quick."""
        outline = outline_of(args, kwargs)
        if outline in self.known:
            return True
        self.known.add(outline)
        return False

    def wants(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """The kind of the call where it is worth keeping, else None."""
        if len(self.known) > _LOOK_AT or sum(map(len, self.kinds.values())) >= _MOST_CALLS:
            self.open = False
            return None
        kind, sizes = kind_of(args, kwargs), sizes_of(args, kwargs)
        known = self.kinds.setdefault(kind, [])
        if sizes in known or len(known) >= _MOST_OF_A_KIND:
            return None
        known.append(sizes)
        return kind


class Recorder:
    """Stores calls in a cache folder while it is installed."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._books: dict[type, _Book] = {}

    def install(self) -> Callable[[], None]:
        """Start to record; the result ends it."""
        books, keep = self._books, self._recorded

        def instead(cls: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            book = books.get(cls)
            if book is None:
                book = books[cls] = _open(cls)
            if not book.open or book.knows(args, kwargs):
                return call(*args, **kwargs)
            return keep(cls, book, call, args, kwargs)

        return intercept(instead)

    def _recorded(
        self, cls: Any, book: _Book, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call, and keep the call where it is worth it. Recording never changes what the program sees."""
        started = None if _in_the_way() else self._start(cls, book, args, kwargs)
        if started is None:
            return call(*args, **kwargs)
        outputs = call(*args, **kwargs)
        with _unseen():
            self._finish(started, outputs)
        return outputs

    def _start(
        self, cls: Any, book: _Book, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> RecordedCall | None:
        """The call before it is made: its arguments may change while it runs."""
        with _unseen():
            kind = book.wants(args, kwargs)
            if kind is None:
                return None
            begun = RecordedCall(cls.__module__, cls.__qualname__, book.filename, kind)
            try:
                begun.arguments = pack((args, kwargs))
            except NotStorableError as error:
                begun.problem = str(error)
        begun.surroundings = surroundings_now()
        return begun

    def _finish(self, begun: RecordedCall, outputs: Any) -> None:
        """The call after it was made: what it drew, what it returned; then wait for its gradients."""
        before, after = begun.surroundings, surroundings_now()
        if before is not None and _same_draws(before.random, after.random):
            begun.surroundings = replace(before, random=None)
        try:
            begun.outputs = digest_of(outputs) if begun.exact else None
        except NotStorableError:
            begun.outputs = None
        name = _name(begun)
        self._save(begun, name)
        node = _node_of(outputs)
        if node is None or begun.arguments is None:
            return

        def arrived(gradients: tuple[Tensor | None, ...]) -> None:
            handle.remove()
            with _unseen():
                try:
                    begun.cotangents = stored_cotangents(gradients)
                except NotStorableError:
                    return
                self._save(begun, name)

        handle = node.register_prehook(arrived)

    def _save(self, call: RecordedCall, name: str) -> None:
        try:
            store.save(self._cache, call, name)
        except OSError as error:
            sys.stderr.write(visible(f"gradlint: not recorded: {error}") + "\n")
            for book in self._books.values():
                book.open = False


def _open(cls: Any) -> _Book:
    """PyTorch's own Functions, those that its transforms generate, and ours are not recorded."""
    if cls.__module__.partition(".")[0] in ("torch", "gradcheck_tool"):
        return _Book(open=False)
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return _Book(open=True, filename=str(Path(file).resolve()) if file else None)


@contextmanager
def _unseen() -> Iterator[None]:
    """Neither autograd nor a tensor subclass or mode of the program notices what is done inside."""
    # PyTorch documents no other way.
    with torch.no_grad(), torch._C.DisableTorchFunction(), _disable_current_modes():  # noqa: SLF001
        yield


def _in_the_way() -> bool:
    """Whether tensors may be no tensors at the moment: tracing, fake tensors, transforms, graph capture."""
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():  # noqa: SLF001
        return True
    if any(not getattr(mode, "changes_nothing", False) for mode in _get_current_dispatch_mode_stack()):
        return True
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()  # type: ignore[no-untyped-call]


def _node_of(outputs: Any) -> Any:
    """The graph node that the call made; None where nothing requires grad."""
    for value in outputs if isinstance(outputs, (tuple, list)) else (outputs,):
        if isinstance(value, Tensor) and value.grad_fn is not None and hasattr(value.grad_fn, "_forward_cls"):
            return value.grad_fn
    return None


def _same_draws(before: Any, after: Any) -> bool:
    if before[:2] != after[:2] or (before[2] is None) != (after[2] is None):
        return False
    return before[2] is None or (before[2][1].tobytes(), before[2][2]) == (
        after[2][1].tobytes(),
        after[2][2],
    )


def _name(call: RecordedCall) -> str:
    sizes = [record.shape for record in call.arguments.tensors.tensors] if call.arguments else []
    return digest(f"{call.module} {call.filename} {call.kind} {sizes} {call.problem}".encode())[:16]
