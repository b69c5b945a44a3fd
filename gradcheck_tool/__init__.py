"""gradlint: a borrow checker for PyTorch autograd.

The public names of the package, for rule packs, scripts and test suites, are listed in `__init__.pyi`.
They load on first use, so that `import gradcheck_tool` costs nothing and nothing but the run-time engine
(`gradcheck`, `check_function`, `samples`, `Sample`, `Report`) and `watch` ever import torch.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

# An interrupt before `__main__` is reached leaves a traceback, and importing `typing` would take the longest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"


@cache
def _homes() -> dict[str, str]:
    """The module that each public name is imported from."""
    import re
    from pathlib import Path

    listed = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    found = re.findall(r"^from (\S+) import (\w+) as \w+$", listed, re.MULTILINE)
    return {name: module for module, name in found}


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it."""
    if name == "__all__":
        return ["__version__", *sorted(_homes())]
    home = _homes().get(name) if not name.startswith("_") else None
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    if home == __name__ or not hasattr(import_module(home), name):
        return import_module(f"{home}.{name}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names that have not been loaded yet, too."""
    return sorted({*globals(), "__all__", *_homes()})
