"""Triton kernels without a GPU: through Triton's interpreter, which NumPy runs on the CPU.

The interpreter is chosen by `TRITON_INTERPRET=1` before Triton is imported, so a process either
interprets every kernel or none: `check_interpreted` starts one for a single Function. Only float32 is
judged (arithmetic in half precision is not what a GPU does), and the kernel's algebra, not what the
compiler or the hardware make of it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradcheck_tool.gradcheck.report import Report

NOTE = (
    "Triton's interpreter ran the kernels, in float32 or better: what the compiler and the GPU make of them "
    "was not checked"
)
_VARIABLE = "TRITON_INTERPRET"
_LAUNCHES = [0]


def launches() -> int:
    """Kernels run by the interpreter in this process so far."""
    return _LAUNCHES[0]


@functools.cache
def prepare() -> bool:
    """Make up for what the interpreter and a machine without a GPU lack, once; False where none interprets.

    Scalars of type float become tensors, as the compiler makes them; functions of CUDA's math library
    are computed by NumPy; questions about the device get the answers of a common one.
    """
    if os.environ.get(_VARIABLE) != "1" or "triton" not in sys.modules:
        return False
    from triton.runtime import interpreter

    convert, run = interpreter._implicit_cvt, interpreter.GridExecutor.__call__  # noqa: SLF001

    def converted(argument: Any) -> Any:
        return _scalar(argument) if type(argument) is float else convert(argument)

    def counted(*arguments: Any, **options: Any) -> Any:
        _LAUNCHES[0] += 1
        return run(*arguments, **options)

    interpreter._implicit_cvt = converted  # noqa: SLF001
    interpreter.GridExecutor.__call__ = counted
    _fill_library()
    if not torch.cuda.is_available():
        _pretend_device()
    return True


def _scalar(number: float) -> Any:
    import numpy as np
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle

    return tl.tensor(TensorHandle(np.array([number], dtype=np.float32), tl.float32), tl.float32)


def _fill_library() -> None:
    """Functions of CUDA's math library that kernels use and the interpreter cannot call."""
    import numpy as np
    import triton.language as tl
    from triton.language.extra import cuda, libdevice
    from triton.runtime.interpreter import TensorHandle

    def elementwise(function: Any) -> Any:
        def apply(value: Any, *_: Any, **__: Any) -> Any:
            data = function(value.handle.data).astype(value.handle.data.dtype)
            return tl.tensor(TensorHandle(data, value.handle.dtype), value.type)

        return apply

    functions = {"tanh": np.tanh, "rsqrt": lambda x: 1 / np.sqrt(x), "log1p": np.log1p, "expm1": np.expm1}
    for home in (libdevice, cuda.libdevice):
        for name, function in functions.items():
            _replace(getattr(home, name), elementwise(function))


def _replace(old: Any, new: Any) -> None:
    """Put `new` in the place of `old` in every module that has it, under whatever name."""
    for module in list(sys.modules.values()):
        names = [name for name, value in vars(module).items() if value is old] if module is not None else []
        for name in names:
            setattr(module, name, new)


def _pretend_device() -> None:
    """Answers to questions that kernels' launchers ask about the current CUDA device."""
    facts = SimpleNamespace(multi_processor_count=4, name="interpreter", major=8, minor=0, warp_size=32)
    for module, name, answer in (
        (torch.cuda, "get_device_properties", lambda *_: facts),
        (torch.cuda, "device", contextlib.nullcontext),
        (torch.cuda, "current_device", lambda: 0),
    ):
        setattr(module, name, answer)


def check_interpreted(
    function: str,
    inputs: Any,
    kwargs: Mapping[str, Any] | None = None,
    *,
    timeout_s: float = 600.0,
    **options: Any,
) -> Report:
    """`check_function` in a child process whose Triton kernels are interpreted.

    Args:
        function: the Function as `package.module:qualified.name`, importable in the child.
        inputs: as for `check_function`; tensors on the CPU.
        kwargs: keyword arguments of the call.
        timeout_s: seconds after which the child is ended.
        **options: options of `check_function`.

    Raises:
        ChildProcessError: the child died or raised; the message ends with what it printed.
        subprocess.TimeoutExpired: it took longer than `timeout_s`.
    """
    with tempfile.TemporaryDirectory() as folder:
        order, answer = Path(folder, "order"), Path(folder, "answer")
        torch.save((function, inputs, dict(kwargs or {}), options), order)
        child = subprocess.run(  # noqa: S603  (this Python, with arguments of our own)
            [
                sys.executable,
                "-c",
                f"from {__name__}_child import serve; serve(*{[str(order), str(answer)]})",
            ],
            env={**os.environ, _VARIABLE: "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        if child.returncode:
            raise ChildProcessError(f"the check of {function} failed:\n{child.stderr[-4000:]}")
        report: Report = pickle.loads(answer.read_bytes())  # noqa: S301  (written by our own child)
    return report
