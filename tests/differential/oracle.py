"""What PyTorch does with a program: where it raises, and which error of the model that is."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from types import FrameType

FILENAME = "program.py"

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
    ("support the deepcopy protocol", "InvalidTensorUse"),
    ("cannot register a hook on a tensor", "InvalidTensorUse"),
    ("is not implemented", "InvalidTensorUse"),
)


@dataclass(frozen=True)
class Raise:
    """A place and the class of event that PyTorch's message means; `message` is its first line."""

    line: int
    event: str
    message: str


@dataclass(frozen=True)
class Run:
    """One run: its raise, if any, and the lines that were executed."""

    raised: Raise | None
    lines: frozenset[int]


def run(source: str, *, flag: bool = False) -> Run:
    """Execute a program in PyTorch, from the same state each time.

    Args:
        source: the program.
        flag: the value of the environment's FLAG that the program may ask for.
    """
    lines: set[int] = set()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != FILENAME:
            return None
        if event == "line":
            lines.add(frame.f_lineno)
        return trace

    os.environ["FLAG"] = "1" if flag else "0"
    torch.manual_seed(0)
    raised = None
    code = compile(source, FILENAME, "exec")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.settrace(trace)
        try:
            exec(code, {"__name__": "__main__"})
        except Exception as error:  # noqa: BLE001
            raised = _raise_of(error)
        finally:
            sys.settrace(None)
            torch.set_grad_enabled(True)
            os.environ.pop("FLAG", None)
    return Run(raised, frozenset(lines))


def _raise_of(error: Exception) -> Raise:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == FILENAME]
    # The engine calls the backward of a custom Function: the program's own place is the call of the engine.
    frames = [f for f in frames if f.name != "backward"]
    message = str(error)
    event = next((event for part, event in MESSAGES if part in message), "")
    first = f"{type(error).__name__}: {message}".splitlines()[0]
    return Raise(frames[-1].lineno or 0, event, first)
