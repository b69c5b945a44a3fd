"""Models of Python's library and of torch: what their functions, classes and methods do to a state."""

from __future__ import annotations


def load() -> None:
    """Import every module that registers models."""
    from gradcheck_tool.library import callees  # noqa: F401  (registers)
    from gradcheck_tool.library.python import (  # noqa: F401  (register)
        builtins,
        containers,
        contexts,
        executors,
        folding,
        intrinsics,
        introspection,
        iterators,
        kinds,
        memoised,
        operator_functions,
    )
    from gradcheck_tool.library.torch import (  # noqa: F401  (register)
        applied_functions,
        arrays,
        autograd,
        data,
        distributed,
        distributions,
        factories,
        function_application,
        functional,
        functions,
        grad_modes,
        grad_scaler,
        gradient_edges,
        instances,
        module_calls,
        module_containers,
        modules,
        opaque_modules,
        optimizers,
        parameters,
        saved_hooks,
        tensor_attributes,
        tensor_conversions,
        tensor_methods,
        tensor_model,
        tensor_numbers,
        transforms,
    )
