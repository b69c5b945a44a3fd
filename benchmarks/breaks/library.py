"""Breaks of what the library of models says of Python and torch."""

from __future__ import annotations

from benchmarks.breaks.base import Break

_TORCH = "gradcheck_tool/library/torch"

BREAKS = [
    Break(
        "retain_graph=None of backward is taken as True",
        f"{_TORCH}/autograd.py",
        'retain = create if call.get(offset, "retain_graph") == NONE else',
        'retain = True if call.get(offset, "retain_graph") == NONE else',
        ("tests/library/torch/test_autograd.py",),
    ),
    Break(
        "retain_graph=None of autograd.grad is taken as True",
        f"{_TORCH}/autograd.py",
        'retain = create if call.get(3, "retain_graph") == NONE else',
        'retain = True if call.get(3, "retain_graph") == NONE else',
        ("tests/library/torch/test_autograd.py",),
    ),
    Break(
        "allow_unused raises all the same",
        f"{_TORCH}/autograd.py",
        "        if error is not None and allow is False and not p.is_mended:\n",
        "        if error is not None and not p.is_mended:\n",
        ("tests/library/torch/test_autograd.py",),
    ),
    Break(
        "@set_grad_enabled does not restore",
        f"{_TORCH}/grad_modes.py",
        "        s.grad = before.items[0].value  # type: ignore[union-attr]\n    return _decorated",
        "        pass\n    return _decorated",
        ("tests/library/torch/test_settings.py", "tests/library/torch/test_grad_modes.py"),
    ),
    Break(
        "gradients stay off after no_grad",
        f"{_TORCH}/grad_modes.py",
        "        s.grad, s.inference = (item.value for item in before.items)  # type: ignore[union-attr]\n",
        "        pass\n",
        ("tests/library/torch/test_grad_modes.py",),
    ),
    Break(
        "enable_grad does nothing",
        f"{_TORCH}/grad_modes.py",
        '    elif name == "torch.enable_grad":\n        s.grad = True\n',
        '    elif name == "torch.enable_grad":\n        pass\n',
        ("tests/library/torch/test_grad_modes.py",),
    ),
    Break(
        "a step leaves gradients as fresh as they were",
        f"{_TORCH}/optimizers.py",
        'tensor.grad_state = "unknown" if state == "assigned" else "used"',
        "tensor.grad_state = state",
        ("tests/library/torch/test_optimizers.py",),
    ),
    Break(
        "zero_grad clears nothing",
        f"{_TORCH}/optimizers.py",
        "    clear(m, s, params, is_open, call.site, receiver_text(call.site, "
        "str(s[call.self].name)), to_zero)\n",
        "",
        ("tests/library/torch/test_optimizers.py",),
    ),
    Break(
        "LBFGS calls its closure once",
        f"{_TORCH}/optimizers.py",
        'rounds = 2 if name.endswith(".LBFGS")',
        'rounds = 1 if name.endswith(".LBFGS")',
        ("tests/library/torch/test_optimizers.py",),
    ),
    Break(
        "a closure runs without gradients where the step does",
        f"{_TORCH}/optimizers.py",
        "before, state.grad = state.grad, True",
        "before = state.grad",
        ("tests/library/torch/test_optimizers.py",),
    ),
    Break(
        "an optimizer takes what is no leaf",
        f"{_TORCH}/optimizers.py",
        "        if tensor.leaf is False and tensor.requires_grad:\n            made",
        "        if False:\n            made",
        ("tests/library/torch/test_optimizers.py",),
    ),
    Break(
        "add_param_group adds nothing",
        f"{_TORCH}/optimizers.py",
        'mine.attrs["#params"] = Tup((*held.items, *more), open=held.open or is_open)',
        'mine.attrs["#params"] = held',
        ("tests/library/torch/test_optimizers.py",),
    ),
    Break(
        "detach() copies",
        f"{_TORCH}/tensor_methods.py",
        "        storage=tensor.storage,\n        name=f",
        "        name=f",
        ("tests/library/torch/test_tensor_methods.py",),
    ),
    Break(
        "detach_() leaves the graph",
        f"{_TORCH}/tensor_methods.py",
        "    tensor.requires_grad, tensor.leaf, tensor.grad_fn, tensor.unsure_graph = False, True, None, False\n",
        "",
        ("tests/library/torch/test_tensor_methods.py",),
    ),
    Break(
        "retain_grad() retains nothing",
        f"{_TORCH}/tensor_methods.py",
        "    s.edit(ref).retains_grad = True\n",
        "",
        ("tests/library/torch/test_tensor_methods.py",),
    ),
    Break(
        "unscale_ leaves gradients scaled",
        f"{_TORCH}/grad_scaler.py",
        '            s.edit(ref).grad_state = "fresh"\n',
        "            pass\n",
        ("tests/library/torch/test_grad_scaler.py",),
    ),
    Break(
        "update() does not begin a new iteration",
        f"{_TORCH}/grad_scaler.py",
        "            del s.edit(ref).attrs[STAGE]\n",
        "            pass\n",
        ("tests/library/torch/test_grad_scaler.py",),
    ),
    Break(
        "a full backward hook leaves results as they are",
        f"{_TORCH}/module_calls.py",
        'if "#backward_hooks" in s[ref].attrs:',
        "if False:",
        ("tests/library/torch/test_module_calls.py",),
    ),
    Break(
        "a forward hook changes nothing",
        f"{_TORCH}/module_calls.py",
        "after_hooks.append((st, value if keep else answer))",
        "after_hooks.append((st, value))",
        ("tests/library/torch/test_module_calls.py",),
    ),
    Break(
        "nn.Sequential calls its first module only",
        f"{_TORCH}/module_calls.py",
        "    for item in container_items(s, ref) or []:\n",
        "    for item in (container_items(s, ref) or [])[:1]:\n",
        ("tests/library/torch/test_module_calls.py", "tests/library/torch/test_module_containers.py"),
    ),
    Break(
        "tensors of any number of dimensions are one kind",
        "gradcheck_tool/library/torch/functions.py",
        'f".nd.{min(len(record.shape), 4)}d"',
        '".nd"',
        ("tests/library/torch/test_matrix_products.py",),
    ),
]
