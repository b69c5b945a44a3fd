"""What stands over a Function: the last result of `gradlint gradcheck`."""

import os

import pytest

from gradcheck_tool.harness.results import last_result
from gradcheck_tool.server.lenses import lenses

TEXT = """\
import torch


class Outer:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * {factor}
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """A folder whose right and wrong Functions have been checked."""
    import subprocess
    import sys

    folder = tmp_path_factory.mktemp("checked")
    (folder / "gradlint.toml").write_text("")
    for name, factor in (("right", 2), ("wrong", 3)):
        (folder / f"{name}.py").write_text(TEXT.format(factor=factor))
    subprocess.run(
        [sys.executable, "-m", "gradcheck_tool", "gradcheck", "."],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    return folder


def told(folder, name, after=7200.0):
    path, cache = folder / f"{name}.py", folder / ".gradlint_cache"
    result = next(
        filter(
            None, (last_result(cache, str(path), f"{name}.Outer.Double[{how}]") for how in ("cpu", "cuda"))
        )
    )
    return [*lenses(path, path.read_text(), cache, now=result.when + after)]


def test_a_right_function_is_ok(checked):
    assert told(checked, "right") == [(5, "checked by gradcheck (cpu): ok, 2 hours ago")]
    assert told(checked, "right", after=3)[0][1].endswith("ok, just now")
    assert told(checked, "right", after=90_000)[0][1].endswith("ok, 1 day ago")


def test_a_wrong_function_names_its_codes(checked):
    assert told(checked, "wrong") == [(5, "checked by gradcheck (cpu): GC101, 2 hours ago")]


def test_a_file_that_has_changed_since_says_so(checked, tmp_path):
    path = checked / "right.py"
    later = path.stat().st_mtime + 10_000
    before = path.stat()
    os.utime(path, (later, later))
    assert told(checked, "right")[0][1].endswith("; the file has changed since")
    os.utime(path, (before.st_atime, before.st_mtime))


def test_rows_are_those_of_the_text_and_what_was_never_checked_says_so(tmp_path):
    path = tmp_path / "ops.py"
    path.write_text(TEXT.format(factor=2))
    text = f"# new\n{TEXT.format(factor=2)}"
    assert [*lenses(path, text, tmp_path / ".gradlint_cache")] == [(6, "not checked by gradcheck yet")]
    assert [*lenses(path, "class (", tmp_path)] == []
