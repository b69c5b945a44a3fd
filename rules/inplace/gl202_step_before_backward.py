"""GL202: an optimizer changes weights between a forward pass and its backward pass."""

from collections.abc import Iterator

from gradcheck_tool import Rule, SavedTensorModified, Severity, Violation, when


class StepBeforeBackward(Rule):
    """An optimizer steps between a forward pass and the backward pass of the same graph.

    ## What it detects

    A backward through operations that saved a parameter, after an optimizer has changed that
    parameter in place. It is typical of programs with two losses: both are computed, the first is
    back-propagated and its optimizer steps, then the second is back-propagated through old weights.

    ## Why it is wrong

    The graph of the second loss belongs to the weights before the step. The step writes them in
    place, so PyTorch raises; with a fused optimizer it does not even notice and the gradient is
    silently wrong.

    ## Example

    ```python
    import torch

    generator = torch.nn.Linear(2, 4)
    critic = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    g_optimizer = torch.optim.SGD(generator.parameters(), lr=0.1)
    c_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)

    fake = generator(torch.randn(8, 2))
    score = critic(fake)
    c_loss = score.mean() - critic(torch.randn(8, 4)).mean()
    g_loss = -score.mean()

    c_optimizer.zero_grad()
    c_loss.backward(retain_graph=True)
    c_optimizer.step()

    g_optimizer.zero_grad()
    g_loss.backward()  # <- GL202
    g_optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    generator = torch.nn.Linear(2, 4)
    critic = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    g_optimizer = torch.optim.SGD(generator.parameters(), lr=0.1)
    c_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)

    fake = generator(torch.randn(8, 2))
    c_loss = critic(fake.detach()).mean() - critic(torch.randn(8, 4)).mean()

    c_optimizer.zero_grad()
    c_loss.backward()
    c_optimizer.step()

    g_loss = -critic(fake).mean()
    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()
    ```

    ## Fix safety

    There is no fix: reordering backward calls and steps changes what is trained with what.

    ## References

    - [In-place correctness checks](https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks)
    - [DCGAN tutorial](https://docs.pytorch.org/tutorials/beginner/dcgan_faces_tutorial.html)
    """

    code = "GL202"
    name = "step-before-backward"
    severity = Severity.ERROR
    predicts = (
        "one of the variables needed for gradient computation has been modified by an inplace operation"
    )
    triggers = when.TRAINING

    def on_saved_tensor_modified(self, event: SavedTensorModified) -> Iterator[Violation]:
        if event.writer != "optimizer":
            return
        changed = (
            f"`{event.write}` changed the weights that `{event.root}` was computed with (`{event.op}` saved "
            f"`{event.tensor}`) before it was differentiated"
        )
        if event.carrier:
            yield self.finding(
                event,
                f"{changed}: `{event.carrier}` brings the graph of an earlier iteration along",
                f"detach `{event.carrier}` first in each iteration (retain_graph=True only hides this)",
            )
        else:
            yield self.finding(
                event,
                changed,
                f"call backward for all losses before any step, or compute `{event.root}` again after the "
                "step",
            )
