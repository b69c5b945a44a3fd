"""Functions that take properties of their arguments for granted get such arguments without being told."""

import sys
from pathlib import Path

import pytest

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.harness.discovery import Discovery
from gradcheck_tool.harness.inputs.case import InputSettings
from gradcheck_tool.harness.inputs.finding import cases
from gradcheck_tool.harness.loading import load_function

MOTIONS = Path(__file__).parents[2] / "motions.py"


@pytest.fixture
def words(tmp_path):
    """What the check of a Function says without configuration, word by word of its inputs."""
    path, modules = list(sys.path), set(sys.modules)

    def run(source, name):
        file = tmp_path / "of_a_domain.py"
        file.write_text(source)
        (ref,) = (r for r in Discovery().functions([file]) if r.qualname == name)
        function = load_function(ref)
        found = cases(function, ref, InputSettings()).cases
        assert found
        return {v.verdict for c in found for v in check_function(function, c.args, **c.options).inputs}

    yield run
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "word"), [("LogOfRotation", "ok"), ("TurnOfMotion", "ok"), ("LogOfRotationTwice", "wrong")]
)
def test_rotations_and_motions_are_made(words, name, word):
    assert words(MOTIONS.read_text(encoding="utf-8"), name) == {word}
