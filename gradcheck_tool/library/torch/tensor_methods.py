"""Methods of tensors that concern their place in the graph: `detach`, `requires_grad_`, hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool import engine
from gradcheck_tool.domain.events import InvalidTensorUse
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.values import (
    NONE,
    Const,
    Method,
    Symbol,
    Tup,
    unknown,
)
from gradcheck_tool.engine.errors import Raised, story
from gradcheck_tool.interp import conditions
from gradcheck_tool.interp.facts import Taken, Used
from gradcheck_tool.interp.registry import Result, function, lib_name, method

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter
from gradcheck_tool.library.torch.dtypes import is_of_kind
from gradcheck_tool.library.torch.tensor_attributes import ndim_of, set_requires_grad
from gradcheck_tool.library.torch.tensor_values import as_tensor, receiver

INTEGER_MADE = "Only Tensors of floating point and complex dtype can require gradients"


RETAIN_CONSTANT = "can't retain_grad on Tensor that has requires_grad=False"


HOOK_CONSTANT = "cannot register a hook on a tensor that doesn't require gradient"


ACCUMULATE_NON_LEAF = "post accumulate grad hooks cannot be registered on non-leaf tensors"


DETACH_VIEW = "Can't detach views in-place. Use detach() instead."


def integer_leaf(site: Any, name: Any, call: Any) -> Raised:
    """The error of a leaf of integers that is to require grad."""
    return Raised(
        InvalidTensorUse(site=site, text=INTEGER_MADE, kind="integer-grad", tensor=str(name), call=str(call))
    )


@method("tensor", "detach")
def detach(m: Interpreter, s: State, call: Call) -> Result:
    """Same memory and version counter, no history."""
    ref = receiver(m, s, call)
    tensor: Tensor = s[ref]
    new = engine.new_tensor(
        s,
        call.site,
        dtype=tensor.dtype,
        shape=tensor.shape,
        storage=tensor.storage,
        name=f"{tensor.name}.detach()",
    )
    made: Tensor = s[new]
    made.view, made.base, made.inference = "detached", ref, tensor.inference
    made.version_counter, made.overlaps = tensor.version_counter, tensor.overlaps
    engine.cut_off(s, made, "detach", [ref], call.site, call.text)
    made.detached_because = "detach" if tensor.requires_grad else tensor.detached_because
    made.detached_story = (
        (story(call.site, f"`{tensor.name}` is detached here", "cut", tensor),)
        if tensor.requires_grad
        else tensor.detached_story
    )
    made.grads_of = tensor.grads_of
    if tensor.requires_grad is None:
        made.unsure_graph = False
    return new


@function("torch.detach")
def detach_function(m: Interpreter, s: State, call: Call) -> Result:
    """`torch.detach(x)`: the method."""
    ref = as_tensor(m, s, call.get(0, "input") or NONE, call.site)
    if ref is None:
        return unknown()
    call.receiver = ref
    return detach(m, s, call)


@method("tensor", "detach_")
def detach_(m: Interpreter, s: State, call: Call) -> Result:
    """Cut a tensor's history in place; inference mode, which knows of no histories, leaves it."""
    ref = receiver(m, s, call)
    if s.inference:
        return ref
    tensor = s.edit(ref)
    if tensor.base is not None and tensor.view not in engine.APART:
        raise engine.refused(
            call.site, tensor, f"`{tensor.name}` is a view made here", DETACH_VIEW, "detach-view", "detach_()"
        )
    tensor.detached_because = "detach" if tensor.requires_grad else tensor.detached_because
    tensor.detached_story = (story(call.site, f"`{tensor.name}` is detached here", "cut", tensor),)
    tensor.requires_grad, tensor.leaf, tensor.grad_fn, tensor.unsure_graph = False, True, None, False
    m.tell(s, Taken((ref,), "detached", call.site))
    return ref


@method("tensor", "requires_grad_")
def requires_grad_(m: Interpreter, s: State, call: Call) -> Result:
    ref = receiver(m, s, call)
    value = call.get(0, "requires_grad")
    on = True if value is None else conditions.known(s, value)
    set_requires_grad(m, s, ref, on, call.site, "requires_grad_()")
    return ref


