"""What PyTorch does with a program: where it raises, and which error of the model that is."""

from __future__ import annotations

import functools
import math
import os
import re
import sys
import traceback
import warnings
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from tests.differential.saved_values import SavedValues

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

FILENAME = "program.py"
DRAWN = (
    ("torch.ones", "torch.rand"),
    ("torch.eye(3)", "torch.rand(3, 3)"),
    ("torch.tensor(1.5", "torch.tensor(0.4"),
)
# A step along a gradient of zero changes nothing, also one that is written out.
_STEP = re.compile(r"\b(\w+)\.data -= 0\.1 \* \1\.grad\b")
# What is written to numbers may change those alone that are none.
SCALES = (0.5, 1.5, 3.0, 6.0, math.nan)
# What keeps saved tensors from being looked at.
HIDING = ("use_reentrant", "torch.autograd.graph.")
LIMIT = 10_000

# A part of PyTorch's message, and the event that stands for it.
MESSAGES = (
    ("second time", "FreedGraph"),
    ("modified by an inplace", "SavedTensorModified"),
    ("leaf Variable that requires grad", "LeafWrite"),
    ("is a view and is being modified", "ViewWrite"),
    ("is a view and its base or another view", "ViewWrite"),
    ("view was created in", "ViewWrite"),
    ("view of a view which was created in", "ViewWrite"),
    ("of the written-to tensor refers to a single memory location", "ViewWrite"),
    ("Can't detach views in-place", "ViewWrite"),
    ("grad can be implicitly created only for scalar", "NonScalarRoot"),
    ("does not require grad and does not have a grad_fn", "NoGraph"),
    ("appears to not have been used", "UnusedInput"),
    ("One of the differentiated Tensors does not require grad", "UnusedInput"),
    ("an incorrect number of gradients", "FunctionError"),
    ("Inference tensors cannot be saved", "InvalidTensorUse"),
    ("Inference tensors do not track version", "InvalidTensorUse"),
    ("Inplace update to inference tensor", "InvalidTensorUse"),
    ("outside InferenceMode", "InvalidTensorUse"),
    ("that requires grad. Use tensor.detach().numpy()", "InvalidTensorUse"),
    ("you can only change requires_grad flags of leaf", "InvalidTensorUse"),
    ("can't optimize a non-leaf", "InvalidTensorUse"),
    ("can't retain_grad on Tensor", "InvalidTensorUse"),
    ("don't support automatic differentiation", "InvalidTensorUse"),
    ("can require gradients", "InvalidTensorUse"),
    ("cannot resize variables that require grad", "InvalidTensorUse"),
    ("support the deepcopy protocol", "InvalidTensorUse"),
    ("cannot register a hook on a tensor", "InvalidTensorUse"),
    ("is not implemented", "InvalidTensorUse"),
    ("has been detached in-place", "InvalidTensorUse"),
    ("Trying to backward outside of the 'allow_mutation_on_saved_tensors'", "InvalidTensorUse"),
    ("is incompatible with .grad() or passing an `inputs` parameter", "InvalidTensorUse"),
)


@dataclass(frozen=True)
class Raise:
    """A place and the class of event that PyTorch's message means; `message` is its first line."""

    line: int
    event: str
    message: str


Gradients = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Run:
    """One run: its raise, if any, the lines that were executed, and those whose raise the program caught.

    `foreign` is the message of an error that the program may have caught and that is not autograd's.
    `gradients` has for each backward that ended its line, and the `.grad` of the program's leaves then.
    `changed` are the lines of backward calls that used saved values which are other ones than were saved, where
    that was asked for.
    """

    raised: Raise | None
    lines: frozenset[int]
    caught: frozenset[int]
    foreign: str
    gradients: tuple[tuple[int, Gradients], ...]
    changed: frozenset[int] = frozenset()


def _copied(saved: torch.Tensor) -> torch.Tensor:
    """A copy that is laid out in the same way: with other strides some kernels give other results."""
    if saved.layout is not torch.strided or not saved.numel():
        return saved.clone()
    parts = zip(saved.shape, saved.stride(), strict=True)
    extent = 1 + sum((size - 1) * stride for size, stride in parts)
    memory = saved.detach().as_strided((extent,), (1,)).clone()
    return memory.as_strided(saved.shape, saved.stride())


class EndlessError(Exception):
    """The program runs on and on, as one does whose counter was taken out while it was shrunk."""


class _Watch:
    """Follows a run line by line; with `saved` also what its graphs save."""

    def __init__(self, saved: SavedValues | None = None) -> None:
        self.saved = saved
        self.changed: set[int] = set()
        self.lines: set[int] = set()
        self.caught: set[int] = set()
        self.foreign = ""
        self.gradients: list[tuple[int, Gradients]] = []
        self.steps = 0
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def __call__(self, frame: FrameType, event: str, about: Any) -> Any:
        if frame.f_code.co_filename != FILENAME:
            return None
        if event == "line":
            self.lines.add(frame.f_lineno)
            self.steps += 1
            if self.saved is not None:
                self.saved.look(frame.f_locals.values())
            if self.steps > LIMIT:
                raise EndlessError(f"more than {LIMIT} lines were executed")
        elif event == "exception":
            self.caught.add(frame.f_lineno)
            error = about[1]
            if isinstance(error, RuntimeError) and not event_of(str(error)):
                self.foreign = str(error)
        return self

    def compare(self, roots: object) -> None:
        """Look at what is saved, before a backward from these roots."""
        line = _line_of_program()
        if self.saved is not None and line is not None and self.saved.changed(roots):
            self.changed.add(line)

    def note(self) -> None:
        """Keep the gradients that there are after a backward."""
        line = _line_of_program()
        if line is not None:
            self.gradients.append((line, self._leaves()))

    def _leaves(self) -> Gradients:
        found: Gradients = {}
        for name, value in self.names.items():
            if isinstance(value, torch.Tensor) and not value._is_view() and value.is_leaf:
                found |= {name: value.grad.detach().clone()} if value.grad is not None else {}
            elif isinstance(value, torch.nn.Module):
                found |= {
                    f"{name}.{key}": p.grad.detach().clone()
                    for key, p in value.named_parameters()
                    if p.grad is not None
                }
        return found


