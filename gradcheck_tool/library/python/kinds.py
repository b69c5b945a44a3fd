"""The object models of Python's own kinds of values: the names under which their methods are registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.records import Dict, Func, Generator, Iter, List
from gradcheck_tool.domain.values import Const, Ref, Slice, Tup
from gradcheck_tool.interp import registry
from gradcheck_tool.interp.models import ObjectModel, models

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value
    from gradcheck_tool.interp.api import Interpreter, Outcomes
    from gradcheck_tool.interp.registry import Native


@models(List)
class ListModel(ObjectModel[Ref]):
    """Lists, sets and deques."""

    kind = "list"

    def compare(
        self, m: Interpreter, s: State, op: str, left: Value, right: Value, site: Any, text: Any
    ) -> Outcomes | None:
        """Lists are equal where their elements are, which must be constants."""
        mine, others = _constants(s, left), _constants(s, right)
        if mine is None or others is None or op not in ("==", "!="):
            return None
        return [(s, Const((mine == others) is (op == "==")))]


@models(Dict)
class DictModel(ObjectModel[Ref]):
    """Dictionaries."""

    kind = "dict"


@models(Generator)
class GeneratorModel(ObjectModel[Ref]):
    """Suspended generators."""

    kind = "generator"


@models(Iter)
class IteratorModel(ObjectModel[Ref]):
    """Iterators."""

    kind = "iterator"


@models(Func)
class FunctionModel(ObjectModel[Ref]):
    """Functions of the repository."""

    kind = "function"


@models(Tup)
class TupleModel(ObjectModel[Tup]):
    """Tuples and named tuples."""

    kind = "tuple"
    is_plain = True


@models(Slice)
class SliceModel(ObjectModel[Slice]):
    """Slices."""

    kind = "slice"
    is_plain = True


@models(Const)
class ConstantModel(ObjectModel[Const]):
    """Texts and numbers."""

    is_plain = True

    def method(self, s: State, obj: Const, name: str) -> Native | None:
        kind = "str" if isinstance(obj.value, (str, bytes)) else "number"
        return registry.METHODS.get((kind, name))


def _constants(s: State, value: Value) -> list[Any] | None:
    """The elements of a list that are all constants; None for any other."""
    record = s.get(value, List)
    if record is None or record.open or record.kind != "list":
        return None
    items = [item.value for item in record.items if isinstance(item, Const)]
    return items if len(items) == len(record.items) else None
