"""Whether a device still runs anything: after an illegal access, CUDA refuses every call of the process."""

from __future__ import annotations

import torch


class BrokenDeviceError(RuntimeError):
    """The device can run nothing any more."""


def broken_device(device: torch.device | str) -> str | None:
    """How a Function has left the device, if that can run nothing any more."""
    if torch.device(device).type != "cuda" or not torch.cuda.is_available():
        return None
    try:
        torch.cuda.synchronize()
        torch.empty(1, device=device).item()
        torch.cuda.empty_cache()
    except Exception as error:  # noqa: BLE001 - any error here is sticky
        return f"leaves the device unusable: {' '.join(str(error).split())[:300]}"
    return None
