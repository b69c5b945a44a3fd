"""GL506: `sample()` where the gradient is needed."""

from collections.abc import Iterator

from gradcheck_tool import Draft, NonReparametrised, Rule, Severity, renamed


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

    def on_non_reparametrised(self, event: NonReparametrised) -> Iterator[Draft]:
        yield self.finding(
            event,
            f"`{event.call}` is a constant for autograd, so no gradient reaches `{event.distribution}` "
            "through it",
            "use rsample()",
            fix=self.unsafe_fix("Use rsample()", renamed(event.site, "rsample")),
        )
