"""A file as the conditions of triggers see it: what its names mean, judged by its text."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from gradcheck_tool.triage.origins import LAYER, Origins
from gradcheck_tool.triage.plain_containers import gives_plain_container
from gradcheck_tool.triage.write_targets import writes_to_parameters
from gradcheck_tool.when import GRAD_SOURCES, WRITE

if TYPE_CHECKING:
    from gradcheck_tool.ir.outline import Outline, Unit

_LEAVES = frozenset(
    {"weight", "bias", "parameters", "named_parameters", "Parameter", "requires_grad", "requires_grad_"}
)
VIEWS = frozenset(
    {"chunk", "split", "unbind", "tensor_split", "hsplit", "vsplit", "dsplit", "split_with_sizes"}
    | {"expand", "expand_as", "unfold", "iter", "zip"}
)
_GIVE_GRAD = frozenset(
    {LAYER, "Parameter", "requires_grad", "requires_grad_", "parameters", "weight", "bias"}
)
_INPLACE = re.compile(WRITE)
_TRAINS = re.compile(r"backward\(|\.step\(|\.grad\b")
_CALLED = re.compile(r"\w+(?=\()")
_LAYER = re.compile(r"(?<!\w)[A-Z]\w*\(")
_LAYER_NAME = re.compile(r"self\.(\w+)\s*(?::[^=]+)?=\s*(?:torch\.)?nn\.[A-Z]")
_PARAMETER_NAME = re.compile(r"self\.(\w+)\s*(?::[^=]+)?=.*Parameter\(|register_parameter\(\s*[\"'](\w+)")
_BUFFER_NAME = re.compile(r"register_buffer\(\s*(?:name\s*=\s*)?[\"'](\w+)")

# What makes something of which more is known than that it exists.
_MAKES = re.compile(
    r"\bnn\.[A-Z]|requires_grad|Parameter\(|\bparameters\(|\boptim\.|zero_grad|\bbackward\(|\btorch\.[a-z]\w*\("
)
_MAKE_WORDS = ("torch.", "nn.", "grad", "arameter", "optim.", "backward(")


class FileText:
    """What a file's code says about its functions, classes and attributes, found out when it is needed."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self._origins: tuple[Unit, Origins] | None = None

    @cached_property
    def may_require_grad(self) -> bool:
        """May tensors of the file require grad?"""
        return has_any(self.outline.source, GRAD_SOURCES)

    @cached_property
    def trains(self) -> bool:
        """Does it back-propagate, take optimizer steps or read gradients?"""
        return any(map(_TRAINS.search, self.outline.code))

    @cached_property
    def writers(self) -> frozenset[str]:
        """The names of its functions and methods that write in place to what they are given."""
        units = (unit for unit in self.outline.units if _INPLACE.search(unit.text))
        return frozenset(unit.name for unit in units if writes_to_parameters(unit.node))

    @cached_property
    def list_makers(self) -> frozenset[str]:
        """The names of its functions and methods that make layers and give them in a plain container."""
        units = (unit for unit in self.outline.units if "return" in unit.text and _LAYER.search(unit.text))
        return frozenset(unit.name for unit in units if gives_plain_container(unit.node))

    @cached_property
    def function_classes(self) -> frozenset[str]:
        """Classes that may derive from torch.autograd.Function, and their bases, which give them methods."""
        classes = self.outline.classes
        direct = [name for name, bases in classes.items() if any("Function" in base for base in bases)]
        found = frozenset(heir for name in direct for heir in self.family(name))
        return found | {base for name in found for base in classes[name] if base in classes}

    @cached_property
    def derived(self) -> frozenset[str]:
        """Classes with bases."""
        return frozenset(name for name, bases in self.outline.classes.items() if bases)

    def family(self, name: str) -> set[str]:
        """A class of the file and those that derive from it, directly or not."""
        found = {name}
        grew = True
        while grew:
            more = {heir for heir, bases in self.outline.classes.items() if not found.isdisjoint(bases)}
            grew = not more <= found
            found |= more
        return found

    @cached_property
    def leaves(self) -> frozenset[str]:
        """Names of parameters, and of what gives parameters and views."""
        return _LEAVES | VIEWS | self.own_parameters

    @cached_property
    def buffers(self) -> frozenset[str]:
        """Attributes that are registered as buffers by their names."""
        return frozenset(_BUFFER_NAME.findall(self.outline.source))

    @cached_property
    def givers_of_grad(self) -> frozenset[str]:
        """Names of what gives tensors that require grad."""
        made = {name for line in self._layer_lines for name in _LAYER_NAME.findall(line)}
        return _GIVE_GRAD | self.own_parameters | made

    @cached_property
    def inplace_layers(self) -> frozenset[str]:
        """Attributes that hold layers which write to their inputs."""
        lines = [line for line in self._layer_lines if "inplace=True" in line]
        return frozenset(name for line in lines for name in _LAYER_NAME.findall(line))

    @cached_property
    def makers(self) -> set[Unit]:
        """Units that make something themselves, by a function of the file, or when their object is made."""
        units = self.outline.units
        direct = {unit for unit in units if self._makes(unit.text)}
        if not direct:
            return direct
        owners = {unit.owner for unit in direct if unit.owner and unit.name == "__init__"}
        called = compiled(rf"\b(?:{'|'.join(sorted({unit.name for unit in direct}))})\(")
        return {
            unit
            for unit in units
            if unit in direct or unit.owner in owners or called.search(unit.text) is not None
        }

    def origins(self, unit: Unit) -> Origins:
        """What the values in a unit come from; of the last one that was asked for, it is kept."""
        if self._origins is None or self._origins[0] is not unit:
            self._origins = (unit, Origins(unit.node))
        return self._origins[1]

    def with_callers(self, found: set[Unit]) -> set[Unit]:
        """The units with those that call them: functions by name, methods by `self` or where their class is.

        Special methods run where an object of their class is made, or near it.

        A caller that passes nothing on of which anything is known adds nothing to its callee.
        """
        found = set(found)
        waiting = [unit for unit in found if _called_as(unit)]
        while waiting:
            callee = waiting.pop()
            for unit in self._callers.get(_called_as(callee), ()):
                if unit in found:
                    continue
                if not callee.owner or unit.owner == callee.owner or callee.owner in unit.text:
                    found.add(unit)
                    if _called_as(unit):
                        waiting.append(unit)
        return found

    @cached_property
    def _callers(self) -> dict[str, list[Unit]]:
        """For each name the units that call something of that name, and make something."""
        found: dict[str, list[Unit]] = {}
        for unit in self.outline.units:
            for name in set(_CALLED.findall(unit.text)) if unit in self.makers else ():
                found.setdefault(name, []).append(unit)
        return found

    @cached_property
    def own_parameters(self) -> frozenset[str]:
        """Attributes that its lines make Parameters."""
        lines = [line for line in self.outline.lines if "aram" in line]
        pairs = [pair for line in lines for pair in _PARAMETER_NAME.findall(line)]
        return frozenset(name for pair in pairs for name in pair if name)

    @cached_property
    def _layer_lines(self) -> list[str]:
        return [line for line in self.outline.lines if "nn." in line or "inplace=True" in line]

    def _makes(self, code: str) -> bool:
        """May what the code passes to a function be more than unknown?"""
        return (has_any(code, _MAKE_WORDS) and _MAKES.search(code) is not None) or any(
            f"{name}(" in code for name in self.outline.classes
        )


def _called_as(unit: Unit) -> str:
    """The name by which callers use a unit: that of the class for special methods, none for `forward`."""
    if unit.name == "forward":
        return ""
    return unit.owner if unit.name.startswith("__") else unit.name


def has_any(code: str, words: tuple[str, ...]) -> bool:
    """Is one of the words in the code? Fixed words are found many times faster than a pattern of them."""
    return any(word in code for word in words)


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled once."""
    return re.compile(pattern)
