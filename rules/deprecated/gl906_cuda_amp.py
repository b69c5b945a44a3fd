"""GL906: `torch.cuda.amp`."""

from collections.abc import Iterator

from gradcheck_tool import NameUse, Replacement, Rule, Severity, Trigger, Violation, called_with, callee_text

_NEW = {
    "torch.cuda.amp.autocast": "torch.amp.autocast('cuda', ...)",
    "torch.cuda.amp.autocast_mode.autocast": "torch.amp.autocast('cuda', ...)",
    "torch.cuda.amp.GradScaler": "torch.amp.GradScaler('cuda', ...)",
    "torch.cuda.amp.grad_scaler.GradScaler": "torch.amp.GradScaler('cuda', ...)",
    "torch.cuda.amp.custom_fwd": "torch.amp.custom_fwd(..., device_type='cuda')",
    "torch.cuda.amp.custom_bwd": "torch.amp.custom_bwd(..., device_type='cuda')",
    "torch.cpu.amp.autocast": "torch.amp.autocast('cpu', ...)",
    "torch.cpu.amp.GradScaler": "torch.amp.GradScaler('cpu', ...)",
}


class CudaAmp(Rule):
    """`torch.cuda.amp` and `torch.cpu.amp` have been replaced by `torch.amp`.

    ## What it detects

    Uses of `autocast`, `GradScaler`, `custom_fwd` and `custom_bwd` of `torch.cuda.amp`, and of
    `torch.cpu.amp.autocast`.

    ## Why it is wrong

    PyTorch warns, and will remove the names.

    ## Example

    ```python
    import torch

    with torch.cpu.amp.autocast():  # <- GL906
        torch.ones(2, 2) @ torch.ones(2, 2)
    ```

    ## Use instead

    ```python
    import torch

    with torch.amp.autocast("cpu"):
        torch.ones(2, 2) @ torch.ones(2, 2)
    ```

    ## Fix safety

    The old classes call the new ones with that device, so the fix is safe. It is offered for `autocast`
    and `GradScaler` written with their full name.

    ## References

    - [`torch.amp`](https://docs.pytorch.org/docs/stable/amp.html)
    """

    code = "GL906"
    name = "cuda-amp"
    severity = Severity.WARNING
    effect = "warns"
    predicts = "is deprecated. Please use `torch.amp."
    since = "2.4"
    names = tuple(_NEW)
    triggers = (
        Trigger(
            (".amp.", ".amp import"),
            r"\b(?:cuda|cpu)\.amp\.",
            imported_from=("torch.cuda.amp", "torch.cpu.amp"),
        ),
    )

    def on_name_use(self, event: NameUse) -> Iterator[Violation]:
        if event.called:
            fix = self.safe_fix("Use torch.amp", _modern(event))
            yield self.finding(event, f"`{event.name}` is deprecated", f"use `{_NEW[event.name]}`", fix=fix)


def _modern(event: NameUse) -> Replacement | None:
    """The call with the device as first argument, where the name is written in full."""
    _, device, _, name = event.name.split(".", 3)
    if name not in ("autocast", "GradScaler") or callee_text(event.site) != event.name:
        return None
    return called_with(event.site, f"torch.amp.{name}", f'"{device}"')
