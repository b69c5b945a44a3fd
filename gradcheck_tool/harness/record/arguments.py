"""Arguments of any kind as bytes and back: pickle, with tensors and the places of classes kept apart."""

from __future__ import annotations

import importlib.util
import io
import pickle
import sys
from collections.abc import KeysView, ValuesView
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from torch import Tensor

from gradcheck_tool.harness.record.tensors import NotStorableError, TensorTable, rebuilt, stored
from gradcheck_tool.importing import run_file

_MOST_BYTES = 4 << 20


@dataclass(slots=True)
class Packed:
    """A value and the tensors inside it.

    Attributes:
        data: the pickled value; tensors in it are numbers of `tensors`.
        tensors: every tensor once.
        files: of the modules whose classes and functions the value refers to, by module name.
    """

    data: bytes
    tensors: TensorTable
    files: dict[str, str] = field(default_factory=dict)


def pack(value: Any) -> Packed:
    """The value as plain data.

    Raises:
        NotStorableError: where it holds something that cannot be stored.
    """
    file = io.BytesIO()
    pickler = _Pickler(file)
    try:
        pickler.dump(value)
    except Exception as error:
        # Objects of any library may fail in any way when they are pickled.
        raise NotStorableError(str(error) or type(error).__name__) from error
    if file.tell() > _MOST_BYTES:
        raise NotStorableError(f"arguments of {file.tell()} bytes")
    return Packed(file.getvalue(), stored(pickler.tensors), pickler.files)


def unpack(packed: Packed, device: str | None = None) -> Any:
    """The value again.

    Raises:
        Exception: whatever its classes raise, or the import of their modules.
    """
    return _Unpickler(packed, rebuilt(packed.tensors, device)).load()


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.tensors: list[Tensor] = []
        self.files: dict[str, str] = {}
        self._numbers: dict[int, int] = {}

    def persistent_id(self, value: Any) -> int | None:
        """Tensors are stored apart."""
        if isinstance(value, (type, FunctionType)):
            file = getattr(sys.modules.get(value.__module__), "__file__", None)
            if file is not None:
                self.files[value.__module__] = str(Path(file).resolve())
        if not isinstance(value, Tensor):
            return None
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.tensors)
            self.tensors.append(value)
        return self._numbers[id(value)]

    def reducer_override(self, value: Any) -> Any:
        """Views of dicts become lists; local functions and classes are pickled where cloudpickle is there."""
        if isinstance(value, (KeysView, ValuesView)):
            return list, (list(value),)
        local = isinstance(value, (type, FunctionType)) and "<" in value.__qualname__
        if local and importlib.util.find_spec("cloudpickle") is not None:
            cloudpickle = importlib.import_module("cloudpickle")
            return cloudpickle.loads, (cloudpickle.dumps(value),)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, packed: Packed, tensors: list[Tensor]) -> None:
        super().__init__(io.BytesIO(packed.data))
        self._tensors = tensors
        self._files = packed.files

    def persistent_load(self, number: int) -> Tensor:
        """The tensor of this number."""
        return self._tensors[number]

    def find_class(self, module: str, name: str) -> Any:
        """Find classes of scripts and test files too, which cannot be imported by name."""
        file = self._files.get(module)
        if file is None or (module != "__main__" and _importable(module)):
            return super().find_class(module, name)
        value: Any = _loaded_from(file) or _load(file)
        for part in name.split("."):
            value = getattr(value, part)
        return value


def _loaded_from(file: str) -> ModuleType | None:
    """The module that was imported from a file, if one was."""
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__file__", None)
        if name != "__main__" and origin and str(Path(origin).resolve()) == file:
            return module
    return None


def _importable(module: str) -> bool:
    if module in sys.modules:
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _load(file: str) -> ModuleType:
    """Import a file under a name of its own."""
    name = f"_gradlint_recorded_{abs(hash(file)):x}"
    return run_file(Path(file), name)
