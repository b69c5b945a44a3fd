"""Found by every Python process of a launched command: waits for torch, then starts what is to work in it.

What the process sees otherwise stays as it was: this folder leaves `sys.path`, and a `sitecustomize` that
this one hides is run after it.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_HERE = Path(__file__).resolve().parent


class _WhenTorchIsImported:
    """A finder that only looks over the shoulder of the others, once."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        """The usual spec of torch, with a step after its import; None for everything else."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_start(module: ModuleType) -> None:
            execute(module)
            _start()

        vars(spec.loader)["exec_module"] = execute_and_start
        return spec


def _start() -> None:
    if importlib.util.find_spec("gradcheck_tool") is None:
        sys.path.append(str(_HERE.parents[2]))
    for name in os.environ["GRADLINT_START"].split():
        importlib.import_module(name).start()


def _hidden() -> None:
    """Run the `sitecustomize` that would have been found without this one."""
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if "GRADLINT_START" in os.environ:
    sys.meta_path.insert(0, _WhenTorchIsImported())
_hidden()
