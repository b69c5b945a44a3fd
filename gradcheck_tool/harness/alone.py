"""A process group of this process alone, for Functions that exchange tensors with others.

What such a Function computes with one process is what it computes with its own share: forward and backward
have to fit for that as well. What is forgotten between processes does not show.
"""

from __future__ import annotations

import re

import torch.distributed as dist

NOTE = "checked in a process group of one: what other processes would send is not there"

_WANTED = re.compile(r"process group has not been initialized|init_process_group", re.IGNORECASE)


def joined(problem: str) -> bool:
    """Start a group where a call has failed for want of one; whether that was done now."""
    if not dist.is_available() or dist.is_initialized() or not _WANTED.search(problem):
        return False
    from torch._C._distributed_c10d import HashStore  # not there in a build without it

    try:
        dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    except (RuntimeError, ValueError):  # a build without gloo, a machine without a network
        return False
    return True


def is_joined() -> bool:
    """Whether this process is in a group."""
    return dist.is_available() and dist.is_initialized()


def leave() -> None:
    """End the group, whoever has started it."""
    if is_joined():
        dist.destroy_process_group()
