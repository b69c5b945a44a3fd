"""What PyTorch says when it refuses something, and how the model raises it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import EngineError, InvalidTensorUse, StoryStep

if TYPE_CHECKING:
    from gradcheck_tool.domain.graph import Tensor
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Ref
    from gradcheck_tool.findings import StepKind

LEAF_WRITE = "a leaf Variable that requires grad is being used in an in-place operation."
LEAF_VIEW_WRITE = "a view of a leaf Variable that requires grad is being used in an in-place operation."

MULTI_VIEW = (
    "is a view and is being modified inplace. This view is the output of a function that returns multiple "
    "views. "
    "Such functions do not allow the output views to be modified inplace."
)

MULTI_VIEW_BASE = "is a view and its base or another view of its base has been modified inplace."
NO_GRAD_VIEW = "A view was created in no_grad mode and is being modified inplace with grad mode enabled."

NO_GRAD_VIEW_BASE = (
    "A view was created in no_grad mode and its base or another view of its base has been modified inplace "
    "with grad mode enabled."
)

INFERENCE_VIEW = "A view was created in inference mode and is being modified inplace in normal mode."

INFERENCE_VIEW_BASE = (
    "A view was created in inference mode and its base or another view of its base has been modified inplace "
    "in normal mode."
)

FUNCTION_VIEW = "is a view and is being modified inplace. This view was created inside a custom Function"

FUNCTION_VIEW_BASE = (
    "is a view and its base or another view of its base has been modified inplace. "
    "This view was created inside a custom Function"
)

INFERENCE_WRITE = "Inplace update to inference tensor outside InferenceMode is not allowed."

OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory "
    "location."
)

INFERENCE_SAVE = "Inference tensors cannot be saved for backward."

# Views that must not be written to: what PyTorch says then, where they come from, and what it says when they
# are used after a write to their base.
FORBIDDING = {
    "multi-output": (
        MULTI_VIEW,
        "this view comes out of an op that returns several views",
        MULTI_VIEW_BASE,
    ),
    "no-grad": (NO_GRAD_VIEW, "this view is made under no_grad", NO_GRAD_VIEW_BASE),
    "inference": (INFERENCE_VIEW, "this view is made in inference mode", INFERENCE_VIEW_BASE),
    "function": (FUNCTION_VIEW, "this view is made inside a custom Function", FUNCTION_VIEW_BASE),
}


class Raised(Exception):
    """The analysed program raises here. `event` says what the engine raises, None for other causes."""

    def __init__(self, event: EngineError | None, kind: str = "RuntimeError") -> None:
        super().__init__(kind)
        self.event = event
        self.kind = kind


def story(
    site: Any,
    message: str,
    kind: StepKind = "note",
    tensor: Tensor | None = None,
) -> StoryStep:
    """One step of the story of an event, about a tensor if one is given."""
    if tensor is None:
        return StoryStep(site, message, kind)
    return StoryStep(site, message, kind, tensor.name, tensor.storage)


def called(s: State, ref: Ref) -> str:
    """What the running function calls a tensor; where it has no name there, what it was called first."""
    first = str(s[ref].name)
    running = [at for at in s.frames if not s.fixed(at).env.is_model]
    variables = s[running[-1]].locals if running else {}
    names = [name for name, held in variables.items() if held == ref and isinstance(name, str)]
    return first if first in names or not names else names[0]


def with_gaps(text: str) -> str:
    """A text with sizes, where a gap stands for those that are not known."""
    return text.replace("?", "...")


def refused(
    site: Any,
    tensor: Tensor,
    why: str,
    text: str,
    kind: str,
    call: str,
    error: str = "RuntimeError",
    *,
    is_certain: bool = False,
) -> Raised:
    """The error of a call that the engine refuses for a tensor; `why` is reported at the tensor's place."""
    return Raised(
        InvalidTensorUse(
            site=site,
            story=(story(tensor.site, why, "made", tensor),),
            text=text,
            kind=kind,
            tensor=str(tensor.name),
            call=call,
            is_off=tensor.detached_because == "no-grad",
            is_certain=is_certain,
        ),
        error,
    )


TWICE = "Trying to backward through the graph a second time"
MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"
NO_GRAPH_AT = "element {} of tensors does not require grad and does not have a grad_fn"
NON_SCALAR = "grad can be implicitly created only for scalar outputs"
NOT_REAL = "grad can be implicitly created only for real scalar outputs"
UNUSED = "The differentiated Tensor at index {} appears to not have been used in the graph."

REENTRANT = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
    "parameter to .backward()."
)

DETACHED = "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
NOT_REQUIRED = "One of the differentiated Tensors does not require grad"
