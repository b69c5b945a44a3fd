"""The process in which `in_fresh_process` checks one call."""

from __future__ import annotations

import faulthandler
import pickle
import sys
from multiprocessing import spawn
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from gradcheck_tool.gradcheck.engine import check_function
from gradcheck_tool.gradcheck.fresh import LOADING

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.report import Report


def serve(order: str, answer: str) -> None:
    """Check what the file `order` holds and write the report, or what was raised, to `answer`."""
    faulthandler.enable(sys.stderr, all_threads=False)
    Path(answer).write_bytes(pickle.dumps(_outcome(order)))


def _outcome(order: str) -> Report | BaseException:
    try:
        main = Path(order).with_name("main").read_text()
        if main:
            LOADING.append(main)
            spawn._fixup_main_from_path(main)  # type: ignore[attr-defined]  # noqa: SLF001
            LOADING.clear()
        func, args, kwargs, options, risky = torch.load(order, weights_only=False)
    except Exception as error:  # noqa: BLE001  (raised by the caller of the child)
        return RuntimeError(
            f"isolate=True cannot be used here: another process cannot load the call: {error}"
        )
    try:
        return check_function(func, args, kwargs, **{**options, "risky": risky})
    except Exception as error:  # noqa: BLE001  (raised by the caller of the child)
        return error
