"""Inputs that the user declared with `@gradcheck_tool.samples(MyFunction)`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import torch

from gradcheck_tool.gradcheck.rng import preserved
from gradcheck_tool.gradcheck.samples import registered
from gradcheck_tool.harness.inputs.case import Case

if TYPE_CHECKING:
    from gradcheck_tool.harness.inputs.case import InputSettings


def declared_cases(function: type, settings: InputSettings) -> tuple[Case, ...]:
    """The samples that the generators registered for a Function yield, up to the limit.

    Raises:
        Exception: whatever a generator raises.
    """
    dtype = getattr(torch, settings.dtype) if settings.dtype else torch.get_default_dtype()
    device = torch.device(settings.device)
    drawn = (
        Case(sample.args, sample.kwargs, source="declared", note=f"samples of {generator.__module__}")
        for generator in registered(function)
        for sample in generator(device, dtype)
    )
    with preserved():
        torch.manual_seed(settings.seed)
        return tuple(islice(drawn, settings.limit))