def _line_of_program() -> int | None:
    """The line of the program that is running, not one in the backward of its custom Functions."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename != FILENAME or frame.f_code.co_name == "backward"):
        frame = frame.f_back
    return frame.f_lineno if frame is not None else None


@contextmanager
def _noting(watch: _Watch) -> Iterator[None]:
    """Let `backward` tell what it has left behind."""
    plain = torch.autograd.backward

    def backward(*args: Any, **kwargs: Any) -> None:
        watch.compare(args[0] if args else kwargs.get("tensors"))
        plain(*args, **kwargs)
        watch.note()

    torch.autograd.backward = backward  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.autograd.backward = plain


def run(source: str, *, flag: bool = False, copies: bool = False, saved: bool = False) -> Run:
    """Execute a program in PyTorch, from the same state each time.

    Args:
        source: the program.
        flag: the value of the environment's FLAG that the program may ask for.
        copies: save copies for backward, so that gradients are what the values of the forward pass give.
        saved: tell where backward used saved values that were changed.
    """
    watch = _Watch(SavedValues() if saved else None)
    os.environ["FLAG"] = "1" if flag else "0"
    torch.manual_seed(0)
    raised = None
    code = compile(source, FILENAME, "exec")
    keep = torch.autograd.graph.saved_tensors_hooks(_copied, lambda t: t) if copies else nullcontext()
    with warnings.catch_warnings(), _noting(watch), keep:
        warnings.simplefilter("ignore")
        sys.settrace(watch)
        try:
            exec(code, watch.names)
        except Exception as error:  # noqa: BLE001
            raised = _raise_of(error)
        finally:
            sys.settrace(None)
            torch.set_grad_enabled(True)
            os.environ.pop("FLAG", None)
    return Run(
        raised,
        frozenset(watch.lines),
        frozenset(watch.caught),
        watch.foreign,
        tuple(watch.gradients),
        frozenset(watch.changed),
    )


def changed_unseen(source: str, *, flag: bool) -> tuple[int | None, frozenset[int]]:
    """The line of the first backward that used values changed since the forward pass, without raising.

    Also the lines of the backward calls that came before it, or of all if there is none.
    """
    usual, wanted = run(source, flag=flag).gradients, run(source, flag=flag, copies=True).gradients
    before: set[int] = set()
    for (line, got), (other, right) in zip(usual, wanted, strict=False):
        if line != other:
            break
        if not _same(got, right):
            return line, frozenset(before)
        before.add(line)
    return None, frozenset(before)


def uses_changed(source: str, *, flag: bool) -> frozenset[int] | None:
    """The lines of backward calls that used changed values, whether or not the gradient depends on them.

    The program is run as it is and with other values: rounding ones, or a step along a gradient of zero, changes
    nothing. None where that cannot be looked at: reading what hooks or checkpoints
    keep would call them.
    """
    if any(word in source for word in HIDING):
        return None
    changed = run(source, flag=flag, saved=True).changed
    drawn = functools.reduce(
        lambda text, pair: text.replace(*pair), DRAWN, _STEP.sub(r"\1.data -= 0.1", source)
    )
    for scale in SCALES:
        with _other_values(scale):
            changed |= run(drawn, flag=flag, saved=True).changed
    return changed


@contextmanager
def _other_values(scale: float) -> Iterator[None]:
    """Draw what layers start from, not ones and zeros; scale what is drawn elsewhere; let every step change values."""
    init = torch.nn.init
    plain = init.ones_, init.zeros_, torch.rand
    init.ones_ = init.zeros_ = init.uniform_  # type: ignore[assignment]
    torch.rand = lambda *size, requires_grad=False, **options: (  # type: ignore[assignment]
        plain[2](*size, **options).mul_(scale).requires_grad_(requires_grad)
    )
    steps = register_optimizer_step_post_hook(_nudge)
    try:
        yield
    finally:
        steps.remove()
        init.ones_, init.zeros_, torch.rand = plain  # type: ignore[assignment]


def _nudge(optimizer: torch.optim.Optimizer, *_: Any) -> None:
    """Change what the optimizer has stepped along a gradient, be that zero, unseen by autograd."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.data.add_(0.01)


def _same(some: Gradients, others: Gradients) -> bool:
    """Are they the same but for rounding? (A copy may be laid out in another way, and summed in another.)"""
    return some.keys() == others.keys() and all(
        grad.shape == others[name].shape
        and torch.allclose(torch.nan_to_num(grad), torch.nan_to_num(others[name]), rtol=1e-4, atol=1e-6)
        for name, grad in some.items()
    )


def _raise_of(error: Exception) -> Raise:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == FILENAME]
    # The engine calls the backward of a custom Function: the program's own place is the call of the engine.
    frames = [f for f in frames if f.name != "backward"]
    first = f"{type(error).__name__}: {error}".splitlines()[0]
    return Raise(frames[-1].lineno or 0, event_of(str(error)), first)


def event_of(message: str) -> str:
    """The event that an error of PyTorch stands for; empty where it is not autograd's."""
    return next((event for part, event in MESSAGES if part in message), "")
