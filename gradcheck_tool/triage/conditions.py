"""The conditions that triggers name, judged by the text and the syntax tree of one function."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.triage.file_text import VIEWS, FileText, compiled
from gradcheck_tool.triage.losses import computes_loss
from gradcheck_tool.triage.operations import is_operation
from gradcheck_tool.triage.plain_containers import keeps_in_plain_container
from gradcheck_tool.triage.write_targets import may_write_to
from gradcheck_tool.trigger import Condition
from gradcheck_tool.when import WRITE

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.ir.outline import Unit

_WITHOUT_GRAD = re.compile(r"\s*@[\w.]*(?:no_grad|inference_mode)\(")
_INPLACE_METHOD = re.compile(r"[a-zA-Z0-9]_(?!\w)|:=")
_CUT = re.compile(
    r"\.(?:item|tolist|numpy|detach|long|int|sign|round)\(|\.data\b|no_grad|\b(?:tensor|float|from_numpy)\(|"
    r"arg(?:max|min|sort)|[^-]>|<"
)
# What cuts off whatever it is given, and what may cut off a Parameter that a class has of its own.
_CUT_ANY = re.compile(
    r"\.(?:item|tolist|numpy|round|sign|sgn|floor|ceil|trunc|fix|bernoulli)\(|arg(?:max|min|sort)\(|topk\(|\btensor\("
)
_CUT_PARAMETER = re.compile(r"\.(?:detach|long|int|bool)\(|\.data\b|no_grad\(|[^-]>|<|\bfloat\(")
_BOUND = re.compile(r"\bself\.(\w+)\s*=[^=]")
# What is bound to an attribute but None, a Parameter and what makes one.
_BOUND_TO_OTHER = re.compile(r"\bself\.(\w+)\s*=(?!=|\s*(?:None\b|(?:\w+\.)*Parameter\())")
_WRITE = re.compile(WRITE)
# What is called by its name, or as a method of the same object.
_CALLED = re.compile(r"(?<![\w.])(?:self\.)?\w+(?=\()")
_CLASS = re.compile(r"^[ \t]+class ", re.MULTILINE)
_SUM = re.compile(r"\+=|append|\]\s*=|= *\w+ *\+")
_MODULE_ROLE = re.compile(r"\b(\w+)\.(?:eval|train|parameters|named_parameters|state_dict|zero_grad)\(")
_MODULE_MADE = re.compile(r"\b(\w+)\s*=\s*(?:torch\.)?nn\.[A-Z]\w*\(")


# Those that hold of few functions, and are judged by the names of a function and its class first.
BY_NAME = frozenset(
    {Condition.BINDS_BUFFER, Condition.COMPUTES_LOSS, Condition.CUTS_LOSS, Condition.IN_FORWARD}
)


def holds(condition: Condition, file: FileText, unit: Unit) -> bool:
    """Does a condition hold of a function of a file?"""
    return _TESTS[condition](file, unit)


def _in_training_file(file: FileText, _: Unit) -> bool:
    return file.trains


def _records_graph(_: FileText, unit: Unit) -> bool:
    return _WITHOUT_GRAD.match(unit.text) is None


def _in_function_class(file: FileText, unit: Unit) -> bool:
    names = file.function_classes
    return bool(names) and (unit.owner in names or any(name in unit.text for name in names))


def _in_forward(file: FileText, unit: Unit) -> bool:
    return unit.name == "forward" and unit.owner in file.derived and unit.owner not in file.function_classes


def _helps_forward_write(file: FileText, unit: Unit) -> bool:
    if not (_in_forward(file, unit) and file.may_require_grad and _records_graph(file, unit)):
        return False
    owners, seen, waiting = file.family(unit.owner), {unit}, [unit]
    while waiting:
        helpers = [other for other in _helpers(file, waiting.pop(), owners) if other not in seen]
        if any(map(_WRITE.search, (other.text for other in helpers))):
            return True
        seen.update(helpers)
        waiting += helpers
    return False


def _helpers(file: FileText, unit: Unit, owners: set[str]) -> list[Unit]:
    """What a function calls of some classes and of the functions of the file, where it records a graph."""
    called = frozenset(_CALLED.findall(unit.text))
    return [
        other
        for other in file.outline.units
        if (f"self.{other.name}" if other.owner in owners else "" if other.owner else other.name) in called
        and _records_graph(file, other)
    ]


def _in_operation(file: FileText, unit: Unit) -> bool:
    return not unit.owner and is_operation(unit.name, unit.text) and _records_graph(file, unit)


def _binds_buffer(file: FileText, unit: Unit) -> bool:
    is_method = unit.owner in file.derived and unit.name != "__init__" and _records_graph(file, unit)
    return is_method and any(name in file.buffers for name in _BOUND.findall(unit.text))


def _binds_parameter(file: FileText, unit: Unit) -> bool:
    bound = _BOUND_TO_OTHER.findall(unit.text) if _is_in_class(file, unit) else []
    return any(name in file.own_parameters for name in bound)


def _computes_loss(file: FileText, unit: Unit) -> bool:
    return computes_loss(unit.name, unit.owner or "") and _records_graph(file, unit)


def _cuts_loss(file: FileText, unit: Unit) -> bool:
    return _computes_loss(file, unit) and any(_CUT.search(other.text) for other in _near(file, unit))


def _near(file: FileText, unit: Unit) -> list[Unit]:
    """A function and what it may call of its class and file."""
    return [
        other
        for other in file.outline.units
        if other is unit or (other.owner in ("", unit.owner) and f"{other.name}(" in unit.text)
    ]


def _parts(file: FileText, unit: Unit) -> list[Unit]:
    """The `forward` of classes of the file that the constructor of a class names."""
    own = [
        other.text for other in file.outline.units if other.owner == unit.owner and other.name == "__init__"
    ]
    return [
        other
        for other in file.outline.units
        if other.name == "forward" and other.owner and any(f"{other.owner}(" in text for text in own)
    ]


def _cuts_forward(file: FileText, unit: Unit) -> bool:
    if not (_in_forward(file, unit) and file.may_require_grad and _records_graph(file, unit)):
        return False
    near = [*_near(file, unit), *_parts(file, unit)]
    if any(_CUT_ANY.search(other.text) for other in near):
        return True
    own = any("Parameter(" in other.text for other in file.outline.units if other.owner == unit.owner)
    return own and any(_CUT_PARAMETER.search(other.text) for other in near)


def _writes_to_shared(file: FileText, unit: Unit) -> bool:
    code = unit.text
    if not (
        file.may_require_grad and any(name in code for name in file.leaves) and _records_graph(file, unit)
    ):
        return False
    by_calls = _INPLACE_METHOD.search(code) is not None or any(f"{name}(" in code for name in file.writers)
    return may_write_to(unit.node, file.leaves, file.writers, by_calls=by_calls)


def _calls_writer(file: FileText, unit: Unit) -> bool:
    if not any(f"{name}(" in unit.text for name in file.writers):
        return False
    return (_in_forward(file, unit) and file.may_require_grad) or _writes_to_shared(file, unit)


def _calls_inplace_layer(file: FileText, unit: Unit) -> bool:
    code = unit.text
    called = file.may_require_grad and any(f".{name}(" in code for name in file.inplace_layers)
    return called and any(name in code for name in VIEWS)


def _gives_to_numpy(file: FileText, unit: Unit) -> bool:
    if not _records_graph(file, unit):
        return False
    origins = file.origins(unit)
    return origins.reach(origins.numpy, _givers_of_grad(file, unit)) or origins.drops


def _copies_computed(file: FileText, unit: Unit) -> bool:
    if not _records_graph(file, unit):
        return False
    origins = file.origins(unit)
    return origins.reach(origins.copied, _givers_of_grad(file, unit), computed=True) or origins.drops


def _givers_of_grad(file: FileText, unit: Unit) -> frozenset[str]:
    return file.givers_of_grad.union(_MODULE_ROLE.findall(unit.text))


def _drops_copy(file: FileText, unit: Unit) -> bool:
    return file.origins(unit).drops


def _keeps_in_container(file: FileText, unit: Unit) -> bool:
    return _is_in_class(file, unit) and keeps_in_plain_container(unit.node, file.list_makers)


def _is_in_class(file: FileText, unit: Unit) -> bool:
    """Is it a method of a class with bases, or has it a class?"""
    return unit.owner in file.derived or _CLASS.search(unit.text) is not None


def _gathers_in_loop(_: FileText, unit: Unit) -> bool:
    code = unit.text
    if _SUM.search(code) is None:
        return False
    modules = {*_MODULE_ROLE.findall(code), *_MODULE_MADE.findall(code)}
    return any(f"{name}(" in code and compiled(rf"\b{name}\(").search(code) for name in modules)


_TESTS: dict[Condition, Callable[[FileText, Unit], bool]] = {
    Condition.IN_TRAINING_FILE: _in_training_file,
    Condition.RECORDS_GRAPH: _records_graph,
    Condition.IN_FUNCTION_CLASS: _in_function_class,
    Condition.COMPUTES_LOSS: _computes_loss,
    Condition.CUTS_LOSS: _cuts_loss,
    Condition.IN_FORWARD: _in_forward,
    Condition.CUTS_FORWARD: _cuts_forward,
    Condition.HELPS_FORWARD_WRITE: _helps_forward_write,
    Condition.IN_OPERATION: _in_operation,
    Condition.BINDS_BUFFER: _binds_buffer,
    Condition.BINDS_PARAMETER: _binds_parameter,
    Condition.WRITES_TO_SHARED: _writes_to_shared,
    Condition.CALLS_WRITER: _calls_writer,
    Condition.CALLS_INPLACE_LAYER: _calls_inplace_layer,
    Condition.GIVES_TO_NUMPY: _gives_to_numpy,
    Condition.COPIES_COMPUTED: _copies_computed,
    Condition.DROPS_COPY: _drops_copy,
    Condition.KEEPS_IN_CONTAINER: _keeps_in_container,
    Condition.GATHERS_IN_LOOP: _gathers_in_loop,
}
