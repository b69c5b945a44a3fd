"""Object models: what the objects of a kind do when they are read, written, called or combined.

The table of models is what type slots are to CPython: the interpreter executes the language and asks the
model of an object for what only its type knows. The library registers a model for each kind of record or
value that it describes. Every slot may answer None, "not mine": the interpreter then does what it does with
an object of which nothing is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gradcheck_tool.domain.values import Ref
from gradcheck_tool.interp import registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes
    from gradcheck_tool.interp.registry import Native

V = TypeVar("V")


class ObjectModel(Generic[V]):
    """A model in which every slot is empty; subclasses fill in what their objects do.

    Attributes:
        kind: the name under which `registry.method` has the methods of the objects, `''` for none.
        is_plain: methods that are not registered compute data and touch nothing else.
    """

    kind = ""
    is_plain = False

    def method(self, s: State, obj: V, name: str) -> Native | None:
        """The native for `obj.name`, looked up when it is called."""
        return registry.METHODS.get((self.kind, name)) if self.kind else None

    def stand_in(self, s: State, obj: V, name: str) -> Native | None:
        """What stands for a method of the program that takes too much work to be executed to its end.

        It does what the library's method does that it overrides: an optimizer's `step` steps.
        """
        return None if name.startswith("_") else self.method(s, obj, name)

    def has(self, s: State, obj: V, name: str) -> bool:
        """Does every such object have a method or an attribute of that name?"""
        return any(self.method(s, obj, f"{dot}{name}") is not None for dot in ("", "."))

    def get_attribute(self, m: Interpreter, s: State, obj: V, name: str, site: Any) -> Outcomes | None:
        """`obj.name`, where neither the object nor its class has it."""
        return None

    def set_attribute(
        self, m: Interpreter, s: State, obj: V, name: str, value: Value, site: Any, augmented: bool
    ) -> list[State] | None:
        """`obj.name = value`."""
        return None

    def delete_attribute(self, m: Interpreter, s: State, obj: V, name: str, site: Any) -> list[State] | None:
        """`del obj.name`."""
        return None

    def get_item(self, m: Interpreter, s: State, obj: V, index: Value, site: Any) -> Outcomes | None:
        """`obj[index]`."""
        return None

    def set_item(
        self,
        m: Interpreter,
        s: State,
        obj: V,
        index: Value,
        value: Value,
        site: Any,
        text: Any,
        augmented: bool,
    ) -> list[State] | None:
        """`obj[index] = value`."""
        return None

    def call(self, m: Interpreter, s: State, obj: V, call: Call) -> Outcomes | None:
        """`obj(...)`."""
        return None

    def is_certain(self, s: State, obj: V) -> bool:
        """Does calling it raise what the model says and nothing else?"""
        return False

    def created(self, s: State, obj: V) -> None:
        """The object is new: `__init__` runs next."""

    def defined(self, m: Interpreter, s: State, obj: V, site: Any) -> None:
        """The class statement has been executed: what a class shows beyond its bases is looked at."""

    def elements(self, s: State, obj: V) -> list[Value] | None:
        """The elements that are known, where iterating over the object runs no code of its own."""
        return None

    def rows(self, m: Interpreter, s: State, obj: V, site: Any, count: int | None = None) -> Outcomes | None:
        """The elements as a tuple, where iterating computes them; `count` is how many are unpacked."""
        return None

    def element(self, s: State, obj: V, site: Any) -> Value | None:
        """Any one element, where that is all that is known."""
        return None

    def binary(
        self, m: Interpreter, s: State, op: str, left: Value, right: Value, site: Any, text: Any
    ) -> Outcomes | None:
        """`left op right`, of which one is an object of this kind."""
        return None

    def inplace(
        self, m: Interpreter, s: State, op: str, left: V, right: Value, site: Any, text: Any
    ) -> Outcomes | None:
        """`left op= right`."""
        return None

    def unary(self, m: Interpreter, s: State, op: str, obj: V, site: Any, text: Any) -> Outcomes | None:
        """`-obj`, `+obj` or `~obj`."""
        return None

    def compare(
        self, m: Interpreter, s: State, op: str, left: Value, right: Value, site: Any, text: Any
    ) -> Outcomes | None:
        """`left op right`, a comparison, of which one is an object of this kind."""
        return None


_MODELS: dict[type, ObjectModel[Any]] = {}
_UNKNOWN: ObjectModel[Any] = ObjectModel()
_Model = TypeVar("_Model", bound="type[ObjectModel[Any]]")


def models(*kinds: type) -> Callable[[_Model], _Model]:
    """Register a class as the model of these kinds of records or values."""

    def register(model: _Model) -> _Model:
        one = model()
        _MODELS.update(dict.fromkeys(kinds, one))
        return model

    return register


def model_of(s: State, value: Value | None) -> ObjectModel[Any]:
    """The model of a value: that of its record where it refers to one."""
    kind = type(s.heap[value.id]) if type(value) is Ref else type(value)
    return _MODELS.get(kind, _UNKNOWN)
