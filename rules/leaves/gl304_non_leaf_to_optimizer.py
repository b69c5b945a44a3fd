"""GL304: an optimizer is given a tensor that is not a leaf."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    Interpreter,
    InvalidTensorUse,
    Node,
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

# What makes a leaf on the CPU, where the program does not say otherwise.
_MADE = re.compile(r"\btorch\.(?:zeros|ones|randn?|empty|full|tensor|(?:Float|Double)?Tensor|eye|linspace)\(")
_ELSEWHERE = re.compile(r"\bdevice\b|\.(?:to|cuda|type_as)\(")
# What moves it to another device.
_MOVED = re.compile(
    r"\.(?:cuda\(.*|to\((?:device=)?([\w.]*device|['\"]cuda[^,]*['\"]|['\"]mps['\"])\))$", re.DOTALL
)


@dataclass(slots=True, eq=False, kw_only=True)
class MovedLeaf(Event):
    """An optimizer is given what moving a leaf to another device returns."""

    triggers = (when.OPTIMIZER,)

    tensor: str
    moved: str


class MovedLeaves(Tracker):
    """Looks at what optimizers are given that is a copy of a leaf, unless that was on the device before."""

    derives = (MovedLeaf,)

    def on_optimizer_made(self, m: Interpreter, s: State, fact: facts.OptimizerMade) -> None:
        """Is one of the tensors what moving a leaf returned?"""
        for ref in fact.parameters:
            tensor: Tensor = s[ref]
            node = s.get(tensor.grad_fn, Node)
            leaf = s.get(node.inputs[0], Tensor) if node is not None and node.inputs else None
            if node is None or leaf is None or leaf.site is None or tensor.leaf is not None:
                continue
            moved, made = _MOVED.search(str(node.text)), self.text(leaf.site)
            if moved is None or not _MADE.search(made) or _ELSEWHERE.search(made):
                continue
            if "set_default_" in leaf.site.module.source or not self.once(id(fact.call.site.node)):
                continue
            is_said = moved[1] is None or moved[1][0] in "'\""
            assumed = () if is_said else (f"`{moved[1]}` is not the CPU",)
            steps = (
                StoryStep(node.site, f"`{tensor.name}` is a copy of the leaf, on another device", "made"),
            )
            self.report(
                MovedLeaf(
                    site=fact.call.site,
                    story=steps,
                    tensor=str(tensor.name),
                    moved=str(node.text),
                    assumes=assumed,
                )
            )


class NonLeafToOptimizer(Rule):
    """An optimizer is given the result of an operation instead of a leaf.

    ## What it detects

    A tensor in an optimizer's parameter list that was scaled, moved or otherwise computed after
    `requires_grad` was set: `torch.randn(3, requires_grad=True) * 0.1`, `nn.Parameter(...).double()`,
    `torch.zeros(1, requires_grad=True).to(device)`, which returns the leaf itself on the CPU only.

    ## Why it is wrong

    Only leaves collect gradients, and only they can be updated. PyTorch raises.

    ## Example

    ```python
    import torch

    latent = torch.randn(1, 8, requires_grad=True) * 0.1
    optimizer = torch.optim.Adam([latent], lr=0.01)  # <- GL304
    ```

    ## Use instead

    ```python
    import torch

    latent = (torch.randn(1, 8) * 0.1).requires_grad_()
    optimizer = torch.optim.Adam([latent], lr=0.01)
    ```

    ## Fix safety

    There is no fix: what is to be trained, the factor or the product, is for the author to decide.

    ## References

    - [`torch.Tensor.is_leaf`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html)
    """

    code = "GL304"
    name = "non-leaf-to-optimizer"
    severity = Severity.ERROR
    predicts = "can't optimize a non-leaf Tensor"
    triggers = (when.OPTIMIZER,)
    trackers = (MovedLeaves,)

    def on_moved_leaf(self, event: MovedLeaf) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.moved}` returns a copy of the leaf, and an optimizer can only update leaves",
            "make the tensor on its device (`device=`), or call requires_grad_() (or nn.Parameter) last",
        )

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "non-leaf-optimizer":
            yield self.finding(
                event,
                f"`{event.tensor}` is the result of an operation, and an optimizer can only update leaves",
                "do the computation first and call requires_grad_() (or nn.Parameter) last",
            )
