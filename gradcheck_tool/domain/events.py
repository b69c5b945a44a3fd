"""What the abstract machine saw happen; rules judge these, never syntax trees.

An event names the place (`site`), the story that led to it (`story`, in program order) and the
facts a message needs, in the user's words (`tensor`, `root`, ... are source text such as
`scores` or `self.hidden`). Events that derive from `EngineError` are certain on the path that was
executed: the real engine raises `text` at `site`, and the path ends there.

Nothing changes an event once it is made. The classes are not frozen, and compare by identity, because each
would take twice as long to create, at every start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from gradcheck_tool import when

if TYPE_CHECKING:
    from gradcheck_tool.trigger import Trigger


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the analysed code: a node of one module, as the IR has them.

    `is_indirect` tells that the model of a library acts there, which the code at the place calls.
    """

    module: Any
    node: Any
    is_indirect: bool = field(default=False, compare=False)

    def __repr__(self) -> str:
        """Short: the trees of a whole module would follow otherwise."""
        return f"Site({self.module.filename}, {type(self.node).__name__})"


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One earlier thing that the event depends on."""

    site: Site
    message: str


@dataclass(slots=True, eq=False, kw_only=True)
class Event:
    """Base of all events. `in_loop` is true where the site is inside a loop of its function.

    `triggers` say what makes a function worth executing for rules that judge the event and declare none.
    """

    triggers: ClassVar[tuple[Trigger, ...]] = ()

    site: Site
    story: tuple[StoryStep, ...] = ()
    in_loop: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class EngineError(Event):
    """PyTorch raises here, with this text (the part that does not depend on run-time values)."""

    text: str


@dataclass(slots=True, eq=False, kw_only=True)
class FreedGraph(EngineError):
    """A backward reaches a node whose saved values an earlier backward freed.

    `cause` says how both calls met: `same-root`, `shared-subgraph`, `carried` (the value comes from
    an earlier iteration of the loop) or `outside-loop` (built before the loop that differentiates
    it). `freed_by` is the text of the earlier call.
    """

    triggers = when.DIFFERENTIATION

    root: str
    op: str
    freed_by: str
    cause: str
    carrier: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class SavedTensorModified(EngineError):
    """A backward needs a saved tensor whose storage was written since.

    `writer` is `inplace`, `optimizer` (a step), `parameter-update` (load_state_dict, init, copy into
    a parameter), or `buffer` (running statistics, embedding renormalisation). `tensor` is the text of
    `op` where the operation saved its own result. `carrier` is the text of what brings the graph of an
    earlier iteration into the root ('' where the graph is this iteration's own).
    """

    triggers = when.DIFFERENTIATION

    root: str
    tensor: str
    op: str
    writer: str
    write: str
    carrier: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class LeafWrite(EngineError):
    """An in-place operation on a leaf that requires grad (`through_view`: on a view of one)."""

    triggers = when.WRITES

    tensor: str
    write: str
    through_view: bool = False


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

    triggers = when.DIFFERENTIATION

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

    `reason` is `unused`, `no-grad` (the input does not require grad) or `rebound`.
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
    `inference-write`, `retain-grad-constant`, `out-with-grad`,
    `grad-size`, `hook-on-constant`, `not-implemented` (derivative not implemented), `closure-missing`,
    `detach-view`, `grad-count` (of gradient arguments), `hook-result`,
    `hook-on-result` (a post-accumulate hook), `optimizer-parameters` (none), `number-of-many`,
    `pack-hook` and `unpack-hook` (of saved tensors), `reentrant-inputs` (a reentrant checkpoint),
    `saved-detached` (cut off by detach_ since it was saved),
    `scalar-index` (indexing a 0-dim tensor, as in `loss.data[0]`).
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


@dataclass(slots=True, eq=False, kw_only=True)
class FunctionError(EngineError):
    """A custom autograd.Function breaks its contract in a way the engine notices.

    `kind`: `gradient-count`, `not-a-tuple`, `save-non-tensor`, `dirty-not-returned`, `instance-call`,
    `missing-backward`, `cleared-saved` (saved tensors read twice with clear_saved_tensors_on_access),
    `list-output`, `gradient-misfit` (a gradient that cannot be its input's), `backward-arguments` (backward
    cannot take a gradient for each output). The site is in the class where the fault is there: the returned
    value of backward or forward, the argument of save_for_backward, the call of mark_dirty, the second read.
    """

    triggers = when.CUSTOM_FUNCTIONS

    kind: str
    function: str
    detail: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class BackwardCall(Event):
    """A backward that does not raise. `accumulated` lists leaves whose `.grad` it added to.

    `breaks` lists what entered the root cut off. `constant_terms` are those of them that are whole
    summands of the root (`loss = a + b`, `loss += b`; `tensor` is the summand's text): a constant added
    to a loss has no effect on any gradient. `made_leaf` is the text of the call that turned the
    computed root into a leaf (`requires_grad_`, assigning requires_grad, `Variable(loss)`,
    `torch.tensor(loss, requires_grad=True)`), so that backward reaches nothing else; '' otherwise.
    `unreached` is a call in code that ran which would clear what is accumulated, but is never come to.
    """

    triggers = when.DIFFERENTIATION

    root: str
    retain_graph: bool
    create_graph: bool
    accumulated: tuple[Accumulation, ...] = ()
    breaks: tuple[GraphBreak, ...] = ()
    constant_terms: tuple[GraphBreak, ...] = ()
    made_leaf: str = ""
    unreached: Site | None = None


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """A value that required grad and entered a back-propagated root only through something that cuts
    history, so that its gradient is silently missing from an otherwise right backward.

    `kind` is `retensor` (torch.tensor, as_tensor or a constructor on tensors), `numpy`, `item`
    (item, float, int, tolist, math functions), `detach`, `data`, `no-grad`, `non-differentiable` or
    `create-graph` (the result of autograd.grad without create_graph). `tensor` is the text of the
    value that was cut, `call` the text of what cut it, `site` where.
    """

    kind: str
    tensor: str
    call: str
    site: Site


@dataclass(frozen=True, slots=True)
class Accumulation:
    """A `.grad` that already held an earlier backward's gradient when another was added.

    `stepped` is true when an optimizer step had consumed the earlier gradient in between, so that
    the next step would apply it again; `owner` is the optimizer's or module's text, `certain` is
    false when something unknown might have cleared it.
    """

    parameter: str
    owner: str
    stepped: bool
    earlier: Site
    step: Site | None
    certain: bool


@dataclass(slots=True, eq=False, kw_only=True)
class OptimizerStep(Event):
    """An optimizer steps; `in_loop` also where a function on the way to it is called in a loop.

    `gradients`: what its parameters' `.grad` are: `fresh`, `none` (nothing
    has back-propagated into them yet), `zeroed` (cleared after the last backward), `stale` (used by
    an earlier step already and not cleared), `scaled` (a GradScaler's scale is still on them) or
    `unknown`; one entry a kind that occurs. `scaler` is the text of the GradScaler whose `step` makes
    the call ('' for a plain step); it takes the scale off itself, so `scaled` is right there.
    `starved` lists parameters that took part in computing a root that was back-propagated since the
    last step, but whose every way into it is cut, so that no gradient can have reached them.
    """

    triggers = (*when.TRAINING, when.STEP)

    optimizer: str
    gradients: frozenset[str]
    scaler: str = ""
    starved: tuple[GraphBreak, ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class GradientsCleared(Event):
    """Gradients are cleared. `fresh` is true when a backward since the last step is thrown away."""

    triggers = when.TRAINING

    target: str
    fresh: bool


@dataclass(slots=True, eq=False, kw_only=True)
class ClipGradients(Event):
    """clip_grad_norm_ or clip_grad_value_; `gradients` as in `OptimizerStep`.

    `measures` is true when the returned norm is used or max_norm is infinite: the call may be there to
    log a norm, not to clip.
    """

    triggers = (when.CLIP_GRAD,)

    target: str
    gradients: frozenset[str]
    measures: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class GradRead(Event):
    """`.grad` of a tensor is read. `none_because` is `non-leaf`, `no-backward` or '' (not None).

    After retain_grad(), even one that came too late, PyTorch no longer warns: `late-retain` then.
    """

    triggers = (when.GRAD_ATTRIBUTE,)

    tensor: str
    is_leaf: bool | None
    none_because: str


@dataclass(slots=True, eq=False, kw_only=True)
class RetainGradCall(Event):
    """`retain_grad()`; `too_late` when the graph of the tensor has already been back-propagated."""

    triggers = (when.RETAIN_GRAD,)

    tensor: str
    too_late: bool


@dataclass(slots=True, eq=False, kw_only=True)
class UnversionedWrite(Event):
    """Data changed behind autograd's back (`.data`, numpy, ...) while a live graph had saved it, and a
    backward used it: the gradient is silently wrong. The site is the write.

    `recomputed`: nothing was saved; a checkpoint computes again, with the changed data.
    """

    triggers = when.DIFFERENTIATION

    tensor: str
    op: str
    how: str
    recomputed: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class NameUse(Event):
    """A resolved name of a library is used: `name` is fully qualified (`torch.autograd.Variable`).

    `keywords` are the keyword arguments where it is called, `called` whether it is. The site is the
    call where it is called, else the name.
    """

    name: str
    called: bool = False
    keywords: tuple[str, ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class MethodUse(Event):
    """A method or attribute of an abstract object: `receiver` is its kind (`tensor`, `module`,
    `optimizer`, `context`, `scaler`, `unknown`), `name` the attribute.
    """

    receiver: str
    subject: str
    name: str
    called: bool = False
    keywords: tuple[str, ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class FunctionDefinition(Event):
    """A subclass of torch.autograd.Function is defined; `methods` maps names to their IR."""

    triggers = when.CUSTOM_FUNCTIONS

    function: str
    methods: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False, kw_only=True)
class ScalerError(EngineError):
    """A GradScaler refuses a call.

    `kind`: `unscale-twice`, `unscale-after-step`, `step-twice` (no update() in between) or
    `never-scaled` (step or update, but no loss went through scale()).
    """

    triggers = (*when.TRAINING, when.SCALER, when.UNSCALE)

    kind: str
    scaler: str
    optimizer: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class SchedulerStep(Event):
    """A learning rate scheduler steps. `early` is true when its optimizer has certainly not stepped
    since the scheduler was made, although a step of it follows in the same loop.
    """

    triggers = (*when.TRAINING, when.STEP)

    scheduler: str
    optimizer: str
    early: bool


@dataclass(slots=True, eq=False, kw_only=True)
class WindowDiscarded(Event):
    """Gradients are cleared in every iteration, but the optimizer steps in every k-th only.

    The site is the clearing call; `condition` is the text of the modulo test on a counter that guards
    the step, in the same loop, or empty where the step follows the loop, in each round of one around it.
    All gradients but the last iteration's of a window are thrown away.
    """

    triggers = when.TRAINING

    target: str
    optimizer: str
    condition: str


@dataclass(slots=True, eq=False, kw_only=True)
class UncalledMethod(Event):
    """An expression statement names a method without calling it: `optimizer.zero_grad`.

    `receiver` is the kind of object as in `MethodUse`, known for certain.
    """

    triggers = (*when.TRAINING, when.STEP)

    receiver: str
    subject: str
    name: str


@dataclass(slots=True, eq=False, kw_only=True)
class DroppedResult(Event):
    """An expression statement calls something that only returns a new tensor: `x.detach()`, `x.to(d)`.

    `tensor` is the subject, `call` the text, `name` the method.
    """

    triggers = (when.DROPPED_COPY,)

    tensor: str
    call: str
    name: str


@dataclass(slots=True, eq=False, kw_only=True)
class ModuleAttribute(Event):
    """An `nn.Module` keeps in an attribute something that it does not register, and nothing else does.

    `kind`: `module-list` or `module-dict` (a list, tuple or dict that holds modules),
    `parameter-list` (a list, tuple or dict of Parameters), `tensor` (a leaf that requires grad and is
    no Parameter) or `moved-parameter` (`nn.Parameter(...).to()` and the like: a result, no Parameter).
    Emitted once a class, at the assignment, when the whole constructor has been executed and neither
    `add_module`, `register_*`, an `nn.Sequential(*...)` nor an optimizer got the elements.
    `call` is the text of the assigned value.
    """

    triggers = when.REGISTRATION

    module: str
    attribute: str
    kind: str
    call: str


@dataclass(slots=True, eq=False, kw_only=True)
class FlagWrite(Event):
    """An attribute is assigned on a tensor or module which the class does not define, or to no effect.

    `receiver` is `tensor`, `state-dict` (a tensor of one) or `module`, `name` the attribute
    (`require_grad`, `requires_grad`, ...). Attempts to freeze that assign nothing are `compared` (the flag
    is compared as a statement) and `rebound` (a name that nothing reads gets the detached parameter).
    Not emitted where the analysed class defines that attribute.
    """

    triggers = (when.REQUIRES_GRAD,)

    receiver: str
    subject: str
    name: str


@dataclass(slots=True, eq=False, kw_only=True)
class ExhaustedParameters(Event):
    """An iterator of parameters (`model.parameters()` kept in a variable) is used up already.

    `call` is the text of the use, `use` is `clip` or `loop`.
    """

    triggers = (*when.TRAINING, when.CLIP_GRAD)

    iterator: str
    call: str
    use: str


@dataclass(slots=True, eq=False, kw_only=True)
class ParameterReplaced(Event):
    """A module's parameter or sub-module is replaced after an optimizer took the old ones, and the
    new parameters are given to no optimizer although a step of `optimizer` follows. `is_new`: there was no
    parameter of this name before; `was_frozen`: it is the old one, which did not require grad until then.
    """

    triggers = when.TRAINING

    attribute: str
    optimizer: str
    is_new: bool = False
    was_frozen: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class GradModeMisuse(Event):
    """A grad mode is switched in a way that does not do what it says.

    `kind`: `not-called` (`with torch.no_grad:`), `bare` (`torch.no_grad()` as a statement),
    `never-restored` (`torch.set_grad_enabled(False)` as a statement, and no path of the program
    turns it on again before a forward that is trained), `enable-in-inference` (enable_grad inside
    inference_mode).
    """

    triggers = (when.MISUSED_GRAD_MODE, when.GRAD_MODE_IN_INFERENCE, when.INFERENCE_MODE)

    kind: str
    call: str


@dataclass(slots=True, eq=False, kw_only=True)
class GraphKept(Event):
    """A value with a graph is kept from one iteration to the next and no backward ever uses it.

    `kind`: `sum` (`total += loss`), `append` (a list or dict that outlives the loop) or `attribute`.
    `container` is what keeps it, `value` what is kept. Only emitted in grad mode and when the
    container is neither back-propagated nor passed to something unknown before its values are
    detached.
    """

    triggers = (*when.TRAINING, when.GATHERING_LOOP)

    container: str
    value: str
    kind: str


@dataclass(slots=True, eq=False, kw_only=True)
class FunctionDefect(Event):
    """A custom autograd.Function is wrong in a way that nothing raises.

    `kind`: `input-on-ctx` / `output-on-ctx` (a differentiable input, an output, kept as an attribute
    of ctx), `missing-return` (a path of backward returns nothing), `direct-forward` (`F.forward` is
    called instead of `F.apply`), `save-twice`, `unmarked-write` (forward writes an input in place
    without mark_dirty), `writes-cotangent` (backward writes its argument), `hidden-tensors` (tensors
    that require grad inside a list or dict argument of apply), `untracked-backward` (backward leaves
    autograd, by numpy, `.data` or no_grad, without once_differentiable), `not-static` (a method
    without @staticmethod) or `none-guard` (set_materialize_grads(False), and a gradient used without a
    test for None: Python raises there), `none-for-input` (backward returns a literal None for an argument
    from which forward's result is computed, and apply certainly gets a tensor there that requires
    grad), `state-on-class` (forward stores something on the class or a global that backward reads),
    `unused-ctx` (forward keeps something on ctx that no other method reads), `intermediate-kept` (a
    tensor that forward computes from an input, and does not return, is kept for backward, and the
    program differentiates the backward again: that part of the second derivative is missing),
    `unread-argument` (an argument that forward only puts on ctx, where no method reads it: it has no
    effect), `unread-saved` (save_for_backward, and no method reads saved tensors), `ignores-cotangent`
    (backward computes a gradient without reading the gradient that it is given) or `wrong-derivative` (the
    gradient of an elementwise Function is not what the values of its forward say).
    `detail` names the tensor, attribute or method.
    """

    triggers = when.CUSTOM_FUNCTIONS

    function: str
    kind: str
    detail: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class HookMisuse(Event):
    """A hook does what hooks may not.

    `kind`: `mutates-gradient` (a tensor or module backward hook writes its argument in place) or
    `returns-nothing` (a tensor hook binds a new value to its argument's name, or
    computes from it into a local that nothing else reads, and returns nothing on every path), for which
    `passes` says what therefore goes on unchanged: `gradient`, `output` or `input`.
    """

    triggers = (when.HOOK,)

    kind: str
    subject: str
    call: str
    passes: str = "gradient"


@dataclass(slots=True, eq=False, kw_only=True)
class CheckpointUse(Event):
    """`torch.utils.checkpoint.checkpoint` (or `checkpoint_sequential`) is called.

    `reentrant` is the value of use_reentrant, None where it is not given; `inputs_need_grad` tells
    whether one of the tensor arguments requires grad, None where that is unknown; `trains` whether the
    checkpointed function certainly has parameters that require grad.
    """

    triggers = (when.CHECKPOINT,)

    call: str
    reentrant: bool | None
    inputs_need_grad: bool | None
    trains: bool


@dataclass(slots=True, eq=False, kw_only=True)
class UnguardedNone(Event):
    """A gradient that is certainly None is used, and Python raises.

    `because` is `unused` (`autograd.grad(..., allow_unused=True)` returns it), `no-backward` (no backward has
    filled `.grad` yet) or `non-leaf` (none ever fills it).
    """

    triggers = (*when.DIFFERENTIATION, when.GRAD_ATTRIBUTE)

    input: str
    call: str
    because: str = "unused"


@dataclass(slots=True, eq=False, kw_only=True)
class UntrainedModule(Event):
    """A newly made module gets gradients in a loop, but no optimizer has its parameters.

    `is_parameter`: it is a parameter of a module, the rest of which is trained. Only emitted when its
    parameters require grad, nothing was loaded into it, no unknown code got them, and `optimizer`, which
    has other parameters of the same loss, steps in that loop. The site is where the optimizer is made.
    """

    triggers = when.TRAINING

    module: str
    optimizer: str
    is_parameter: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class EvalModeTraining(Event):
    """A module is trained in evaluation mode, by a place that has trained it in training mode before.

    The site is the call of `eval()`, after which a forward without gradients evaluated the module and
    nothing called `train()`. Only emitted for modules to which the mode matters (dropout, batch norm).
    """

    triggers = when.TRAINING

    module: str
    call: str
    optimizer: str


@dataclass(slots=True, eq=False, kw_only=True)
class DistributedMisuse(Event):
    """A protocol of torch.distributed or DistributedDataParallel is broken.

    `kind`: `inner-module` (`ddp.module(x)` computes a root that is back-propagated, so that gradients
    are not reduced), `no-sync-backward` (no_sync() is around backward but not around its forward, which
    decides), `inplace-collective` (all_reduce, broadcast or reduce of a tensor that requires grad, which
    is back-propagated afterwards) or `gather-detaches` (what all_gather or gather filled enters a root
    while the tensor that was sent requires grad and enters it in no other way).
    """

    triggers = (*when.DIFFERENTIATION, when.NO_SYNC)

    kind: str
    call: str
    subject: str
