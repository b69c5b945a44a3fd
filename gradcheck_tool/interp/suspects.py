"""Which functions of a file may hold a hazard, judged by its text before anything is lowered.

A finding needs a *seed*: a name of autograd's, a write that may reach a parameter or a view, a module or
parameter kept in a plain container, a deprecated name. A function is suspect when its code has a seed, or
when it calls a suspect of the same file, so that what the two do together is seen. The others are
executed only as part of a suspect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from gradcheck_tool.interp.plain_containers import keeps_in_plain_container
from gradcheck_tool.interp.write_targets import may_write_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.ir.outline import Outline, Unit


@dataclass(frozen=True, slots=True)
class Suspects:
    """The suspects of a file by qualified name.

    `body` tells whether its top-level code is one itself, `train` whether one of them computes gradients
    or takes optimizer steps, and `rows` how many rows they have together.
    """

    functions: frozenset[str]
    body: bool
    train: bool
    rows: int

    def __bool__(self) -> bool:
        return self.body or bool(self.functions)


def suspects(outline: Outline) -> Suspects:
    """Find the functions of a file that may hold a hazard."""
    seeds = _Seeds(outline)
    functions = _function_classes(outline)
    named = {unit for unit in outline.units if unit.owner in functions or seeds.named_in(unit.text)}
    found = _with_callers(outline, named)
    derived = {name for name, bases in outline.classes.items() if bases}
    found |= {
        unit for unit in outline.units if unit not in found and seeds.in_unit(unit, unit.owner in derived)
    }
    body = _RUNS.search(outline.source if outline.runs else outline.outside) is not None
    names = frozenset(unit.qualname for unit in found)
    train = any(_TRAINS.search(unit.text) for unit in found)
    return Suspects(names, body, train, sum(unit.last - unit.first + 1 for unit in found))


_TRAINS = re.compile(r"\bbackward\(|\.step\(|\bautograd\.grad\(|\bzero_grad\(")


# A comment to the end of a line, where no quote follows that might make it a part of a string.
_COMMENT = re.compile(r"#[^'\"\n]*$", re.MULTILINE)

# A file whose top-level code makes tensors or modules, or trains: what happens then is known in detail.
_RUNS = re.compile(
    r"\bnn\.[A-Z]\w*\("
    r"|\btorch\.(?!(?:ops|library|jit|cuda|distributed|profiler|backends|version)\.|(?:device|finfo|compile|load|save|manual_seed)\()[\w.]+\("
    r"|\.(?:backward|zero_grad|requires_grad_|parameters)\(|\brequires_grad\s*=|\bautograd\.|\boptim\."
    r"|\b(?:Variable|GradScaler|set_grad_enabled|no_grad|enable_grad)\(|\b(?:cuda|cpu)\.amp\."
)

# What makes tensors that require grad. Where a file has none of it, all its tensors come from outside,
# and nothing is known of them that could make a finding of the kinds that need it.
_GRAD_SOURCES = ("nn.", "requires_grad", "zero_grad", "Parameter", "backward", "import nn")

# Names that are seeds by themselves: of back-propagation, of optimizers and their gradients, of hooks,
# deprecated ones. Each pattern stands with a word that all its matches have: words are found quickly.
_NAMES = {
    "backward": r"\bbackward\(|\.backward\b|manual_backward\(",
    "autograd": r"\bautograd\.(?!profiler)|\bautograd\b(?!\.)",
    "grad(": r"\bgrad\(",
    "_grad": r"\bzero_grad\(|\.zero_grad\b|\bclip_grad_\w+\(|\bretain_grad\b|\brequire[sd]?_grad",
    "requiresgrad": "requiresgrad",
    "def training_step": "def training_step",
    "def compute_loss": r"def compute_loss\(self, model\b",
    "Scaler": r"\b(?:Grad|Native|Apex)Scaler\b",
    "unscale_": r"\bunscale_\b",
    "jacobian": "jacobian",
    "hessian(": r"\bhessian\(",
    "jvp": r"\bjvp",
    "vjp": r"\bvjp",
    "hook(": r"\bregister_\w*hook\(",
    "save_for_backward": "save_for_backward",
    "volatile": "volatile",
    "Variable": r"\bVariable\b",
    "reinforce": r"\breinforce\b",
    "retain_variables": "retain_variables",
    "saved_variables": "saved_variables",
    "clip_grad_norm(": r"\bclip_grad_norm\(",
    "size_average": "size_average",
    "reduce=": r"\breduce=",
    "no_sync(": r"no_sync\(",
    "resize_": r"\.resize_\(|resize_as_",
    ".set_(": r"\.set_\(",
    "detach_(": r"detach_\(",
    "optim.": r"\boptim\.[A-Z]\w*\(",
    "init.": r"\binit\.(?:constant|dirac|eye|normal|orthogonal|sparse|uniform|(?:kaiming|xavier)_\w+[a-z])\(",
    ".amp.": r"\b(?:cuda|cpu)\.amp\.",
    "Parameter(": (
        r"Parameter\((?!\s*(?:data=)?(?:[\w.]+\s*\*\s*)?torch\."
        r"(?:zeros|ones|empty|randn|rand|full|tensor|arange|normal|Tensor|FloatTensor)\()"
        r"|Parameter\(.*\)\.(?:to|cpu|cuda|half|float|double|bfloat16|type)\("
    ),
}
# Names that are seeds where tensors of the file may require grad.
_NAMES_WITH_GRAD = {
    ".grad": r"\.grad\b",
    "deepcopy": "deepcopy",
    "out=": r"\bout=",
    "inference_mode(": r"inference_mode\(",
}
_CHECKPOINT = r"\bcheckpoint(?:_sequential)?\((?![^()]*use_reentrant)"
_IMPORTED = re.compile(
    r"^[ \t]*from torch\.(?:optim|(?:cuda|cpu)\.amp|nn\.init|autograd) import (\([^)]*\)|.*)$",
    re.MULTILINE,
)

_MODES = ("no_grad", "enable_grad", "inference_mode", "set_grad_enabled")
_MODE = re.compile(r"\b(?:no_grad|enable_grad|inference_mode|set_grad_enabled)\b")
_RIGHT_MODE = re.compile(
    r"@[\w.]*(?:no_grad|enable_grad|inference_mode)\("
    r"|with [\w.]*(?:no_grad|enable_grad|inference_mode|set_grad_enabled)\("
    r"|(?<=[,(] )[\w.]*(?:no_grad|enable_grad|inference_mode)\(\)(?=[,:) ])"
)
_WITHOUT_GRAD = re.compile(r"\s*@[\w.]*(?:no_grad|inference_mode)\(")

_LEAVES = frozenset(
    {"weight", "bias", "parameters", "named_parameters", "Parameter", "requires_grad", "requires_grad_"}
)
_VIEWS = frozenset(
    {"chunk", "split", "unbind", "tensor_split", "hsplit", "vsplit", "dsplit", "split_with_sizes"}
    | {"expand", "expand_as", "unfold", "iter", "zip"}
)
_WRITE = re.compile(r"[a-z0-9]_\(|\]\s*=[^=]|[-+*/@%&|^]=|//=|\*\*=|<<=|>>=")
_LAYER_NAME = re.compile(r"self\.(\w+)\s*(?::[^=]+)?=\s*(?:torch\.)?nn\.[A-Z]")
_PARAMETER_NAME = re.compile(r"self\.(\w+)\s*(?::[^=]+)?=.*Parameter\(|register_parameter\(\s*[\"'](\w+)")
_NUMPY = re.compile(r"(?<!detach\(\))\.numpy\(|\bnp\.|\bnumpy\.")
_SUM = re.compile(r"\+=|append|\]\s*=|= *\w+ *\+")
_LOOP = re.compile(r"\b(?:for|while)\b")
_MODULE_ROLE = re.compile(r"\b(\w+)\.(?:eval|train|parameters|named_parameters|state_dict|zero_grad)\(")
_DROPPED = re.compile(
    r"^[ \t]*(\w+)(?:\[[^\n]*\])?\.(?:detach|clone|to|cpu|cuda|float|double|half|contiguous)\(.*\)[ \t]*$",
    re.MULTILINE,
)
_PLAIN = re.compile(r"self\.\w+\s*(?::[^=\n]+)?=\s*(?:[\[{(]|\w+\s*(?:$|if\b)|\w+\()", re.MULTILINE)


class _Seeds:
    """The seeds that a file's code can have at all, and where it has them."""

    def __init__(self, outline: Outline) -> None:
        source = outline.source
        self._grad = any(word in source for word in _GRAD_SOURCES)
        self._names = _present(_NAMES, source) + (_present(_NAMES_WITH_GRAD, source) if self._grad else [])
        self._names += [(name, rf"\b{name}\(") for name in _imported(source)]
        if "checkpoint(" in source and "torch.utils" in source:
            self._names.append(("checkpoint", _CHECKPOINT))
        self._modes = any(word in source for word in _MODES)
        self._functions = frozenset(unit.name for unit in outline.units)
        if self._grad:
            own = (
                found for line in outline.lines if "aram" in line for found in _PARAMETER_NAME.findall(line)
            )
            self._own = {name for pair in own for name in pair if name}
            self._leaves = _LEAVES | _VIEWS | self._own
            layers = [line for line in outline.lines if "nn." in line or "inplace=True" in line]
            self._layers = {name for line in layers for name in _LAYER_NAME.findall(line)}
            self._inplace = {
                name for line in layers if "inplace=True" in line for name in _LAYER_NAME.findall(line)
            }

    def named_in(self, code: str) -> bool:
        """Does the code have a name that is a seed by itself?"""
        return self._named(code) and self._named(_COMMENT.sub("", code))

    def in_unit(self, unit: Unit, derived: bool) -> bool:
        """Does a function's code have another seed? `derived`: it is a method of a derived class."""
        code = unit.text
        if self._grad and (
            self._may_write(unit)
            or self._may_use_numpy(code)
            or (
                (derived or "class " in code)
                and _PLAIN.search(code) is not None
                and keeps_in_plain_container(unit.node)
            )
        ):
            return True
        return _drops(code) or _keeps(code)

    def _named(self, code: str) -> bool:
        if any(word in code and _compiled(pattern).search(code) for word, pattern in self._names):
            return True
        return (
            self._modes
            and any(word in code for word in _MODES)
            and _MODE.search(_RIGHT_MODE.sub("", code)) is not None
        )

    def _may_write(self, unit: Unit) -> bool:
        code = unit.text
        if not any(name in code for name in self._leaves):
            return False
        if any(f".{name}(" in code for name in self._inplace) and any(name in code for name in _VIEWS):
            return True
        if _WITHOUT_GRAD.match(code) or not _WRITE.search(code):
            return False
        return may_write_to(unit.node, self._leaves, self._functions)

    def _may_use_numpy(self, code: str) -> bool:
        if "numpy" not in code and "np." not in code:
            return False
        made = any(name in code for names in (self._own, self._layers) for name in names) or "nn." in code
        return made and _NUMPY.search(code) is not None


