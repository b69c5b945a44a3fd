"""Parameters of PyTorch's callables: one order for all overloads of a name, with defaults."""

from __future__ import annotations

import functools
import inspect
import operator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torchgen
import yaml
from torchgen.model import FunctionSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NAMESPACES = {
    "torch": "",
    "torch.Tensor": "",
    "torch.nn.functional": "",
    "torch.linalg": "linalg_",
    "torch.special": "special_",
    "torch.fft": "fft_",
}


NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}
BY_HAND = {
    "torch.tensor": "data, *, dtype=None, device=None, requires_grad=False, pin_memory=False",
    "torch.as_tensor": "data, *, dtype=None, device=None",
    "torch.asarray": "obj, *, dtype=None, device=None, copy=None, requires_grad=False",
    "torch.from_numpy": "ndarray",
    "torch.Tensor.apply_": "self, callable",
    "torch.Tensor.map_": "self, tensor, callable",
    "torch.Tensor.cuda": "self, device=None, non_blocking=False, memory_format=None",
    "torch.Tensor.xpu": "self, device=None, non_blocking=False, memory_format=None",
    "torch.Tensor.type_as": "self, other",
    "torch.Tensor.size": "self, dim=None",
    "torch.Tensor.stride": "self, dim=None",
    "torch.range": "start=0, end=None, step=1, *, out=None, dtype=None, device=None, requires_grad=False",
    "torch.einsum": "equation, *operands",
    "torch.Tensor.__getitem__": "self, index",
    "torch.Tensor.__setitem__": "self, index, value",
    "torch.Tensor.new_tensor": "self, data, *, dtype=None, device=None, requires_grad=False, pin_memory=False",
    "torch.Tensor.to": "self, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None",
}


@dataclass(frozen=True)
class Signature:
    """`positional` in order, `keyword` names that have no position, `synonyms` keyword -> parameter.

    `rest` is the parameter that takes all further positional arguments as a list, if any.
    """

    positional: tuple[str, ...]
    keyword: tuple[str, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    synonyms: dict[str, str] = field(default_factory=dict)
    rest: str | None = None

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by parameter name; raises TypeError where they do not fit."""
        head = list(self.positional)
        if self.rest is not None:
            head = head[: head.index(self.rest)]
        bound: dict[str, Any] = dict(zip(head, args, strict=False))
        extra = args[len(head) :]
        if extra and self.rest is not None:
            bound[self.rest] = extra[0] if len(extra) == 1 else list(extra)
        elif extra:
            raise TypeError("too many positional arguments")
        for keyword, value in kwargs.items():
            name = keyword if keyword in self.names else self.synonyms.get(keyword, keyword)
            if name not in self.names or name in bound:
                raise TypeError(f"unexpected argument {keyword}")
            bound[name] = value
        return bound

    def invoke(self, target: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Call `target` with arguments by parameter name: in position as far as they go."""
        positional: list[Any] = []
        left = dict(arguments)
        for name in self.positional:
            if name not in left:
                break
            value = left.pop(name)
            positional += value if name == self.rest and isinstance(value, list) else [value]
        return target(*positional, **left)

    @property
    def names(self) -> tuple[str, ...]:
        return self.positional + self.keyword


@functools.cache
def native_schemas() -> dict[str, list[tuple[FunctionSchema, frozenset[str]]]]:
    """Schemas of native_functions.yaml by base name, each with its variants (function, method)."""
    path = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
    found: dict[str, list[tuple[FunctionSchema, frozenset[str]]]] = {}
    for entry in yaml.safe_load(path.read_text()):
        schema = FunctionSchema.parse(entry["func"])
        variants = frozenset(part.strip() for part in entry.get("variants", "function").split(","))
        found.setdefault(str(schema.name.name), []).append((schema, variants))
    return found


BINARY = {
    f"{prefix}{word}"
    for word in [
        "add",
        "sub",
        "mul",
        "truediv",
        "div",
        "floordiv",
        "mod",
        "pow",
        "matmul",
        "and",
        "or",
        "xor",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "lshift",
        "rshift",
    ]
    for prefix in ("", "r", "i")
}


def resolve(name: str) -> Any:
    """The object that a qualified name such as `torch.linalg.norm` stands for; AttributeError if none."""
    value: Any = torch
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


def is_property(name: str) -> bool:
    """Whether it is an attribute that is read, not called."""
    return name.startswith("torch.Tensor.") and not callable(resolve(name))


@functools.cache
def signature(name: str) -> Signature | None:
    """The merged signature of a fully qualified callable, or None where nothing declares one."""
    if name.startswith("operator."):
        return _operator_signature(name.removeprefix("operator."))
    if is_property(name):
        return Signature(("self",))
    if name in BY_HAND:
        return _python(eval(f"lambda {BY_HAND[name]}: None"))  # noqa: S307 - written above
    last = name.rpartition(".")[2]
    if last.startswith("__") and last.strip("_") in BINARY:
        return Signature(("self", "other"))
    declared = _declared(name)
    return declared or _python(resolve(name)) or _override(resolve(name))


def _operator_signature(symbol: str) -> Signature:
    if symbol in {"neg", "pos", "~"}:
        return Signature(("self",))
    return Signature(("self", "other"))


def _python(function: Any) -> Signature | None:
    """The signature of a function written in Python; None for built-ins.

    Functions that return indices on request are made by `boolean_dispatch` from two with one signature.
    """
    cells = inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}
    function = cells.get("if_false", function)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    kinds = inspect.Parameter
    if [p.kind for p in parameters] in ([kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD], [kinds.VAR_KEYWORD]):
        return None
    positional = [
        p.name for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    ]
    rest = next((p.name for p in parameters if p.kind is kinds.VAR_POSITIONAL), None)
    if rest is not None:
        positional.append(rest)
    keyword = tuple(p.name for p in parameters if p.kind is kinds.KEYWORD_ONLY)
    defaults = {p.name: p.default for p in parameters if is_plain(p.default)}
    return Signature(tuple(positional), keyword, defaults, {}, rest)


