"""The run-time engine: is this gradient right, and if not, what is wrong with it?"""

from gradcheck_tool.gradcheck.codes import CODES, Code
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