def _present(names: dict[str, str], source: str) -> list[tuple[str, str]]:
    return [(word, pattern) for word, pattern in names.items() if word in source]


def _imported(source: str) -> Iterator[str]:
    """Names that an import takes out of the modules whose functions are seeds."""
    if "from torch." not in source:
        return
    for names in _IMPORTED.findall(source):
        for part in names.strip("()").split(","):
            name = part.split("#")[0].split(" as ")[-1].strip()
            if name.isidentifier() and "_" not in (name[0], name[-1]):
                yield name


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _keeps(code: str) -> bool:
    """May a loop gather what a module gives whose parameters are known to require grad?"""
    if not any(f"{name}(" in code for name in set(_MODULE_ROLE.findall(code))):
        return False
    return _LOOP.search(code) is not None and _SUM.search(code) is not None


def _drops(code: str) -> bool:
    """May a statement throw the result away that a method of a tensor made here returns?"""
    return any(
        re.search(rf"^[ \t]*{name}\b[^=\n]*=[^=]", code, re.MULTILINE) for name in _DROPPED.findall(code)
    )


def _function_classes(outline: Outline) -> set[str]:
    """Classes that may derive from torch.autograd.Function."""
    return {name for name, bases in outline.classes.items() if any("Function" in base for base in bases)}


def _with_callers(outline: Outline, found: set[Unit]) -> set[Unit]:
    """The units with those that call them: functions by name, methods by `self` or where their class is."""
    waiting = [unit for unit in found if unit.name != "forward" and not unit.name.startswith("__")]
    while waiting:
        callee = waiting.pop()
        call = f"{callee.name}("
        for unit in outline.units:
            if unit in found or call not in unit.text:
                continue
            near = not callee.owner or unit.owner == callee.owner or callee.owner in unit.text
            if near and _compiled(rf"\b{callee.name}\(").search(unit.text):
                found.add(unit)
                if unit.name != "forward" and not unit.name.startswith("__"):
                    waiting.append(unit)
    return found
