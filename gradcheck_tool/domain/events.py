"""What the abstract machine saw happen; rules judge these, never syntax trees.

An event names the place (`site`), the story that led to it (`story`, in program order) and the
facts a message needs, in the user's words (`tensor`, `root`, ... are source text such as
`scores` or `self.hidden`). Those that derive from `EngineError` or `PythonError` are certain on the path that
was executed: PyTorch, or Python, raises at `site`, and the path ends there.

Nothing changes an event once it is made. The classes are not frozen, and compare by identity, because each
would take twice as long to create, at every start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from gradcheck_tool import when

if TYPE_CHECKING:
    from gradcheck_tool.domain.values import Ref, Text, Value
    from gradcheck_tool.findings import StepKind
    from gradcheck_tool.trigger import Trigger


@dataclass(unsafe_hash=True, slots=True)
class Site:
    """A place in the analysed code: a node of one module, as the IR has them.

    `is_indirect` tells that the model of a library acts there, which the code at the place calls. Nothing
    writes to a place; it is not frozen since one is made for nearly every instruction, which takes twice as
    long then.
    """

    module: Any
    node: Any
    is_indirect: bool = field(default=False, compare=False)

    def __repr__(self) -> str:
        """Short: the trees of a whole module would follow otherwise."""
        return f"Site({self.module.filename}, {type(self.node).__name__})"


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One earlier thing that the event depends on.

    `tensor` is the text of the tensor that it is about, `storage` the memory of that and `version` what stood
    for its version then; None where the step is about no memory.
    """

    site: Site
    message: str
    kind: StepKind = "note"
    tensor: Text = field(default="", compare=False)
    storage: Ref | None = field(default=None, compare=False)
    version: Value | None = field(default=None, compare=False)


@dataclass(slots=True, eq=False, kw_only=True)
class Event:
    """The base of all events. `in_loop` is true if the site is inside a loop of its function.

    `triggers` say what makes a function worth executing for rules that judge the event and declare no
    triggers of their own. `assumes` says in words what the event takes for granted from ordinary use,
    beyond what the code shows. `unit` is the qualified name of the function that showed the event when it
    was executed by itself, '' if top-level code leads there. `unless` lists attributes with their classes:
    the event does not hold if other files of the repository use them in a way that settles it otherwise.
    `unless_set` lists attributes for which only assignments in other files, and changes of what they hold,
    matter. `is_unconditional` is true for events that follow from the text alone, whatever is assumed about
    the unit around them.
    """

    triggers: ClassVar[tuple[Trigger, ...]] = ()
    is_unconditional: ClassVar[bool] = False

    site: Site
    story: tuple[StoryStep, ...] = ()
    in_loop: bool = False
    assumes: tuple[str, ...] = ()
    unit: str = ""
    unless: tuple[tuple[str, str], ...] = ()
    unless_set: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class EngineError(Event):
    """PyTorch raises here, with this text (the part that does not depend on run-time values)."""

    text: str


@dataclass(slots=True, eq=False, kw_only=True)
class PythonError(Event):
    """Python raises here, with this text (the part that does not depend on run-time values)."""

    text: str


@dataclass(slots=True, eq=False, kw_only=True)
class FreedGraph(EngineError):
    """A backward reaches a node whose saved values an earlier backward freed.

    `cause` says how the two calls are related: `same-root`, `shared-subgraph`, `carried` (the value comes
    from an earlier iteration of the loop) or `outside-loop` (built before the loop that differentiates it).
    `freed_by` is the text of the earlier call.
    """

    triggers = when.DIFFERENTIATION

    root: str
    op: str
    freed_by: str
    cause: str
    carrier: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class SavedTensorModified(EngineError):
    """A backward needs a saved tensor whose storage has been written since.

    `writer` is `inplace`, `optimizer` (a step), `parameter-update` (load_state_dict, init, copy into
    a parameter), or `buffer` (running statistics, embedding renormalisation). `tensor` is the text of
    `op` where the operation saved its own result. `carrier` is the text of what brings the graph of an
    earlier iteration into the root ('' where the graph is this iteration's own).
    """

    triggers = (
        *when.DIFFERENTIATION,
        when.FORWARD_WRITE,
        when.FORWARD_HELPER_WRITE,
        when.OPERATION_WRITE,
        when.LOSS_WRITE,
        when.WRITE_ELSEWHERE,
        when.FORWARD_INPLACE_LAYER,
    )

    root: str
    tensor: str
    op: str
    writer: str
    write: str
    carrier: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class LeafWrite(EngineError):
    """An in-place operation on a leaf that requires grad (`through_view`: on a view of one).

    `is_parameter`: it is a parameter of a module, and not a tensor that code in sight has made a leaf.
    """

    triggers = when.WRITES

    tensor: str
    write: str
    through_view: bool = False
    is_parameter: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class ViewWrite(EngineError):
    """An in-place operation that a view forbids.

    The text of a write to the output of a module with a full backward hook begins with PyTorch's `Output
    0 of BackwardHookFunction`, by which rules know it. `kind` is `multi-output`, `no-grad`, `function`,
    `expanded`, `detach` (detach_ on a view) or `inference`.
    """

    triggers = (*when.WRITES, *when.CUSTOM_FUNCTIONS, when.HOOK)

    tensor: str
    write: str
    kind: str


