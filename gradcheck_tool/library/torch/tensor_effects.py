"""Effects on the graph of operations on tensors that no op table describes: views, writes of items."""

from __future__ import annotations

import dataclasses

from gradcheck_tool.engine.effect import Effect

VIEW = Effect(node="ViewBackward0", frees=False, second={"self": ()}, view_of="self", view="plain")


# Views of which a contiguous tensor is no reason to be contiguous.
STRIDED = dataclasses.replace(VIEW, node="SliceBackward0", strided=(True,))


PERMUTED = dataclasses.replace(STRIDED, node="PermuteBackward0")


MULTI = Effect(node="UnbindBackward0", frees=False, second={"self": ()}, view_of="self", view="multi-output")


INDEX = Effect(node="IndexBackward0", frees=True, second={"self": ()}, saves={"index": None})


NO_DERIVATIVE = Effect(node="NotImplemented", frees=None, second=None)


COPY_INTO = Effect(node="CopyBackwards", frees=False, second={"self": (), "src": ()})


INDEX_PUT = Effect(
    node="IndexPutBackward0",
    frees=True,
    second={"self": (), "src": ()},
    saves={"index": None},
    guarded=False,
)
