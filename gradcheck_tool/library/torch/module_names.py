"""What every module has, what wrappers of modules have, and what modules are called."""

import re

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
# What every module has besides, by `dir(torch.nn.Module())`.
_BESIDES = """
T_destination __annotations__ __call__ __getattr__ __module__ __setstate__ __weakref__ _apply
_backward_hooks _backward_pre_hooks _buffers _call_impl _compiled_call_impl _forward_hooks
_forward_hooks_always_called _forward_hooks_with_kwargs _forward_pre_hooks
_forward_pre_hooks_with_kwargs _get_backward_hooks _get_backward_pre_hooks _get_name
_is_full_backward_hook _load_from_state_dict _load_state_dict_post_hooks _load_state_dict_pre_hooks
_maybe_warn_non_full_backward_hook _modules _named_members _non_persistent_buffers_set _parameters
_register_load_state_dict_pre_hook _register_state_dict_hook _replicate_for_data_parallel
_save_to_state_dict _slow_forward _state_dict_hooks _state_dict_pre_hooks _version
_wrapped_call_impl call_super_init dump_patches extra_repr get_extra_state ipu mtia
register_full_backward_pre_hook register_load_state_dict_post_hook register_load_state_dict_pre_hook
register_state_dict_post_hook register_state_dict_pre_hook set_extra_state set_submodule xpu
"""
MODULE_ATTRIBUTES = MODULE_API | frozenset(_BESIDES.split())
# What modules are called. `get_model` and the like are what functions are called that give one.
MODULE_NAME = re.compile(
    r"^(?!_?(?:get|set|load|save|build|make|create|define|init|setup|reset|update|freeze|wrap|unwrap|print)_)"
    r"(?:.*_)?(?:model|net|network|module|generator|discriminator|encoder|decoder|backbone|classifier|critic|"
    r"actor|policy|student|net[A-Z]\w*|net_[gdGD]|[a-z]*net|vgg|[GD](?:_[A-Z0-9]+)?|gen|disc|denoiser|"
    r"enc|dec|autoencoder|vae|mlp|cnn|gnn|rnn|lstm|gru|bert|gpt|qf|head|predictor|projector|embedder|"
    r"transformer)(?:_?\d|_[a-z])?$"
)