@dataclass(slots=True, eq=False, kw_only=True)
class NoGraph(EngineError):
    """backward or autograd.grad from something that has no graph.

    `reason` is why: `constant`, `no-grad`, `detach`, `data`, `item`, `numpy`, `retensor`,
    `non-differentiable`, `frozen`, `create-graph` (a gradient made without create_graph) or
    `unknown`. `call` is `backward` or `grad`.
    """

    triggers = (*when.DIFFERENTIATION, when.LOSS_CUT)

    root: str
    reason: str
    call: str


@dataclass(slots=True, eq=False, kw_only=True)
class NonScalarRoot(EngineError):
    """backward or grad of something that is not a single real number, without a gradient argument."""

    triggers = when.DIFFERENTIATION

    root: str
    call: str
    is_complex: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class UnusedInput(EngineError):
    """autograd.grad with respect to something the outputs do not depend on, or that requires no grad.

    `reason` is `unused`, `stand-in` (unused, and what is differentiated is computed from nothing), `no-grad`
    (the input does not require grad) or `rebound`.
    """

    triggers = when.DIFFERENTIATION

    input: str
    root: str
    reason: str


@dataclass(slots=True, eq=False, kw_only=True)
class InvalidTensorUse(EngineError):
    """Any other call that the engine refuses for this tensor.

    `kind` is one of: `numpy-on-grad`, `non-leaf-flag` (requires_grad = False on a non-leaf),
    `integer-grad`, `non-leaf-optimizer`, `non-leaf-deepcopy`, `resize-grad`, `inference-save`,
    `inference-write`, `retain-grad-constant`, `out-with-grad`, `grad-size`, `hook-on-constant`,
    `not-implemented` (derivative not implemented), `closure-missing`, `detach-view`, `grad-count` (of
    gradient arguments), `hook-result`, `hook-on-result` (a post-accumulate hook), `optimizer-parameters`
    (none), `number-of-many`, `pack-hook` and `unpack-hook` (of saved tensors), `reentrant-inputs` (a
    reentrant checkpoint), `saved-detached` (cut off by detach_ since it was saved), `scalar-index`
    (indexing a 0-dim tensor, as in `loss.data[0]`). `sizes` are those of a gradient and of its tensor, for
    `grad-size`. `is_off`: the tensor was computed while gradients were switched off. `is_certain`: the
    tensor requires a gradient because of a leaf that the code itself makes require one, whatever else is
    assumed.
    """

    triggers = (
        *when.TRAINING,
        *when.CUSTOM_FUNCTIONS,
        *when.WRITES,
        when.CHECKPOINT,
        when.DEEP_COPY,
        when.HOOK,
        when.NUMPY,
        when.OUT,
        when.PARAMETER,
        when.RETAIN_GRAD,
    )

    kind: str
    tensor: str
    call: str
    sizes: tuple[str, str] | None = None
    is_off: bool = False
    is_certain: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class FunctionError(EngineError):
    """A custom autograd.Function breaks its contract in a way the engine notices.

    `kind`: `gradient-count`, `not-a-tuple`, `save-non-tensor`, `dirty-not-returned`, `instance-call`,
    `missing-backward`, `cleared-saved` (saved tensors read twice with clear_saved_tensors_on_access),
    `gradient-misfit` (a gradient that does not fit its input), `backward-arguments` (backward cannot take a
    gradient for each output), `apply-arguments` (forward cannot take what apply is given). If the mistake is
    in the class, the site is there: the returned value of backward or forward, the argument of
    save_for_backward, the call of mark_dirty, the second read.
    """

    triggers = when.CUSTOM_FUNCTIONS

    kind: str
    function: str
    detail: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class UnversionedWrite(Event):
    """Data changed behind autograd's back (`.data`, numpy, ...) while a live graph had saved it, and a
    backward used it: the gradient is silently wrong. The site is the write.

    `unchecked`: why PyTorch compares no versions although it may count the write: a checkpoint computes
    again with the changed data (`recomputed`), or a custom Function keeps the tensor as an attribute
    (`on-ctx`).
    """

    triggers = when.DIFFERENTIATION

    tensor: str
    op: str
    how: str
    unchecked: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class ScalerError(EngineError):
    """A GradScaler refuses a call.

    `kind`: `unscale-twice`, `unscale-after-step`, `step-twice` (no update() in between) or
    `never-scaled` (step or update, but no loss went through scale()).
    """

    triggers = (*when.TRAINING, when.SCALER, when.UNSCALE)

    kind: str
    scaler: str
    method: str
    optimizer: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class UnguardedNone(PythonError):
    """A gradient that is certainly None is used like a tensor.

    `because` is `unused` (`autograd.grad(..., allow_unused=True)` returns it), `no-backward` (no backward has
    filled `.grad` yet), `frozen` (it does not require a gradient) or `non-leaf` (none ever fills it).
    """

    triggers = (*when.DIFFERENTIATION, when.GRAD_ATTRIBUTE)

    input: str
    call: str
    because: str = "unused"
