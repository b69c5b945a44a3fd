"""Samples for the user to complete: ready to paste, with the best guess for every argument."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.harness.functions import FunctionRef


def stub(ref: FunctionRef, parameters: Sequence[str], guesses: Sequence[str]) -> str:
    """A file `gradcheck_samples.py` that declares samples of one Function.

    Args:
        ref: the Function.
        parameters: names of the arguments of its `apply`.
        guesses: program text for each; fewer are completed with `...`.
    """
    outer, _, _ = ref.qualname.partition(".")
    texts = [*guesses, *["..."] * (len(parameters) - len(guesses))]
    arguments = [f"        {text},  # {name}" for name, text in zip(parameters, texts, strict=False)]
    name = re.sub(r"\W+", "_", ref.qualname).lower()
    return "\n".join(
        [
            "import torch",
            "",
            "import gradcheck_tool",
            f"from {ref.module} import {outer}",
            "",
            "",
            f"@gradcheck_tool.samples({ref.qualname})",
            f"def {name}_samples(device, dtype):",
            "    yield gradcheck_tool.Sample(",
            *arguments,
            "    )",
            "",
        ]
    )
