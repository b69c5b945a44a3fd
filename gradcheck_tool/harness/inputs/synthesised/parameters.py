"""The parameters of a Function's forward, or of any callable, with all that is known of each."""

from __future__ import annotations

import ast
import inspect
import re
import typing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradcheck_tool.gradcheck.target import backward_of, overrides
from gradcheck_tool.harness.inputs.synthesised.usage import Body, Usage, add_kept, usages_of, with_context
from gradcheck_tool.harness.inputs.synthesised.written_shapes import written_shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.harness.inputs.synthesised.specs import Spec

_MOST_VARIABLE = 4
_TYPE = re.compile(r"\b((?:nn\.)?Module|Tensor|int|float|bool|str)\b")


@dataclass(slots=True)
class Parameter:
    """One parameter.

    Attributes:
        name: as it is written.
        default: its default, or `inspect.Parameter.empty`.
        annotation: a type, a string that could not be evaluated, or `inspect.Parameter.empty`.
        usage: what the body does with it.
        gradient: whether backward returns something for it; None where that is not known.
        variable: it stands for one of `*args`.
        keyword: it can be passed by name only.
        seen: values that call sites give it.
        module: of the callable.
        objects: what it may be beside tensors and plain values.
    """

    name: str
    default: Any = inspect.Parameter.empty
    annotation: Any = inspect.Parameter.empty
    usage: Usage = field(default_factory=Usage)
    gradient: bool | None = None
    variable: bool = False
    keyword: bool = False
    seen: list[Any] = field(default_factory=list)
    module: str = ""
    objects: tuple[Spec, ...] = ()

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is inspect.Parameter.empty


def parameters_of_function(function: Any) -> list[Parameter]:
    """The parameters of an autograd.Function's `apply`, in order; None-gradients are read off backward."""
    forward = function.forward
    found = parameters_of(forward, skip=0 if overrides(function, "setup_context") else 1)
    backward = backward_of(function)
    usages, body = {item.name: item.usage for item in found}, Body(forward)
    for other in (*([Body(backward)] if backward is not None else []), *with_context(function, body.context)):
        add_kept(usages, body, other)
    shapes = written_shapes(function) if "__doc__" in vars(function) else {}
    for item in found:
        item.usage.shape = item.usage.shape or shapes.get(item.name)
    for position, known in enumerate(_gradients(Body(backward)) if backward is not None else []):
        if position < len(found):
            found[position].gradient = known
    return found


def parameters_of(function: Any, skip: int = 0) -> list[Parameter]:
    """The parameters of a callable, without the first `skip`; `*args` become a few.

    Raises:
        ValueError: its signature cannot be had.
    """
    signature = list(inspect.signature(function).parameters.values())
    annotations = _annotations(function)
    found: list[Parameter] = []
    for item in signature:
        if item.kind is inspect.Parameter.VAR_POSITIONAL:
            left = skip - len(found) if len(found) < skip else 0
            count = _unpacked(Body(function), item.name) or _MOST_VARIABLE
            found += [
                Parameter(
                    f"{item.name}_{i}", annotation=annotations.get(item.name, item.empty), variable=True
                )
                for i in range(count + left)
            ]
        elif item.kind is not inspect.Parameter.VAR_KEYWORD:
            keyword = item.kind is inspect.Parameter.KEYWORD_ONLY
            annotation = annotations.get(item.name, item.annotation)
            found.append(Parameter(item.name, item.default, annotation, keyword=keyword))
    found = found[skip:]
    usages = usages_of(function, [item.name for item in found])
    for parameter in found:
        parameter.usage = usages[parameter.name]
        parameter.module = getattr(function, "__module__", None) or ""
    return found


def maker_of(owner: type) -> tuple[Any, int]:
    """What makes objects of a class, and how many of its first parameters a caller does not give."""
    begin = next((vars(base)["__init__"] for base in owner.__mro__ if "__init__" in vars(base)), None)
    return (begin, 1) if hasattr(begin, "__code__") else (owner, 0)


def _annotations(function: Any) -> dict[str, Any]:
    """Types of parameters: annotations, and what the docstring says of the others."""
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # noqa: BLE001 - annotations are code and may raise anything
        hints = dict(getattr(function, "__annotations__", {}))
    return {**_documented(inspect.getdoc(function) or ""), **hints}


def _documented(text: str) -> dict[str, str]:
    """`name : torch.nn.Module`, `name (int, optional): ...` and the like, one a line."""
    found = {}
    for line in text.splitlines():
        name, _, said = line.strip().removeprefix(":param ").partition(":" if "(" not in line else "(")
        word = _TYPE.search(said.split(")")[0]) if name.strip().isidentifier() else None
        if word is not None:
            found[name.strip()] = word.group(1)
    return found


def _unpacked(body: Body, name: str) -> int | None:
    """The number of names that `a, b, c = args` unpacks `*args` into."""
    for node in ast.walk(body.tree) if body.tree is not None else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == name:
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in target.elts):
                return len(target.elts)
    return None


def _gradients(body: Body) -> Sequence[bool | None]:
    """For each position whether any `return` of backward gives something other than None there.

    None where those that are read do not, and what another one calls may.
    """
    every = list(body.returns())
    returned = [items for items in every if len(items) > 1 or not isinstance(items[0], ast.Call)]
    if not returned or any(isinstance(item, ast.Starred) for items in returned for item in items):
        return []
    none = [[isinstance(e, ast.Constant) and e.value is None for e in items] for items in returned]
    longest = max(none, key=len)
    given = [not all(n[i] for n in none if i < len(n)) for i in range(len(longest))]
    return [one or None for one in given] if len(returned) < len(every) else given
