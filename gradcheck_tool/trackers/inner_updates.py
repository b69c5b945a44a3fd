"""Inner updates of meta-learning that are differentiated, but leave the updated value itself behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import InnerUpdateCut
from gradcheck_tool.domain.graph import Tensor

if TYPE_CHECKING:
    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value
    from gradcheck_tool.engine.backward import BackwardPass
    from gradcheck_tool.interp.api import Interpreter


def note_difference(m: Interpreter, s: State, left: Value, right: Value, result: Value, site: Site) -> None:
    """`w.data - lr * g`, where `g` is the gradient of `w` and has a graph of its own."""
    start, step, made = s.get(left, Tensor), s.get(right, Tensor), s.get(result, Tensor)
    if start is None or step is None or made is None or made.grad_fn is None or not step.requires_grad:
        return
    if start.view in ("data", "detached") and start.base is not None and start.base in step.grads_of:
        name, call = str(s[start.base].name), str(m.label(s, site.node))
        m.ledger.updates[made.grad_fn.id] = InnerUpdateCut(
            site=site, parameter=name, start=str(start.name), call=call
        )


def note_pass(m: Interpreter, p: BackwardPass) -> None:
    """Such an update is back-propagated."""
    for ref in p.ran if m.ledger.updates else ():
        event = m.ledger.updates.pop(ref.id, None)
        if event is not None and ("inner", id(event.site.node)) not in m.noted:
            m.noted.add(("inner", id(event.site.node)))
            m.emit(event)
