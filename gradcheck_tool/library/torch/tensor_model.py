"""The object models of tensors and graph nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.values import NONE, Ref
from gradcheck_tool.interp.exceptions import guard
from gradcheck_tool.interp.models import ObjectModel, models
from gradcheck_tool.library.torch.operator_calls import (
    call_compare,
    call_inplace_operator,
    call_operator,
    call_unary,
    tensor_native,
)
from gradcheck_tool.library.torch.tensor_attributes import (
    get_attribute,
    has_attribute,
    node_attribute,
    set_attribute,
)
from gradcheck_tool.library.torch.tensor_items import get_item, rows, set_item

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value
    from gradcheck_tool.interp.api import Interpreter, Outcomes
    from gradcheck_tool.interp.registry import Native


@models(Tensor)
class TensorModel(ObjectModel[Ref]):
    """Everything that is done with a tensor is an operation of the engine, which may refuse it."""

    kind = "tensor"

    def method(self, s: State, obj: Ref, name: str) -> Native | None:
        return tensor_native(name)

    def has(self, s: State, obj: Ref, name: str) -> bool:
        return has_attribute(name)

    def get_attribute(self, m: Interpreter, s: State, obj: Ref, name: str, site: Any) -> Outcomes:
        return guard(m, s, get_attribute, m, s, obj, name, site)

    def set_attribute(
        self, m: Interpreter, s: State, obj: Ref, name: str, value: Value, site: Any, augmented: bool
    ) -> list[State]:
        guard(m, s, set_attribute, m, s, obj, name, value, site, augmented)
        return [s]

    def delete_attribute(
        self, m: Interpreter, s: State, obj: Ref, name: str, site: Any
    ) -> list[State] | None:
        return self.set_attribute(m, s, obj, name, NONE, site, False) if name == "grad" else None

    def get_item(self, m: Interpreter, s: State, obj: Ref, index: Value, site: Any) -> Outcomes:
        return guard(m, s, get_item, m, s, obj, index, site)

    def set_item(
        self,
        m: Interpreter,
        s: State,
        obj: Ref,
        index: Value,
        value: Value,
        site: Any,
        text: Any,
        augmented: bool,
    ) -> list[State]:
        guard(m, s, set_item, m, s, obj, index, value, site, text, augmented)
        return [s]

    def rows(self, m: Interpreter, s: State, obj: Ref, site: Any, count: int | None = None) -> Outcomes:
        return guard(m, s, rows, m, s, obj, site, count)

    def binary(
        self, m: Interpreter, s: State, op: str, left: Value, right: Value, site: Any, text: Any
    ) -> Outcomes:
        return guard(m, s, call_operator, m, s, op, left, right, site, text)

    def inplace(
        self, m: Interpreter, s: State, op: str, left: Ref, right: Value, site: Any, text: Any
    ) -> Outcomes:
        return guard(m, s, call_inplace_operator, m, s, op, left, right, site, text)

    def unary(self, m: Interpreter, s: State, op: str, obj: Ref, site: Any, text: Any) -> Outcomes:
        return guard(m, s, call_unary, m, s, op, obj, site, text)

    def compare(
        self, m: Interpreter, s: State, op: str, left: Value, right: Value, site: Any, text: Any
    ) -> Outcomes:
        return guard(m, s, call_compare, m, s, op, left, right, site, text)


@models(Node)
class NodeModel(ObjectModel[Ref]):
    """A node of the graph has attributes, of which some are gone once it is freed."""

    def get_attribute(self, m: Interpreter, s: State, obj: Ref, name: str, site: Any) -> Outcomes:
        return guard(m, s, node_attribute, m, s, obj, name, site)
