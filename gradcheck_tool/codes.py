"""The one table of the codes that the run-time engine reports."""

from __future__ import annotations

from dataclasses import dataclass

from gradcheck_tool.findings import Severity
from gradcheck_tool.links import rule_link


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding: its code, kebab-case name, usual severity and one paragraph of documentation."""

    code: str
    name: str
    severity: Severity
    doc: str

    @property
    def url(self) -> str:
        """Where it is documented."""
        return rule_link(self.code)


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO

_TABLE = (
    Code(
        "GC101",
        "wrong-gradient",
        _E,
        "The gradient that `backward` returns differs from the derivative of `forward` by more than the "
        "measured noise explains; the difference stays at smaller steps and repeats on a second draw.",
    ),
    Code(
        "GC102",
        "missing-gradient",
        _E,
        "`backward` returns None or zeros for an input on which the output depends.",
    ),
    Code(
        "GC103",
        "spurious-gradient",
        _E,
        "`backward` returns a non-zero gradient for an input on which the output does not depend.",
    ),
    Code(
        "GC104",
        "cotangent-misused",
        _E,
        "The gradient does not depend on the incoming gradient, or does not depend on it linearly, so the "
        "chain rule fails for every loss but one.",
    ),
    Code(
        "GC105",
        "non-finite-gradient",
        _E,
        "`backward` returns NaN or infinity at a point where the output and its derivative are finite.",
    ),
    Code(
        "GC106",
        "layout-dependent-gradient",
        _E,
        "The result changes with the memory layout of an input or of the incoming gradient. Autograd hands "
        "non-contiguous and expanded gradients to `backward` whenever the next operation is a transpose, "
        "a slice or a sum.",
    ),
    Code(
        "GC107",
        "precision-loss",
        _W,
        "The gradient is right in high precision but loses far more digits in low precision than the "
        "conditioning of the problem and the rounding of `forward` explain. A warning: the algebra is right.",
    ),
    Code(
        "GC108",
        "wrong-second-derivative",
        _W,
        "The first derivative is right, but differentiating `backward` again silently gives a wrong result, "
        "for example because a derivative computed in `forward` was saved and counts as a constant. Put "
        "`@torch.autograd.function.once_differentiable` above `backward` to refuse loudly, or compute the "
        "derivative in `backward` from inputs and outputs. A warning: training that differentiates once is "
        "not affected.",
    ),
    Code(
        "GC109",
        "wrong-jvp",
        _E,
        "The forward-mode rule `jvp` differs from the derivative of `forward`.",
    ),
    Code(
        "GC110",
        "wrong-vmap",
        _E,
        "The `vmap` rule gives a different result from calling the Function once for each element of the "
        "batch.",
    ),
    Code(
        "GC111",
        "missing-gradient-of-subset",
        _E,
        "The gradient of an input is wrong when only some of the inputs require grad: `backward` reads "
        "`ctx.needs_input_grad` wrongly.",
    ),
    Code(
        "GC190",
        "surrogate-gradient",
        _I,
        "The gradient deviates from the derivative in a way that looks intended: straight-through, gradient "
        "scaling, reversal, clipping, an estimate from random draws whose mean is the derivative, the "
        "gradient of another parametrisation (the tangent space of a pose), a carrier that hands the "
        "gradient on past outputs that depend on nothing. Declare it with "
        "`@gradcheck_tool.surrogate(reason=...)`, a comment `# gradlint: surrogate: REASON` in the class, or "
        "the configuration.",
    ),
    Code(
        "GC191",
        "inconclusive",
        _I,
        "The noise of the Function hides the signal, so the check neither passed nor failed.",
    ),
    Code(
        "GC201",
        "input-modified",
        _E,
        "`forward` changes an input in place without `ctx.mark_dirty`, so autograd does not see the change.",
    ),
    Code(
        "GC202",
        "cotangent-modified",
        _E,
        "`backward` changes the incoming gradient in place; other users of that tensor read wrong values.",
    ),
    Code(
        "GC203",
        "aliased-gradients",
        _I,
        "`backward` returns the same memory as the gradient of two inputs, as PyTorch's own addition does: a "
        "hook that changes one of them in place changes the other.",
    ),
    Code(
        "GC204",
        "gradient-dtype",
        _W,
        "`backward` returns a gradient of lower precision than the input; autograd casts it silently and the "
        "digits are lost. A warning: what is left of the gradient is right.",
    ),
    Code(
        "GC205",
        "output-kept-alive",
        _W,
        "An output is stored as an attribute of `ctx`: the graph node and its output keep each other alive, "
        "and the memory is freed late or never. Use `ctx.save_for_backward`.",
    ),
    Code(
        "GC206",
        "backward-raises",
        _E,
        "`backward` raises for an incoming gradient that autograd may pass: a non-contiguous or expanded one "
        "or None for an output that the loss does not use.",
    ),
    Code(
        "GC207",
        "second-backward-differs",
        _W,
        "A second backward through the same graph raises or gives another gradient: `retain_graph=True` does "
        "not work with this Function. A warning where it raises; a remark where saved tensors are "
        "overwritten to save memory, as kernels do on purpose.",
    ),
    Code(
        "GC208",
        "hidden-state",
        _E,
        "The gradient of one call changes when another call happens between its forward and its backward: "
        "state is kept on the class or the module instead of on `ctx`.",
    ),
    Code(
        "GC209",
        "unneeded-gradient",
        _I,
        "`backward` computes gradients of inputs that do not require them; test `ctx.needs_input_grad`.",
    ),
    Code(
        "GC210",
        "mode-dependent-gradient",
        _E,
        "The gradient or an output changes under saved-tensor hooks, activation checkpointing, autocast, "
        "torch.compile or on another CUDA stream.",
    ),
    Code(
        "GC211",
        "non-differentiable-output",
        _W,
        "A floating-point output is marked non-differentiable, or a returned gradient has the wrong shape or "
        "place.",
    ),
    Code(
        "GC212",
        "global-state-changed",
        _W,
        "A call sets something for the whole process and leaves it so: the default dtype, the grad mode, the "
        "seed, the working folder, the number of threads. What runs afterwards is changed by it.",
    ),
    Code(
        "GC301",
        "nondeterministic",
        _E,
        "The same call with the same random state gives different results, or `backward` draws random "
        "numbers of its own.",
    ),
    Code("GC302", "forward-raises", _E, "`forward` raises for the given inputs."),
    Code("GC303", "not-checkable", _I, "No input requires grad, or no output is differentiable."),
    Code(
        "GC304",
        "crash",
        _E,
        "The process that runs the Function ends: a segmentation fault, an abort, a call of `os._exit`, a "
        "CUDA error after which nothing else can run. Reading or writing outside of a tensor's "
        "memory is the usual cause.",
    ),
    Code(
        "GC305",
        "hang",
        _E,
        "One call of the Function does not return within the time limit (`--timeout`).",
    ),
    Code(
        "GC306",
        "out-of-memory",
        _E,
        "Running the Function takes more memory than the limit (`--memory`) allows.",
    ),
)

CODES: dict[str, Code] = {entry.code: entry for entry in _TABLE}
"""Every code of the run-time engine, by code."""


def find_code(label: str) -> Code | None:
    """The entry of this code or name, or None."""
    return next((entry for entry in _TABLE if label in (entry.code, entry.name)), None)
