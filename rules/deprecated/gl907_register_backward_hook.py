"""GL907: `register_backward_hook`."""

from collections.abc import Iterator

from gradcheck_tool import MethodUse, Rule, Severity, Violation, renamed, when


class RegisterBackwardHook(Rule):
    """`register_backward_hook` passes wrong gradients for modules of several operations.

    ## What it detects

    `module.register_backward_hook(...)`.

    ## Why it is wrong

    The hook sees the gradients of the module's last operation, not those of its inputs.
    `register_full_backward_hook` replaces it. PyTorch warns, unless the module is a single
    operation on the result of another.

    ## Example

    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())
    model.register_backward_hook(lambda module, grad_in, grad_out: None)  # <- GL907
    model(torch.ones(1, 2, requires_grad=True)).sum().backward()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())
    model.register_full_backward_hook(lambda module, grad_in, grad_out: None)
    model(torch.ones(1, 2, requires_grad=True)).sum().backward()
    ```

    ## Fix safety

    The hook gets different gradients, which is the point, so the fix is unsafe.

    ## References

    - [`register_full_backward_hook`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook)
    """

    code = "GL907"
    name = "register-backward-hook"
    severity = Severity.WARNING
    effect = "warns"
    predicts = (
        "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated"
    )
    triggers = (when.HOOK,)

    def on_method_use(self, event: MethodUse) -> Iterator[Violation]:
        if event.receiver == "module" and event.name == "register_backward_hook":
            yield self.finding(
                event,
                f"`{event.subject}.register_backward_hook` sees the gradients of the module's last "
                "operation only",
                "use register_full_backward_hook",
                fix=self.unsafe_fix("Use the full hook", renamed(event.site, "register_full_backward_hook")),
            )
