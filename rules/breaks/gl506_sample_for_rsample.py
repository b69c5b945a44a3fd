"""GL506: `sample()` where the gradient is needed."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    BackwardPass,
    Event,
    GradientReach,
    Interpreter,
    Node,
    Rule,
    RunNote,
    Severity,
    State,
    Violation,
    facts,
    renamed,
    when,
)

# Operations of layers that a latent value is fed to.
LAYERS = frozenset({"linear", "conv1d", "conv2d", "conv3d", "AddmmBackward0", "CatBackward0"})


@dataclass(slots=True, eq=False, kw_only=True)
class NonReparametrised(Event):
    """`dist.sample()` of a distribution with `rsample`, whose parameters require grad, is the only way
    from a back-propagated root to them (and the root has no log_prob of that distribution).
    """

    triggers = when.DIFFERENTIATION

    distribution: str
    call: str


class Samples(GradientReach):
    """Follows samples that roots get while the distribution's parameters get no gradient through them."""

    derives = (NonReparametrised,)
    # For each place that samples the leaves that it cuts off.
    samples = RunNote[int, tuple[NonReparametrised, frozenset[int]]]()

    def on_backward_ran(self, m: Interpreter, s: State, fact: facts.BackwardRan) -> None:
        """Which parameters of distributions do the samples in the roots cut off?"""
        super().on_backward_ran(m, s, fact)
        run = fact.run
        for ref in run.ran if run.inputs is None else ():
            for constant in s[ref].constant_inputs:
                for cut in constant.severed:
                    if cut.kind == "sample":
                        place, missed = id(cut.site.node), [] if run.opaque else self.missed(s, cut, run)
                        event = NonReparametrised(
                            site=cut.site, distribution=str(cut.tensor), call=str(cut.call)
                        )
                        event, before = self.samples.get(place, (event, frozenset()))
                        self.samples[place] = (event, before.union(leaf.id for leaf in missed))
                        if not missed and _is_latent(s, run, s[ref]):
                            self.hold(place, event)

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Report samples that cut off what no gradient has reached in another way."""
        for event, leaves in self.samples.values() if self.is_complete(fact) else ():
            if leaves and not any(number in self.fed for number in leaves):
                self.report(event)


def _is_latent(s: State, run: BackwardPass, user: Node) -> bool:
    """Does a layer go on from the sample, in a root that has no likelihood of a sample?

    Such a root trains the distribution by something else alone, as a divergence in an evidence lower bound.
    With a likelihood it may be a score function estimate.
    """
    return user.op in LAYERS and all(s[ref].op != "LogProbBackward0" for ref in run.ran)


class SampleForRsample(Rule):
    """A distribution is sampled without reparametrisation although the loss needs its gradient.

    ## What it detects

    `dist.sample()` of a distribution that also has `rsample()`, whose parameters are trained by a loss
    which depends on them through the sample only. Score-function estimates
    (`dist.log_prob(sample) * reward`) are right with `sample()` and are not reported.

    ## Why it is wrong

    `sample()` runs under `no_grad`: the sample is a constant. If nothing else requires a gradient,
    backward raises; otherwise the distribution's parameters silently do not train.

    ## Example

    ```python
    import torch

    mean = torch.zeros(2, requires_grad=True)
    decoder = torch.nn.Linear(2, 1)
    latent = torch.distributions.Normal(mean, 1.0).sample()  # <- GL506
    loss = decoder(latent).pow(2).mean()
    loss.backward()
    ```

    ## Use instead

    ```python
    import torch

    mean = torch.zeros(2, requires_grad=True)
    decoder = torch.nn.Linear(2, 1)
    latent = torch.distributions.Normal(mean, 1.0).rsample()
    loss = decoder(latent).pow(2).mean()
    loss.backward()
    ```

    ## Fix safety

    Gradients flow where none did, so the fix is unsafe.

    ## References

    - [`torch.distributions`: pathwise derivative](https://docs.pytorch.org/docs/stable/distributions.html#pathwise-derivative)
    """

    code = "GL506"
    name = "sample-for-rsample"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the distribution's parameters get no gradient"
    symptom = "assert mean.grad is None"
    trackers = (Samples,)

    def on_non_reparametrised(self, event: NonReparametrised) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.call}` is a constant for autograd, so no gradient reaches `{event.distribution}` "
            "through it",
            "use rsample()",
            fix=self.unsafe_fix("Use rsample()", renamed(event.site, "rsample")),
        )
