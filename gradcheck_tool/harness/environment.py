"""The environment variables of worker processes: what Python, PyTorch and compilers need, and what is wanted.

Code that is checked does not see the rest, such as the credentials of who checks it.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK = "GRADLINT_WORKER"
"""The variable by which the processes that a worker has started are known as its own."""

KEPT = (
    # The user and the machine.
    *("HOME", "LOGNAME", "PATH", "SHELL", "TEMP", "TMP", "TMPDIR", "TZ", "USER", "XDG_*"),
    *("LANG", "LANGUAGE", "LC_*", "TERM"),
    *("APPDATA", "COMSPEC", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "PATHEXT", "PROCESSOR_*", "PROGRAMDATA"),
    *("PROGRAMFILES*", "SYSTEMDRIVE", "SYSTEMROOT", "USERPROFILE", "WINDIR"),
    # Python and its environments.
    *("CONDA_DEFAULT_ENV", "CONDA_PREFIX", "GRADLINT_STATE_DIR", "PYTHON*", "VIRTUAL_ENV"),
    # PyTorch, Triton, and what they compute and compile with.
    *("ATEN_*", "PYTORCH_*", "TORCH_*", "TORCHDYNAMO_*", "TORCHINDUCTOR_*", "TRITON_*"),
    *("CUBLAS_*", "CUDA_*", "CUDNN_*", "HIP_*", "HSA_*", "NCCL_*", "NVIDIA_*", "ROCM_*", "ROCR_*"),
    *("GOMP_*", "KMP_*", "MKL_*", "NUMBA_*", "NUMEXPR_*", "OMP_*", "OPENBLAS_*", "PJRT_*", "XLA_*"),
    *("CC", "CFLAGS", "CPATH", "CXX", "CXXFLAGS", "LDFLAGS", "LIBRARY_PATH", "MAX_JOBS"),
    *("DYLD_LIBRARY_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD"),
)
"""Names of variables, and patterns of them."""

# What looks like one of the above and is a secret.
_SECRET = ("*CREDENTIAL*", "*PASSWORD*", "*SECRET*", "*TOKEN*", "*_KEY")


def worker_environment(device: str, threads: int, passed: Iterable[str], mark: str) -> dict[str, str]:
    """A worker's environment variables; what the user has set of those that it gets stays.

    Args:
        device: what the worker is for; without a GPU, Triton's kernels run in its interpreter.
        threads: threads that PyTorch may use.
        passed: names of variables that the user wants it to see, and patterns of them.
        mark: tells what this worker has started.
    """
    count = str(threads)
    wanted = {"OMP_NUM_THREADS": count, "NUMBA_NUM_THREADS": count, "PYTHONUNBUFFERED": "1"}
    if device == "cpu":
        wanted["TRITON_INTERPRET"] = "1"
    asked = tuple(passed)
    kept = {name: value for name, value in os.environ.items() if _is_kept(name) or _matches(name, asked)}
    return {**wanted, **kept, MARK: mark}


def _is_kept(name: str) -> bool:
    return _matches(name.upper(), KEPT) and not _matches(name.upper(), _SECRET)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
