"""GL330: an optimizer is given a parameter twice."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    Interpreter,
    Rule,
    Severity,
    State,
    StoryStep,
    Tensor,
    Tracker,
    Violation,
    facts,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class ParameterGivenTwice(Event):
    """A parameter, of what `made` has made, stands twice in the list that an optimizer's call is given."""

    triggers = (when.OPTIMIZER,)

    parameter: str
    made: str
    call: str


class GivenTwice(Tracker):
    """Looks for parameters that stand twice in one list. One that stands for several tells nothing."""

    derives = (ParameterGivenTwice,)

    def on_optimizer_made(self, m: Interpreter, s: State, fact: facts.OptimizerMade) -> None:
        """With groups, PyTorch has raised where a parameter is in two of them."""
        seen = set()
        for ref in fact.parameters if not fact.groups else ():
            tensor: Tensor = s[ref]
            if ref in seen and not tensor.is_summary and tensor.requires_grad:
                if self.once(id(fact.call.site.node)):
                    self.report(
                        ParameterGivenTwice(
                            site=fact.call.site,
                            story=(StoryStep(tensor.site, f"`{tensor.name}` is made here"),),
                            parameter=str(tensor.name),
                            made=self.text(tensor.site, tensor.site.node),
                            call=str(fact.call.text),
                        )
                    )
                return
            seen.add(ref)


class GivenTwiceToOptimizer(Rule):
    """An optimizer is given a parameter that it has already.

    ## What it detects

    A list of parameters in which one occurs twice, such as those of two networks with a layer in common:
    `SGD([*encoder.parameters(), *decoder.parameters()])`.

    ## Why it is wrong

    Each step updates the parameter twice: its learning rate is doubled, and so are its weight decay and its
    share in the norm that is clipped. PyTorch only warns, where the optimizer is made.

    ## Example

    ```python
    import torch
    from torch import nn

    embedding = nn.Embedding(10, 4)
    encoder = nn.Sequential(embedding, nn.Linear(4, 4))
    decoder = nn.Sequential(embedding, nn.Linear(4, 4))
    before = embedding.weight.detach().clone()
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.5)  # <- GL330
    words = torch.tensor([1, 2])
    (encoder(words) + decoder(words)).sum().backward()
    optimizer.step()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    embedding = nn.Embedding(10, 4)
    encoder = nn.Sequential(embedding, nn.Linear(4, 4))
    decoder = nn.Sequential(embedding, nn.Linear(4, 4))
    before = embedding.weight.detach().clone()
    parameters = nn.ModuleList([encoder, decoder]).parameters()
    optimizer = torch.optim.SGD(parameters, lr=0.5)
    words = torch.tensor([1, 2])
    (encoder(words) + decoder(words)).sum().backward()
    optimizer.step()
    ```

    ## References

    - [Duplicate parameters in one group](https://github.com/pytorch/pytorch/issues/40967)
    """

    code = "GL330"
    name = "parameter-given-twice"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the parameter is updated twice in each step"
    symptom = "assert torch.allclose(embedding.weight, before - 2 * 0.5 * embedding.weight.grad)"
    trackers = (GivenTwice,)

    def on_parameter_given_twice(self, event: ParameterGivenTwice) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.call}` gets `{event.parameter}` of `{event.made}` twice, and updates it twice a step",
            "give it each parameter once (a module that holds both networks lists them so)",
        )
