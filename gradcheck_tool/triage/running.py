"""What of a file runs when it is executed as a script, and which functions train, judged by text."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from gradcheck_tool.triage.file_text import has_any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradcheck_tool.ir.outline import Outline, Unit

_WORD = re.compile(r"[^\W\d]\w*")

# Schedulers of noise and of time step, too: what only steps does not train. A definition is no call.
_TRAINS = re.compile(r"(?<!def )\bbackward\(|\bautograd\.grad\(|\bzero_grad\((?=.*\.step\()", re.DOTALL)

# Texts and comments; formatted texts are code, too.
_PROSE = re.compile(
    r"(?P<code>\b(?:[fF][rR]?|[rR][fF]))?"
    r"(?:\"{3}(?:[^\"\\]|\\.|\"(?!\"\"))*\"{3}|'{3}(?:[^'\\]|\\.|'(?!''))*'{3}"
    r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|#[^\n]*",
    re.DOTALL,
)

# Code that makes tensors or modules, or trains: when it runs, what happens is known in detail.
_COMPUTES = re.compile(
    r"\bnn\.[A-Z]\w*\("
    r"|\btorch\.(?!(?:ops|library|jit|cuda|distributed|profiler|backends|version)\.|(?:device|finfo|compile|load|save|manual_seed)\()[\w.]+\("
    r"|\.(?:backward|zero_grad|requires_grad_|parameters)\(|\brequires_grad\s*=|\boptim\.[A-Z]\w*\("
    r"|\bautograd\.(?!\w*profiler|(?:set_)?detect_anomaly)"
    r"|\b(?:Variable|GradScaler|set_grad_enabled|no_grad|enable_grad)\(|\b(?:cuda|cpu)\.amp\."
)
# One of them is in whatever it matches: words are found quickly.
_COMPUTE_WORDS = (
    "torch.",
    "nn.",
    "grad",
    "parameters(",
    "backward(",
    "optim.",
    "Variable(",
    "Scaler(",
    ".amp.",
)


def computes(code: str) -> bool:
    """Does the code make tensors or modules, or train?"""
    return has_any(code, _COMPUTE_WORDS) and _COMPUTES.search(code) is not None


# Parts of torch whose functions and classes make tensors or modules, or train.
_PARTS = ("torch", "torch.autograd", "torch.nn", "torch.nn.functional", "torch.nn.parameter", "torch.optim")

# What `from torch import ...` gives, and is looked for under this name.
_USUAL = frozenset({"autograd", "nn", "optim"})


def plain_names(outline: Outline) -> Callable[[str], str]:
    """What writes code with the names that the file gives torch and its parts as most files call them."""
    usual: dict[str, str] = {}
    for node in outline.body:
        if isinstance(node, ast.Import):
            usual |= {one.asname: one.name for one in node.names if one.asname and one.name in _PARTS}
        elif isinstance(node, ast.ImportFrom) and node.module in _PARTS:
            usual |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    usual = {name: full for name, full in usual.items() if full != f"torch.{name}" or name not in _USUAL}
    if not usual:
        return lambda code: code
    words = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, usual))})(?=[.(])")
    return lambda code: words.sub(lambda found: usual[found[0]], code)


def trains(unit: Unit) -> bool:
    """Does a function compute gradients? What is called `backward` itself passes on what it is given."""
    code = unit.text
    return (
        unit.name != "backward"
        and _TRAINS.search(code) is not None
        and _TRAINS.search(without_prose(code)) is not None
    )


def without_prose(code: str) -> str:
    """Code without its texts and comments."""
    return _PROSE.sub(lambda found: found[0] if found["code"] else "''", code)


def running_code(outline: Outline) -> Iterator[str]:
    """The code that a file may execute when it is run: what its top-level code calls by name, too."""
    plain = plain_names(outline)
    yield plain(outline.outside)
    if not outline.runs:
        return
    named: dict[str, list[str]] = defaultdict(list)
    for unit in outline.units:
        named[unit.owner or unit.name].append(unit.text)
    waiting = [outline.outside]
    while waiting:
        for word in set(_WORD.findall(waiting.pop())) & named.keys():
            waiting += named[word]
            yield from map(plain, named.pop(word))
