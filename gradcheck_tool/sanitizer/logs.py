"""The log of the nodes that each watched thread makes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradcheck_tool.sanitizer.nodes import NodeLog


class _Local(threading.local):
    log: NodeLog | None = None


_local = _Local()


def log_here() -> NodeLog | None:
    """The log of the calling thread; None where it is not watched."""
    return _local.log


def set_log(log: NodeLog | None) -> NodeLog | None:
    """Give the calling thread a log; return the one that it had."""
    before, _local.log = _local.log, log
    return before
