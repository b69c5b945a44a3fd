"""The run-time engine: is this gradient right, and if not, what is wrong with it?

The package is callable: `gradcheck_tool.gradcheck(func, inputs)` is `gradcheck_tool.gradcheck.gradcheck`, the
function that takes the place of `torch.autograd.gradcheck`.
"""

import sys
from types import ModuleType
from typing import Any

from gradcheck_tool.codes import CODES, Code
from gradcheck_tool.gradcheck.dropin import GradientError, gradcheck
from gradcheck_tool.gradcheck.engine import check_function
from gradcheck_tool.gradcheck.report import InputVerdict, Report
from gradcheck_tool.gradcheck.samples import Sample, registered, samples
from gradcheck_tool.gradcheck.session import Options
from gradcheck_tool.gradcheck.surrogates import surrogate

__all__ = [
    "CODES",
    "Code",
    "GradientError",
    "InputVerdict",
    "Options",
    "Report",
    "Sample",
    "check_function",
    "gradcheck",
    "registered",
    "samples",
    "surrogate",
]


class _CallableModule(ModuleType):
    """`gradcheck_tool.gradcheck` names this package, and calling it calls the function of that name."""

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
