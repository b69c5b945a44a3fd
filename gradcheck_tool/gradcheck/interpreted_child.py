"""The process in which `check_interpreted` checks one Function: it imports Triton as an interpreter."""

from __future__ import annotations

import functools
import pickle
from importlib import import_module
from pathlib import Path

import torch

from gradcheck_tool.gradcheck.engine import check_function


def serve(order: str, answer: str) -> None:
    """Check what the file `order` names and write the report to the file `answer`."""
    function, inputs, kwargs, options = torch.load(order, weights_only=False)
    module, _, name = function.partition(":")
    target = functools.reduce(getattr, name.split("."), import_module(module))
    Path(answer).write_bytes(pickle.dumps(check_function(target, inputs, kwargs, **options)))
