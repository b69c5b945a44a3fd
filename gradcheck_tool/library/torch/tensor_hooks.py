"""Hooks of tensors: when a backward runs them, and what their answers do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain.events import InvalidTensorUse
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.values import (
    NONE,
    Const,
    Ref,
    Tup,
    Value,
)
from gradcheck_tool.interp.facts import CallbackRan

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter


def run_hooks(m: Interpreter, s: State, p: engine.BackwardPass) -> list[State]:
    """Call the hooks of the tensors that received a gradient."""
    ran = {r.id for r in (*p.ran, *p.leaves, *p.refusing)}
    states = [s]
    for ref, tensor in list(s.records(Tensor)):
        if not tensor.hooks or not (
            ref.id in ran or (tensor.grad_fn is not None and tensor.grad_fn.id in ran)
        ):
            continue
        for hook in tensor.hooks:
            kind, func = hook.items  # type: ignore[union-attr]
            after: list[State] = []
            for state in states:
                if state.exc is not None:
                    after.append(state)
                    continue
                post = kind == Const("register_post_accumulate_grad_hook")
                before, state.grad = state.grad, p.create is True
                given = ref if post else _incoming(state, p, ref)
                is_shared = not post and is_shared_gradient(state, p, engine.edge(state, ref))
                versions = {given: state[state[given].storage].data} if is_shared else {}
                for st, answer in m.call(state, func, [given], {}, p.site):
                    st.grad = before
                    m.tell(st, CallbackRan("hook", ref, versions))
                    if st.exc is None:
                        _check_answer(m, st, p, tensor, answer, post)
                    after.append(st)
            states = after[:4]
    return states


def _check_answer(
    m: Interpreter, s: State, p: engine.BackwardPass, tensor: Tensor, answer: Value, post: bool
) -> None:
    """What a hook may return: nothing, or (not after accumulation) a gradient of the same size."""
    given = s.get(answer, Tensor)
    kind, text, error = "hook-return", "Tensor post accumulate grad hooks should return None.", "RuntimeError"
    if not post:
        kind = "hook-result"
        text = "hook ... has changed the size of value"
        if isinstance(answer, (Const, Tup)) and answer != NONE:
            error, name = "TypeError", type(getattr(answer, "value", ())).__name__
            text = f"expected Variable, but hook returned '{name}'"
        elif given is None or not engine.sizes_differ(given.shape, tensor.shape):
            return
    elif given is None:
        return
    m.raise_exception(
        s,
        error,
        InvalidTensorUse(site=p.site, text=text, kind=kind, tensor=str(tensor.name), call=str(p.text)),
    )


def is_shared_gradient(s: State, p: engine.BackwardPass, at: Value) -> bool:
    """Does the gradient that arrives here certainly belong to the caller or go to another operand too?"""
    for root, given in zip(p.roots, p.given, strict=True):
        if given and engine.edge(s, root) == at:
            return True
    users = [s[r] for r in p.ran if at in s[r].inputs]
    return (
        len(users) == 1
        and users[0].op in ("+", "add")
        and sum(isinstance(e, Ref) for e in users[0].inputs) > 1
    )


def _incoming(s: State, p: engine.BackwardPass, ref: Ref) -> Ref:
    """The gradient that a hook gets. Where it comes from a plain `sum` alone, its elements share memory."""
    grad = engine.new_tensor(s, p.site, shape=s[ref].shape, name="grad")
    s[grad].overlaps = engine.expanded(s, p, engine.edge(s, ref), s[ref].shape)
    return grad
