"""What the trackers that are built in report, besides what the interpreter and the models report themselves.

These are the events that several rules judge, or that the trackers of one concern share. What serves a single
rule is defined in that rule's file, beside its tracker. The module is light: all rules load it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradcheck_tool import when
from gradcheck_tool.domain.events import Event, Site

if TYPE_CHECKING:
    from gradcheck_tool.domain.graph import GraphCut


@dataclass(slots=True, eq=False, kw_only=True)
class NameUse(Event):
    """A resolved name of a library is used: `name` is fully qualified (`torch.autograd.Variable`).

    `called` says whether it is called, and `keywords` are the keyword arguments of the call. The site is
    the call, or the name if it is not called.
    """

    is_unconditional = True

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
    """An `nn.Module` keeps something in an attribute that neither it nor anything else registers.

    `kind`: `module-list` or `module-dict` (a list, tuple or dict that holds modules), `mode-list` or
    `mode-dict` (of modules without state, some of which compute something else in training),
    `parameter-list` (a list, tuple or dict of Parameters), `tensor` (a leaf that requires grad and is no
    Parameter) or `moved-parameter` (`nn.Parameter(...).to()` and the like: a result, no Parameter). Emitted
    once per class, at the assignment, when the whole constructor has been executed and neither
    `add_module`, `register_*`, an `nn.Sequential(*...)` nor an optimizer got the elements. `call` is the
    text of the assigned value.
    """

    triggers = when.REGISTRATION

    module: str
    attribute: str
    kind: str
    call: str


@dataclass(slots=True, eq=False, kw_only=True)
class GradModeMisuse(Event):
    """A grad mode is switched in a way that does not have the effect it seems to have.

    `kind`: `not-called` (`with torch.no_grad:`), `bare` (`torch.no_grad()` as a statement), `tested` (it is
    used as a condition), `yielded` (a generator-based context manager yields it and does not enter it),
    `never-restored` (`torch.set_grad_enabled(False)` as a statement, and no path of the program turns it on
    again before a forward that is trained), `enable-in-inference` (enable_grad inside inference_mode).
    """

    triggers = (
        when.MISUSED_GRAD_MODE,
        when.GRAD_MODE_IN_INFERENCE,
        when.INFERENCE_MODE,
        when.MANAGER_NOT_ENTERED,
    )

    kind: str
    call: str


@dataclass(slots=True, eq=False, kw_only=True)
class GraphKept(Event):
    """A value with a graph is kept from one iteration to the next and no backward ever uses it.

    `kind`: `sum` (`total += loss`), `append` (a list or dict that outlives the loop), `attribute` or `rows`
    (parts of a tensor whose graphs a backward has already used). `container` is what keeps it, `value` what
    is kept: a tensor, or what holds one. Only emitted in grad mode and when the container is neither
    back-propagated nor passed to something unknown before its values are detached.
    """

    triggers = (*when.TRAINING, when.GATHERING_LOOP)

    container: str
    value: str
    kind: str
    is_tensor: bool = True


@dataclass(slots=True, eq=False, kw_only=True)
class FunctionDefect(Event):
    """A custom autograd.Function is wrong in a way that nothing raises.

    `detail` names the tensor, attribute, method or variable. `kind` is one of:

    - `input-on-ctx` / `output-on-ctx`: a differentiable input, an output, kept as an attribute of ctx
    - `missing-return`: a path of backward returns nothing
    - `direct-forward`: `F.forward` is called instead of `F.apply`
    - `save-twice`: a second call replaces what the first one saved
    - `unmarked-write`: forward writes an input in place without mark_dirty
    - `writes-cotangent`: backward writes its argument
    - `writes-saved`: backward writes a saved argument of forward
    - `hidden-tensors`: tensors that require grad inside a list or dict argument of apply
    - `untracked-backward`: backward leaves autograd, by numpy, `.data` or no_grad, without
      once_differentiable
    - `not-static`: a method without @staticmethod
    - `none-guard`: set_materialize_grads(False), and a gradient used without a test for None: Python raises
      there
    - `none-for-input`: backward returns a literal None for an argument from which forward's result is
      computed, and apply certainly gets a tensor there that requires grad
    - `asks-for-another`: backward asks whether an input needs a gradient for which it always returns None,
      and never asks for one that gets a gradient, which is named by `instead`
    - `state-on-class`: forward stores something on the class or a global that backward reads
    - `unused-ctx`: forward keeps something on ctx that no other method reads
    - `intermediate-kept`: a tensor that forward computes from an input, and does not return, is kept for
      backward, and the program differentiates the backward again: that part of the second derivative is
      missing
    - `unread-argument`: an argument that forward only puts on ctx, where no method reads it: it has no
      effect
    - `unread-saved`: save_for_backward, and no method reads saved tensors
    - `ignores-cotangent`: backward computes a gradient without reading the gradient that it is given
    - `wrong-derivative`: the gradient of an elementwise Function is not what the values of its forward say
    - `unset-on-path`: an attribute of ctx that backward reads on every path, and that forward does not set
      on every path
    - `never-set`: an attribute of ctx that backward reads and no method sets
    - `starred-gradients`: backward returns fewer gradients before those of any number of inputs than
      forward has arguments before them
    - `grad-mode-in-forward`: forward asks for the grad mode, which is always off there
    - `view-of-cotangent`: backward joins dimensions of a gradient by `view`
    - `truth-of-elements`: backward branches on a comparison that has a result for each element
    - `saved-as-tensor`: an attribute of a tensor is read from the tuple of saved tensors
    - `unset-gradient`: backward reads a variable on every path, and sets it only where an input needs a
      gradient
    """

    triggers = when.CUSTOM_FUNCTIONS

    function: str
    kind: str
    detail: str = ""
    instead: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class HookMisuse(Event):
    """A hook does what hooks must not.

    `kind`: `mutates-gradient` (a tensor or module backward hook writes its argument in place) or
    `returns-nothing` (a tensor hook binds a new value to its argument's name, or
    computes from it into a local that nothing else reads, and returns nothing on every path), for which
    `passes` says what therefore stays unchanged: `gradient`, `output` or `input`.
    """

    triggers = (when.HOOK,)

    kind: str
    subject: str
    call: str
    passes: str = "gradient"


@dataclass(slots=True, eq=False, kw_only=True)
class DistributedMisuse(Event):
    """A protocol of torch.distributed or DistributedDataParallel is broken.

    `kind`: `inner-module` (`ddp.module(x)` computes a root that is back-propagated, so that gradients
    are not reduced), `no-sync-backward` (no_sync() is around backward but not around its forward, which
    decides), `inplace-collective` (all_reduce, broadcast or reduce of a tensor that requires grad, which
    is back-propagated afterwards) or `gather-detaches` (what all_gather or gather filled enters a root
    while the tensor that was sent requires grad and enters it in no other way).
    """

    triggers = (*when.DIFFERENTIATION, when.NO_SYNC, when.COLLECTIVE)

    kind: str
    call: str
    subject: str


@dataclass(slots=True, eq=False, kw_only=True)
class BackwardCall(Event):
    """A backward that does not raise.

    `breaks` lists what entered the root without its graph. `constant_terms` are those that are whole
    summands of the root (`loss = a + b`, `loss += b`; `tensor` is the summand's text): a constant added to
    a loss has no effect on any gradient. `factors` are the places of those that entered as something other
    than a summand, such as the weight of a term that has a gradient. `made_leaf` is the text of the call
    that turned the computed root into a leaf (`requires_grad_`, assigning requires_grad, `Variable(loss)`,
    `torch.tensor(loss, requires_grad=True)`), so that backward reaches nothing else; '' otherwise.
    """

    triggers = (*when.DIFFERENTIATION, when.LOSS_CUT)

    root: str
    retain_graph: bool
    create_graph: bool
    breaks: tuple[GraphBreak, ...] = ()
    constant_terms: tuple[GraphBreak, ...] = ()
    factors: frozenset[Site] = frozenset()
    made_leaf: str = ""


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """A value that required grad and entered a back-propagated root only through something that cuts
    history, so that its gradient is silently missing from an otherwise right backward.

    `kind` is `retensor` (torch.tensor, as_tensor or a constructor on tensors), `numpy`, `item`
    (item, float, int, tolist, math functions), `detach`, `data`, `no-grad`, `non-differentiable`,
    `zero-derivative` (the gradient is there, and is zero) or `create-graph` (the result of autograd.grad
    without create_graph). `tensor` is the text of the
    value that was cut, `call` the text of what cut it, `site` where.
    """

    kind: str
    tensor: str
    call: str
    site: Site

    @classmethod
    def of(cls, cut: GraphCut) -> GraphBreak:
        """A cut in the user's words."""
        return cls(cut.kind, str(cut.tensor), str(cut.call), cut.site)


@dataclass(slots=True, eq=False, kw_only=True)
class ParameterCutOff(Event):
    """The result of a module's forward depends on a Parameter that no gradient reaches from there.

    `parameter` is its text (`self.scale`), or that of a layer which has it (`is_layer`), `module` the
    class, `cut` what cuts it off; nothing else in the repository uses it. `places` tell parameters apart.
    """

    triggers = (when.FORWARD_CUT,)

    module: str
    parameter: str
    cut: GraphBreak
    is_layer: bool
    places: frozenset[int]


@dataclass(slots=True, eq=False, kw_only=True)
class OptimizerStep(Event):
    """An optimizer steps; `in_loop` is also true if a function on the way is called again, or in a loop.

    `gradients` are the states of its parameters' `.grad`: `fresh`, `none` (nothing has back-propagated into
    them yet), `unused` (none, and nothing that a backward could start from has been computed with them),
    `zeroed` (cleared after the last backward), `stale` (used by an earlier step already and not cleared),
    `scaled` (a GradScaler's scale is still on them) or `unknown`; one entry for each state that occurs.
    `scaler` is the text of the GradScaler whose `step` makes the call ('' for a plain step); it takes the
    scale off itself, so `scaled` is right there. `starved` lists parameters that took part in computing a
    root that was back-propagated since the last step, but whose every path into it is cut, so that no
    gradient can have reached them.
    """

    triggers = (*when.TRAINING, when.STEP)

    optimizer: str
    gradients: frozenset[str]
    scaler: str = ""
    starved: tuple[GraphBreak, ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class GradientsCleared(Event):
    """Gradients are cleared. `fresh` is true when a backward since the last step is discarded."""

    triggers = when.TRAINING

    target: str
    fresh: bool


@dataclass(slots=True, eq=False, kw_only=True)
class ClipGradients(Event):
    """clip_grad_norm_ or clip_grad_value_; `gradients` as in `OptimizerStep`.

    `is_result`: its argument is the result of an operation, such as a loss, and not a parameter.

    `measures` is true when the returned norm is used or max_norm is infinite: the call may be there to
    log a norm, not to clip.
    """

    triggers = (when.CLIP_GRAD,)

    target: str
    gradients: frozenset[str]
    measures: bool = False
    is_result: bool = False
