"""Which functions of a file may hold a hazard, judged by its text before anything is lowered.

A finding needs a *seed*: a name of autograd's, a write that may reach a parameter or a view, a module or
parameter kept in a plain container, a deprecated name. A function is suspect when its code has a seed, or
when it calls a suspect of the same file, so that what the two do together is seen. The others are
executed only as part of a suspect.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from gradcheck_tool.triage.origins import LAYER, Origins
from gradcheck_tool.triage.plain_containers import keeps_in_plain_container
from gradcheck_tool.triage.write_targets import may_write_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.ir.outline import Outline, Unit


@dataclass(frozen=True, slots=True)
class Suspects:
    """The suspects of a file by qualified name.

    `body` tells whether its top-level code is one itself, `trains` which of them compute gradients and take
    optimizer steps, or call those that do, and `rows` how many rows they have together.
    """

    functions: frozenset[str]
    body: bool
    trains: frozenset[str]
    rows: int

    def __bool__(self) -> bool:
        return self.body or bool(self.functions)


def suspects(outline: Outline) -> Suspects:
    """Find the functions of a file that may hold a hazard."""
    seeds = _Seeds(outline)
    functions = _function_classes(outline)
    named = {
        unit
        for unit in outline.units
        if unit.owner in functions
        or any(name in unit.text for name in functions)
        or seeds.named_in(unit.text)
    }
    found = _with_callers(outline, named, seeds)
    derived = {name for name, bases in outline.classes.items() if bases}
    found |= {
        unit for unit in outline.units if unit not in found and seeds.in_unit(unit, unit.owner in derived)
    }
    body = any(_has_any(code, _RUN_WORDS) and _RUNS.search(code) for code in _run_code(outline))
    trains = _with_callers(outline, {unit for unit in found if _trains(unit)}, seeds) & found
    rows = sum(unit.last - unit.first + 1 for unit in found)
    return Suspects(_qualnames(found), body, _qualnames(trains), rows)


def _has_any(code: str, words: tuple[str, ...]) -> bool:
    return any(word in code for word in words)


def _qualnames(units: set[Unit]) -> frozenset[str]:
    return frozenset(unit.qualname for unit in units)


def _run_code(outline: Outline) -> Iterator[str]:
    """The code that a file may execute when it is run: what its top-level code calls by name, too."""
    yield outline.outside
    if not outline.runs:
        return
    named: dict[str, list[str]] = defaultdict(list)
    for unit in outline.units:
        named[unit.owner or unit.name].append(unit.text)
    waiting = [outline.outside]
    while waiting:
        for word in set(_WORD.findall(waiting.pop())) & named.keys():
            waiting += named[word]
            yield from named.pop(word)


_WORD = re.compile(r"[^\W\d]\w*")

# Schedulers of noise and of time step, too: what only steps does not train. A definition is no call.
_TRAINS = re.compile(r"(?<!def )\bbackward\(|\bautograd\.grad\(|\bzero_grad\((?=.*\.step\()", re.DOTALL)


def _trains(unit: Unit) -> bool:
    # What is called `backward` itself hands on what it is given.
    code = unit.text
    return (
        unit.name != "backward"
        and _TRAINS.search(code) is not None
        and _TRAINS.search(_without_prose(code)) is not None
    )


# Texts and comments; formatted texts are code, too.
_PROSE = re.compile(
    r"(?P<code>\b(?:[fF][rR]?|[rR][fF]))?"
    r"(?:\"{3}(?:[^\"\\]|\\.|\"(?!\"\"))*\"{3}|'{3}(?:[^'\\]|\\.|'(?!''))*'{3}"
    r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|#[^\n]*",
    re.DOTALL,
)


def _without_prose(code: str) -> str:
    return _PROSE.sub(lambda found: found[0] if found["code"] else "''", code)


# Its profiler and its anomaly mode change no gradient.
_AUTOGRAD = r"\bautograd\.(?!\w*profiler|(?:set_)?detect_anomaly)"

# A file whose top-level code makes tensors or modules, or trains: what happens then is known in detail.
_RUNS = re.compile(
    r"\bnn\.[A-Z]\w*\("
    r"|\btorch\.(?!(?:ops|library|jit|cuda|distributed|profiler|backends|version)\.|(?:device|finfo|compile|load|save|manual_seed)\()[\w.]+\("
    r"|\.(?:backward|zero_grad|requires_grad_|parameters)\(|\brequires_grad\s*=|\boptim\.[A-Z]\w*\("
    rf"|{_AUTOGRAD}"
    r"|\b(?:Variable|GradScaler|set_grad_enabled|no_grad|enable_grad)\(|\b(?:cuda|cpu)\.amp\."
)
# One of them is in whatever it matches: words are found quickly.
_RUN_WORDS = ("torch.", "nn.", "grad", "parameters(", "backward(", "optim.", "Variable(", "Scaler(", ".amp.")

# What makes tensors that require grad. Where a file has none of it, all its tensors come from outside,
# and nothing is known of them that could make a finding of the kinds that need it.
_GRAD_SOURCES = ("nn.", "requires_grad", "zero_grad", "Parameter", "backward", "import nn")

# Names that are seeds by themselves: of back-propagation, of optimizers and their gradients, of hooks,
# deprecated ones. Each pattern stands with a word that all its matches have: words are found quickly.
_NAMES = {
    "backward": r"\bbackward\(|\.backward\b|manual_backward\(",
    "autograd": rf"{_AUTOGRAD}|\bautograd\b(?!\.)",
    "grad(": r"\bgrad\(",
    "zero_grad": r"(?<=\.)zero_grad\b(?![(.])",
    "clip_grad_": r"\bclip_grad_\w+\(",
    "retain_grad": r"\bretain_grad\b",
    "require_grad": r"\brequire_grad",
    "required_grad": r"\brequired_grad",
    # Written, and not merely kept from requiring grad or given on.
    "requires_grad": (
        r"\brequires_grad(?:s|_\((?!False))|(?<=\.)requires_grad\s*=|\n[ \t]*requires_grad = "
        r"|(?<![.\w])requires_grad\s*=(?!=|\s*False\b|\s*[\w.]+\.requires_grad\b)"
    ),
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
    ".detach(": r"for (?:\w+, *)?(\w+) in [^\n]*parameters\(\)[^\n]*:\s+\1 = \1\.detach\(",
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
    "out=": r"\bout=",
    "inference_mode(": r"inference_mode\(",
}
# Gradients are cleared at the wrong time only where there are some, or a step is taken.
_NAMES_WITH_STEPS = {"zero_grad(": r"\bzero_grad\("}
_STEPS = re.compile(r"backward\(|\.step\(|\.grad\b")
_CHECKPOINT = r"\bcheckpoint(?:_sequential)?\((?![^()]*use_reentrant)"
_IMPORTED = re.compile(r"from torch\.(?:optim|(?:cuda|cpu)\.amp|nn\.init|autograd) import (\([^)]*\)|.*)")

# What every freezing and reparameterising function does to all parameters of a module, which are leaves.
_TO_PARAMETERS = re.compile(
    r"for (?:\w+, *)?(?P<each>\w+) in [\w.\[\]]+\.(?:named_)?parameters\(\):\s+"
    r"(?:if [^\n]*:\s+(?:continue\s+)?)?"
    r"(?P=each)\.(?:detach_|requires_grad_|requires_grad\s*=(?!=)|data\b)"
)

_MODES = ("no_grad", "enable_grad", "inference_mode", "set_grad_enabled")
# Called, or forgotten to be called: a parameter or an attribute of the name is none of PyTorch's.
_MODE = re.compile(
    r"(?:\b(?:torch|autograd)\.|@|\bwith )(?:no_grad|enable_grad|inference_mode|set_grad_enabled)\b"
    r"|(?<!def )\b(?:no_grad|enable_grad|inference_mode|set_grad_enabled)\("
)
_RIGHT_MODE = (
    r"@[\w.]*(?:no_grad|enable_grad|inference_mode)\("
    r"|with [\w.]*(?:no_grad|enable_grad|inference_mode|set_grad_enabled)\("
    r"|(?<=[,(] )[\w.]*(?:no_grad|enable_grad|inference_mode)\(\)(?=[,:) ])"
)
# Nothing but inference mode makes it a mistake to switch grad mode on.
_RIGHT_WITHOUT_INFERENCE = rf"{_RIGHT_MODE}|\b[\w.]*set_grad_enabled\(True\)"
_WITHOUT_GRAD = re.compile(r"\s*@[\w.]*(?:no_grad|inference_mode)\(")

_LEAVES = frozenset(
    {"weight", "bias", "parameters", "named_parameters", "Parameter", "requires_grad", "requires_grad_"}
)
_VIEWS = frozenset(
    {"chunk", "split", "unbind", "tensor_split", "hsplit", "vsplit", "dsplit", "split_with_sizes"}
    | {"expand", "expand_as", "unfold", "iter", "zip"}
)
_WRITE = re.compile(r"[a-z0-9]_\(|\]\s*=[^=]|[-+*/@%&|^]=|//=|\*\*=|<<=|>>=")
_INPLACE_CALL = re.compile(r"[a-zA-Z0-9]_\(|:=")
_LAYER_NAME = re.compile(r"self\.(\w+)\s*(?::[^=]+)?=\s*(?:torch\.)?nn\.[A-Z]")
_PARAMETER_NAME = re.compile(r"self\.(\w+)\s*(?::[^=]+)?=.*Parameter\(|register_parameter\(\s*[\"'](\w+)")
_NUMPY = re.compile(r"(?<!detach\(\))\.numpy\(|\b(?:np|numpy)\.\w+\(")
_GRAD = re.compile(r"\.grad\b")
_SUM = re.compile(r"\+=|append|\]\s*=|= *\w+ *\+")
_LOOP = re.compile(r"\b(?:for|while)\b")
_MODULE_ROLE = re.compile(r"\b(\w+)\.(?:eval|train|parameters|named_parameters|state_dict|zero_grad)\(")
_ROLE_WORDS = (".eval(", ".train(", "parameters(", ".state_dict(", ".zero_grad(")
_DROPPED = re.compile(
    r"\n[ \t]*\w+(?:\[[^\n]*\])?\.(?:detach|clone|to|cpu|cuda|float|double|half|contiguous)\(.*\)[ \t]*$",
    re.MULTILINE,
)
# What makes something of which more is known than that it exists.
_MAKES = re.compile(
    r"\bnn\.[A-Z]|requires_grad|Parameter\(|\bparameters\(|\boptim\.|zero_grad|\bbackward\(|\btorch\.[a-z]\w*\("
)
_MAKE_WORDS = ("torch.", "nn.", "grad", "arameter", "optim.", "backward(")
_GIVE_GRAD = frozenset(
    {LAYER, "Parameter", "requires_grad", "requires_grad_", "parameters", "weight", "bias"}
)
_CLASS = re.compile(r"^[ \t]+class ", re.MULTILINE)
_PLAIN = re.compile(r"self\.\w+\s*(?::[^=\n]+)?=\s*(?:[\[{(]|\w+\s*(?:$|if\b)|\w+\()", re.MULTILINE)


class _Seeds:
    """The seeds that a file's code can have at all, and where it has them."""

    def __init__(self, outline: Outline) -> None:
        source = outline.source
        self._outline = outline
        self._grad = _has_any(source, _GRAD_SOURCES)
        self._names = _present(_NAMES, source) + (_present(_NAMES_WITH_GRAD, source) if self._grad else [])
        self._names += [(name, rf"\b{name}\(") for name in _imported(source)]
        if "checkpoint(" in source and "torch.utils" in source:
            self._names.append(("checkpoint", _CHECKPOINT))
        clearing = _present(_NAMES_WITH_STEPS, source)
        if clearing and any(map(_STEPS.search, outline.code)):
            self._names += clearing
        self._modes = _has_any(source, _MODES)
        self._right_modes = _RIGHT_MODE if "inference_mode" in source else _RIGHT_WITHOUT_INFERENCE
        self._functions = frozenset(unit.name for unit in outline.units)
        self._makers = _GIVE_GRAD
        if self._grad:
            own = (
                found for line in outline.lines if "aram" in line for found in _PARAMETER_NAME.findall(line)
            )
            self._own = frozenset(name for pair in own for name in pair if name)
            self._leaves = _LEAVES | _VIEWS | self._own
            layers = [line for line in outline.lines if "nn." in line or "inplace=True" in line]
            made = {name for line in layers for name in _LAYER_NAME.findall(line)}
            self._makers = _GIVE_GRAD | self._own | made
            self._inplace = {
                name for line in layers if "inplace=True" in line for name in _LAYER_NAME.findall(line)
            }

    def named_in(self, code: str) -> bool:
        """Does the code have a name that is a seed by itself?"""
        return self._named(code) and self._named(_TO_PARAMETERS.sub("", _without_prose(code)))

    def in_unit(self, unit: Unit, derived: bool) -> bool:
        """Does a function's code have another seed? `derived`: it is a method of a derived class."""
        code = unit.text
        if self._grad and (
            self._may_write(unit)
            or (_GRAD.search(code) and not _WITHOUT_GRAD.match(code))
            or (
                (derived or _CLASS.search(code) is not None)
                and _PLAIN.search(code) is not None
                and keeps_in_plain_container(unit.node)
            )
        ):
            return True
        return self._uses_computed(unit) or _keeps(code)

    @cached_property
    def makers(self) -> set[Unit]:
        """Units that make something themselves, by a function of the file, or when their object is made."""
        units = self._outline.units
        direct = {unit for unit in units if self._makes(unit.text)}
        if not direct:
            return direct
        owners = {unit.owner for unit in direct if unit.owner and unit.name == "__init__"}
        called = _compiled(rf"\b(?:{'|'.join(sorted({unit.name for unit in direct}))})\(")
        return {
            unit
            for unit in units
            if unit in direct or unit.owner in owners or called.search(unit.text) is not None
        }

    def _makes(self, code: str) -> bool:
        """May what the code hands to a function be more than unknown?"""
        return (_has_any(code, _MAKE_WORDS) and _MAKES.search(code) is not None) or any(
            f"{name}(" in code for name in self._outline.classes
        )

    def _named(self, code: str) -> bool:
        if any(word in code and _compiled(pattern).search(code) for word, pattern in self._names):
            return True
        return (
            self._modes
            and _has_any(code, _MODES)
            and _MODE.search(_compiled(self._right_modes).sub("", code)) is not None
        )

    def _may_write(self, unit: Unit) -> bool:
        code = unit.text
        if not any(name in code for name in self._leaves):
            return False
        if any(f".{name}(" in code for name in self._inplace) and any(name in code for name in _VIEWS):
            return True
        if _WITHOUT_GRAD.match(code) or not _WRITE.search(code):
            return False
        by_calls = _INPLACE_CALL.search(code) is not None
        return may_write_to(unit.node, self._leaves, self._functions, by_calls=by_calls)

    def _uses_computed(self, unit: Unit) -> bool:
        """Is what may require grad given to NumPy or copied deeply, or the copy of a tensor dropped?"""
        code = unit.text
        grad = self._grad and not _WITHOUT_GRAD.match(code)
        numpy = grad and ("numpy" in code or "np." in code) and _NUMPY.search(code) is not None
        copied = grad and "deepcopy(" in code
        if not (numpy or copied or _DROPPED.search(code)):
            return False
        origins = Origins(unit.node)
        makers = self._makers.union(_MODULE_ROLE.findall(code))
        return (
            (numpy and origins.reach(origins.numpy, makers))
            or (copied and origins.reach(origins.copied, makers, computed=True))
            or origins.drops
        )


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
    if not _has_any(code, _ROLE_WORDS):
        return False
    if _LOOP.search(code) is None or _SUM.search(code) is None:
        return False
    modules = set(_MODULE_ROLE.findall(code))
    return any(f"{name}(" in code and _compiled(rf"\b{name}\(").search(code) for name in modules)


def _function_classes(outline: Outline) -> set[str]:
    """Classes that may derive from torch.autograd.Function."""
    return {name for name, bases in outline.classes.items() if any("Function" in base for base in bases)}


def _with_callers(outline: Outline, found: set[Unit], seeds: _Seeds) -> set[Unit]:
    """The units with those that call them: functions by name, methods by `self` or where their class is.

    A caller that has nothing to hand on of which anything is known adds nothing to its callee.
    """
    waiting = [unit for unit in found if unit.name != "forward" and not unit.name.startswith("__")]
    while waiting:
        callee = waiting.pop()
        call = f"{callee.name}("
        for unit in outline.units:
            if call not in unit.text or unit in found or unit not in seeds.makers:
                continue
            near = not callee.owner or unit.owner == callee.owner or callee.owner in unit.text
            if near and _compiled(rf"\b{callee.name}\(").search(unit.text):
                found.add(unit)
                if unit.name != "forward" and not unit.name.startswith("__"):
                    waiting.append(unit)
    return found
