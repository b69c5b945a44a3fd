"""Programs whose Functions get made-up arguments."""

import sys

import pytest

from gradcheck_tool.harness.discovery import Discovery
from gradcheck_tool.harness.inputs.case import InputSettings
from gradcheck_tool.harness.inputs.finding import cases
from gradcheck_tool.harness.loading import load_function


@pytest.fixture
def found(tmp_path):
    """The Function of a program, or that of a name, and the arguments that are made up for it."""
    path = list(sys.path)

    def run(source, name=None):
        file = tmp_path / "to_be_tried.py"
        file.write_text(source)
        (ref,) = (ref for ref in Discovery().functions([file]) if name in (None, ref.qualname))
        function = load_function(ref)
        return function, cases(function, ref, InputSettings())

    yield run
    sys.path[:] = path
    sys.modules.pop("to_be_tried", None)