def _override(function: Any) -> Signature | None:
    """The signature that torch.overrides records for tests."""
    dummy = torch.overrides.get_testing_overrides().get(function)
    return _python(dummy) if dummy is not None else None


def is_plain(value: Any) -> bool:
    """Whether a default can be written to the table."""
    return value is None or isinstance(value, (bool, int, float, str))


def _declared(name: str) -> Signature | None:
    """The merged signature of the native schemas behind a built-in."""
    module, _, base = name.rpartition(".")
    if module not in NAMESPACES or not _is_builtin(resolve(name)):
        return None
    wanted = "method" if module == "torch.Tensor" else "function"
    schemas = [
        schema
        for schema, variants in native_schemas().get(NAMESPACES[module] + base, [])
        if wanted in variants and not schema.arguments.out and not _has_names(schema)
    ]
    return _merge(schemas, wanted == "method") if schemas else None


def _is_builtin(function: Any) -> bool:
    return inspect.isbuiltin(function) or inspect.ismethoddescriptor(function)


def _has_names(schema: FunctionSchema) -> bool:
    return any("Dimname" in str(argument.type) for argument in schema.arguments.flat_all)


def _merge(schemas: list[FunctionSchema], method: bool) -> Signature:
    """One order: the longest overload leads, names that only others have share its positions."""
    named = {a.name for schema in schemas for a in schema.arguments.flat_kwarg_only}
    lists = [[a.name for a in s.arguments.flat_positional if a.name not in named] for s in schemas]
    lists.sort(key=lambda names: -len(names))
    positional = list(lists[0])
    synonyms = {"input": "self"} if "self" in positional and "input" not in positional else {}
    for names in lists[1:]:
        for position, other in enumerate(names):
            if other not in positional and other not in synonyms:
                synonyms[other] = positional[position]
    synonyms |= {numpy: name for numpy, name in NUMPY_NAMES.items() if name in positional}
    keyword = {a.name: None for s in schemas for a in s.arguments.flat_kwarg_only if a.name not in positional}
    defaults: dict[str, Any] = {}
    for argument in (a for schema in schemas for a in schema.arguments.flat_non_out):
        if argument.default is not None and (value := _literal(argument.default)) is not NotImplemented:
            defaults.setdefault(argument.name, value)
    if not method:
        keyword["out"] = None
        defaults["out"] = None
    if "pin_memory" in keyword:
        keyword["requires_grad"] = None
        defaults["requires_grad"] = False
    rest = next((a.name for s in schemas for a in s.arguments.flat_positional if _takes_rest(a, s)), None)
    if rest is not None and rest not in positional:
        rest = synonyms.get(rest)
    return Signature(tuple(positional), tuple(keyword), defaults, synonyms, rest)


def _takes_rest(argument: Any, schema: FunctionSchema) -> bool:
    """Python accepts `x.view(2, 3)` where a list of sizes is the last positional parameter."""
    last = schema.arguments.flat_positional[-1].name == argument.name
    return (
        last
        and str(argument.type) in {"SymInt[]", "int[]"}
        and argument.name in {"size", "dims", "repeats", "sizes", "shape"}
    )


def _literal(text: str) -> Any:
    """The Python value of a schema default; NotImplemented for enumerations and lists."""
    known = {"None": None, "True": True, "False": False}
    if text in known:
        return known[text]
    if text.startswith(("'", '"')):
        return text.strip("'\"")
    try:
        return float(text) if set(text) & {".", "e"} else int(text)
    except ValueError:
        return NotImplemented


OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv,
    "//=": operator.ifloordiv, "%=": operator.imod, "**=": operator.ipow, "@=": operator.imatmul,
    "&=": operator.iand, "|=": operator.ior, "^=": operator.ixor,
    "neg": operator.neg, "pos": operator.pos, "~": operator.invert,
}  # fmt: skip
