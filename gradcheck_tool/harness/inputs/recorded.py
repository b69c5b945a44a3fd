"""Inputs that `gradlint record` kept from real calls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.rng import preserved
from gradcheck_tool.gradcheck.tree import flatten
from gradcheck_tool.harness.inputs.case import Case
from gradcheck_tool.harness.inputs.synthesised.trial import try_call
from gradcheck_tool.harness.record import store
from gradcheck_tool.harness.record.calls import arguments_of, cotangents_of, digest_of, replay

if TYPE_CHECKING:
    from gradcheck_tool.harness.functions import FunctionRef
    from gradcheck_tool.harness.inputs.case import InputSettings
    from gradcheck_tool.harness.record.calls import RecordedCall


def recorded_cases(
    function: Any, ref: FunctionRef, settings: InputSettings
) -> tuple[tuple[Case, ...], list[str]]:
    """The recorded calls of a Function that it still accepts, and why the others are left out.

    Calls with gradients come first, then small before large.
    """
    if settings.cache is None:
        return (), ["recorded: no calls"]
    calls = [call for call in store.load(Path(settings.cache), ref.qualname) if _is_of(call, ref)]
    calls.sort(key=lambda call: (call.cotangents is None, call.size))
    found: list[Case] = []
    problems: list[str] = [] if calls else ["recorded: no calls"]
    for call in calls:
        if len(found) >= settings.limit:
            break
        try:
            found.append(_case(function, call, settings))
        except Exception as error:  # noqa: BLE001 - arguments of any class, given to code that has changed
            problems.append(f"recorded: {type(error).__name__}: {str(error)[:200]}")
    return tuple(found), problems


def _is_of(call: RecordedCall, ref: FunctionRef) -> bool:
    """The same file, or the same module where tests ran on an installed copy."""
    same_file = call.filename is not None and Path(call.filename) == Path(ref.filename).resolve()
    return same_file or call.module == ref.module


def _case(function: Any, call: RecordedCall, settings: InputSettings) -> Case:
    """One case; the forward is run once to see that it still takes these arguments.

    Raises:
        Exception: whatever the arguments or the forward raise.
    """
    outputs = digest_of(replay(function, call, settings.device))
    args, kwargs = arguments_of(call, settings.device)
    if call.cotangents is not None and not kwargs:
        # A function among the arguments may hold the very tensors that are arguments, too.
        with preserved():
            ended = try_call(function.apply, args, ())
        if ended.problem:
            raise ValueError(
                f"its backward worked when recorded and does not with new tensors: {ended.problem}"
            )
    if settings.dtype is not None:
        args, kwargs = _converted([args, kwargs], getattr(torch, settings.dtype))
    return Case(
        args,
        kwargs,
        "recorded",
        _note(call, outputs),
        cotangents_of(call, settings.device) if settings.dtype is None else None,
    )


def _note(call: RecordedCall, outputs: str) -> str:
    if not call.exact:
        return f"recorded call ({call.kind}), large values drawn again"
    if call.outputs == outputs:
        return f"recorded call ({call.kind}), replayed with the same outputs"
    return f"recorded call ({call.kind})"


def _converted(value: Any, dtype: torch.dtype) -> Any:
    leaves, rebuild = flatten(value)
    return rebuild([_in(leaf, dtype) if isinstance(leaf, Tensor) else leaf for leaf in leaves])


def _in(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.layout != torch.strided:
        return tensor
    wanted = dtype.to_complex() if tensor.is_complex() and not dtype.is_complex else dtype
    return tensor.detach().to(wanted).requires_grad_(tensor.requires_grad)
