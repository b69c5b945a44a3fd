"""Which judge knows what an exception of PyTorch means: by its text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from torch import Tensor
from torch.multiprocessing.spawn import ProcessRaisedException

from gradcheck_tool.sanitizer.judges import disordered, freed, hooks, modified, no_gradient, roots
from gradcheck_tool.sanitizer.judges.exception import Raised
from gradcheck_tool.sanitizer.judges.plain import (
    Judge,
    base_written,
    copied,
    hooks_set,
    inputs_given,
    made_in_inference,
    refused,
    refused_forward,
    refused_function,
    refused_tensor,
    viewed,
)
from gradcheck_tool.sanitizer.sites import site_of_traceback

if TYPE_CHECKING:
    from gradcheck_tool.sanitizer.records import Records
    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.told import Told

_VIEW = "is a view and is being|is a view of a view which|A view was created in (?:no_grad|inference) mode"
_HOOK = (
    "can't retain_grad on Tensor|cannot register a hook on a tensor that doesn't require|"
    "post accumulate grad hooks cannot be registered on non-leaf"
)
_TABLE: tuple[tuple[str, Judge], ...] = (
    ("modified by an inplace operation: ", modified.judge),
    ("backward through the graph a second time|have already been freed", freed.judge),
    ("does not require grad and does not have a grad_fn", roots.no_graph),
    ("grad can be implicitly created only for (?:real )?scalar outputs", roots.non_scalar),
    ("not have been used in the graph|One of the differentiated Tensors does not require grad", roots.unused),
    (
        "`inputs` argument to `backward\\(\\)` cannot be empty",
        refused("GL105", "is given no inputs", inputs_given),
    ),
    (
        "a (?:view of a )?leaf Variable that requires grad (?:is being|has been) used in an in-place",
        refused_tensor("GL301", "writes in place to a leaf that requires grad, while gradients are recorded"),
    ),
    ("Output 0 of BackwardHookFunction is a view", hooks.writes),
    (
        "is a view and its base",
        refused_tensor(
            "GL204",
            "uses one of several views of a tensor that was written to since",
            after=base_written,
            fits=Tensor._is_view,
        ),
    ),
    (
        _VIEW,
        refused_tensor(
            "GL204", "writes in place to a view that PyTorch does not let be written to", before=viewed
        ),
    ),
    (
        "more than one element of the written-to tensor refers to a single memory location",
        refused_tensor("GL206", "writes to an expanded tensor, several elements of which share their memory"),
    ),
    (
        "Inference tensors cannot be saved for backward|(?:Inplace update to|=True on) inference tensor",
        refused_tensor(
            "GL207",
            "uses a tensor made in inference mode where gradients are recorded",
            after=made_in_inference,
            fits=Tensor.is_inference,
        ),
    ),
    (
        "Inference tensors do not track version counter",
        refused_tensor(
            "GL207",
            "needs the version of a tensor made in inference mode, which has none",
            fits=Tensor.is_inference,
        ),
    ),
    (
        "don't support automatic differentiation, but one of the arguments requires grad",
        refused_tensor("GL208", "writes its result with out= into, or from, a tensor that requires grad"),
    ),
    (
        "cannot resize variables that require grad",
        refused_tensor("GL209", "resizes a tensor that requires grad"),
    ),
    ("Can't detach views in-place", refused_tensor("GL210", "detaches a view in place")),
    ("has been detached in-place", refused("GL210", "needs a saved tensor that `detach_` has cut off")),
    ("can't optimize a non-leaf Tensor", refused("GL304", "gives an optimizer a tensor that is no leaf")),
    (
        "only (?:T|t)ensors of floating point|Only Tensors of floating point",
        refused_tensor("GL305", "asks for the gradient of a tensor of integers"),
    ),
    (
        "you can only change requires_grad flags of leaf",
        refused_tensor("GL306", "changes the flag of a computed tensor"),
    ),
    (
        "support the deepcopy protocol",
        refused(
            "GL307",
            "copies a tensor that an operation computed, which has its graph with it",
            copied,
        ),
    ),
    (
        "data set to a tensor that requires gradients must be",
        refused("GL320", "makes the values of a leaf integers"),
    ),
    (
        "cannot be converted to Scalar|only one element tensors can be",
        refused_tensor("GL323", "takes one number from many"),
    ),
    ("requires_grad must be a bool", refused("GL324", "sets the flag to what is no bool")),
    (
        "step\\(\\) missing 1 required positional argument: 'closure'",
        refused("GL407", "steps without a closure"),
    ),
    (
        "No inf checks were recorded|Attempted step but _sc|(?:unscale_|step)\\(\\) (?:has already|is being)",
        disordered.judge,
    ),
    ("'NoneType'", no_gradient.judge),
    (
        "attempting to assign a gradient of size",
        refused("GL309", "assigns a gradient whose size is not that of the tensor"),
    ),
    (
        _HOOK,
        refused_tensor("GL310", "asks for the gradient of a tensor that gets none"),
    ),
    (
        "Can't call numpy\\(\\) on Tensor that requires grad",
        refused_tensor("GL502", "turns a tensor with a graph to NumPy"),
    ),
    (
        "derivative for .* is not implemented",
        refused("GL508", "goes through an operation without derivative", roots.underived),
    ),
    (
        "returned an incorrect number of gradients",
        refused_function(
            "GL701",
            "goes through a Function whose backward returns more or fewer gradients than forward has inputs",
        ),
    ),
    (
        "save_for_backward can only save variables",
        refused_forward("GL703", "saves what is no tensor", "save_for_backward"),
    ),
    (
        "marked as dirty during the forward method were not returned",
        refused_forward("GL704", "does not return what it marks", "mark_dirty"),
    ),
    ("Legacy autograd function", refused("GL705", "calls an instance of a Function")),
    (
        "You must implement either the backward or vjp",
        refused_function("GL706", "goes through a Function without backward"),
    ),
    ("can only be accessed once", refused("GL719", "reads what was saved a second time")),
    (
        "returned an invalid gradient at index|expected shape compatible with",
        refused_function(
            "GL727", "goes through a Function whose backward returns a gradient that does not fit its input"
        ),
    ),
    (
        "hooks should return None",
        refused("GL814", "runs a post-accumulate hook that returns something", hooks.after),
    ),
    (
        "has changed the (?:size|type) of value|expected Variable, but hook returned",
        refused("GL815", "runs a hook that returns what is no gradient of its tensor", hooks.on_tensors),
    ),
    (
        "outside of the 'allow_mutation_on_saved_tensors'|saved tensor (?:un)?pack_hook",
        refused("GL816", "meets hooks on saved tensors that do not do what PyTorch asks of them", hooks_set),
    ),
    (
        "When use_reentrant=True, torch.utils.checkpoint is incompatible",
        refused("GL817", "goes through a reentrant checkpoint"),
    ),
)
_JUDGES = tuple((re.compile(pattern), judge) for pattern, judge in _TABLE)


def explain(error: BaseException, records: Records) -> list[Told]:
    """What an exception means, and those that it was raised from or while handling."""
    found: list[Told] = []
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        told = _explained(following, records)
        if told is not None:
            found.append(told)
        following = following.__cause__ or following.__context__
    return found


def went_on(error: BaseException, records: Records, site: Site) -> list[Told]:
    """What an error means that nothing raises: the run goes on, which it says."""
    told = _judged(error, records, site)
    return [] if told is None else [replace(told, evidence={**told.evidence, "went_on": "yes"})]


def _explained(error: BaseException, records: Records) -> Told | None:
    site = site_of_traceback(error.__traceback__)
    if site is None or isinstance(error, ProcessRaisedException):
        return None  # what another process raised is told there
    return _judged(error, records, site)


def _judged(error: BaseException, records: Records, site: Site) -> Told | None:
    text = str(error)
    judge = next((judge for pattern, judge in _JUDGES if pattern.search(text)), None)
    return None if judge is None else judge(Raised(error, records, site))