@method("tensor", "retain_grad")
def retain_grad(m: Interpreter, s: State, call: Call) -> Result:
    ref = receiver(m, s, call)
    # Where the gradient is kept already, PyTorch does not ask for the history of a view.
    if not s[ref].retains_grad:
        engine.refresh_view(s, ref)
    tensor: Tensor = s[ref]
    if tensor.requires_grad is False and not tensor.unsure_graph:
        raise engine.refused(
            call.site,
            tensor,
            f"`{tensor.name}` does not require grad",
            RETAIN_CONSTANT,
            "retain-grad-constant",
            "retain_grad()",
        )
    if tensor.leaf is False and not tensor.retains_grad:
        m.tell(s, Taken((ref,), "retained", call.site))
    s.edit(ref).retains_grad = True
    return NONE


@method("tensor", "register_hook", "register_post_accumulate_grad_hook")
def register_hook(m: Interpreter, s: State, call: Call) -> Result:
    ref = receiver(m, s, call)
    engine.refresh_view(s, ref)
    tensor = s.edit(ref)
    if tensor.requires_grad is False and not tensor.unsure_graph:
        raise engine.refused(
            call.site,
            tensor,
            f"`{tensor.name}` does not require grad",
            HOOK_CONSTANT,
            "hook-on-constant",
            "register_hook()",
        )
    kind = call.func.name if isinstance(call.func, Method) else "register_hook"
    if tensor.leaf is False and tensor.requires_grad and kind != "register_hook":
        raise engine.refused(
            call.site,
            tensor,
            f"`{tensor.name}` is computed here, so it is not a leaf",
            ACCUMULATE_NON_LEAF,
            "hook-on-result",
            f"{kind}()",
        )
    if call.args:
        tensor.hooks = (*tensor.hooks, Tup((Const(kind), call.args[0])))
        m.tell(s, Used(call.args[0], kind, call.site, owner=call.self))
    return unknown("data")


@method(
    "tensor",
    "dim",
    "ndimension",
    "numel",
    "nelement",
    "element_size",
    "stride",
    "storage_offset",
    "data_ptr",
    "get_device",
    "is_contiguous",
    "is_floating_point",
    "is_complex",
    "equal",
    "is_inference",
    "untyped_storage",
    "storage",
    "storage_type",
    "const_data_ptr",
    "dim_order",
    "is_conj",
    "is_neg",
    "is_pinned",
    "is_same_size",
    "is_set_to",
    "is_signed",
    "is_coalesced",
    "dense_dim",
    "sparse_dim",
    "ccol_indices",
    "col_indices",
    "crow_indices",
    "row_indices",
    "q_scale",
    "q_zero_point",
    "qscheme",
)
def metadata(m: Interpreter, s: State, call: Call) -> Result:
    name = call.func.name if isinstance(call.func, Method) else ""
    ref = receiver(m, s, call)
    shape = s[ref].shape
    if name in ("dim", "ndimension"):
        return ndim_of(m, s, ref, call.site)
    if name in ("numel", "nelement") and shape is not None and None not in shape:
        total = 1
        for n in shape:
            total *= n or 0
        return Const(total)
    answer = is_of_kind(s[ref].dtype, name)
    return answer if answer is not None else Symbol(("call", name, (ref,)), "data")


@function("torch.is_floating_point", "torch.is_complex")
def kind_of_dtype(m: Interpreter, s: State, call: Call) -> Result:
    """What `tensor.is_floating_point()` answers, asked of a function."""
    given = call.get(0, "input")
    tensor = s.get(given, Tensor)
    question = lib_name(call.func).rpartition(".")[2]
    answer = None if tensor is None else is_of_kind(tensor.dtype, question)
    return answer if answer is not None else Symbol(("call", question, (given,)), "data")


@method("tensor", "share_memory_", "pin_memory", "record_stream", "is_shared", "refine_names", "rename")
def unchanged(m: Interpreter, s: State, call: Call) -> Result:
    return call.receiver
