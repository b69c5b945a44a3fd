"""What every module has, and what wrappers of modules have."""

# What is no method of every module.
_OTHER = frozenset({"module", "register_module", "training", "__class__", "__dict__"})
MODULE = frozenset(
    (
        "parameters",
        "named_parameters",
        "state_dict",
        "load_state_dict",
        "train",
        "eval",
        "zero_grad",
        "modules",
    )
)
MODULE_API = MODULE | {
    "add_module",
    "apply",
    "bfloat16",
    "buffers",
    "children",
    "compile",
    "cpu",
    "cuda",
    "double",
    "float",
    "forward",
    "get_buffer",
    "get_parameter",
    "get_submodule",
    "half",
    "module",
    "named_buffers",
    "named_children",
    "named_modules",
    "register_backward_hook",
    "register_buffer",
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_module",
    "register_parameter",
    "requires_grad_",
    "share_memory",
    "to",
    "to_empty",
    "training",
    "type",
    "__class__",
    "__dict__",
}
MODULE_METHODS = MODULE_API - _OTHER
