"""The model of PyTorch's autograd engine: tensors, the graph, operations, writes and backward passes."""

from gradcheck_tool.engine.backward import BackwardPass, run_backward
from gradcheck_tool.engine.cuts import cut_off, write_off
from gradcheck_tool.engine.edges import (
    edge,
    edges_of,
    follow_base,
    history,
    only_inference,
    refresh_view,
    requires,
)
from gradcheck_tool.engine.effect import Effect
from gradcheck_tool.engine.errors import FORBIDDING, INFERENCE_SAVE, Raised, refused
from gradcheck_tool.engine.expected import added_to, adopt_expected, doubt_gradient, expect_gradient
from gradcheck_tool.engine.gradients import accumulate, expanded, gradient, unused
from gradcheck_tool.engine.operations import apply, apply_inplace, function_output, saved
from gradcheck_tool.engine.tensors import APART, new_tensor, numel_is_one, sizes_differ, unknown_tensor
from gradcheck_tool.engine.writes import HOOKED, bump, check_overlap, check_write, rebase, swap_memory

__all__ = [
    "APART",
    "FORBIDDING",
    "HOOKED",
    "INFERENCE_SAVE",
    "BackwardPass",
    "Effect",
    "Raised",
    "accumulate",
    "added_to",
    "adopt_expected",
    "apply",
    "apply_inplace",
    "bump",
    "check_overlap",
    "check_write",
    "cut_off",
    "doubt_gradient",
    "edge",
    "edges_of",
    "expanded",
    "expect_gradient",
    "follow_base",
    "function_output",
    "gradient",
    "history",
    "new_tensor",
    "numel_is_one",
    "only_inference",
    "rebase",
    "refresh_view",
    "refused",
    "requires",
    "run_backward",
    "saved",
    "sizes_differ",
    "swap_memory",
    "unknown_tensor",
    "unused",
    "write_off",
]
