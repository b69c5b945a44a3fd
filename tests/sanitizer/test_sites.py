"""Whose code a file is."""

import sysconfig

import pytest

from gradcheck_tool.sanitizer.sites import is_program, is_users, site_of_traceback


@pytest.mark.parametrize(
    ("filename", "program"),
    [
        ("/home/someone/project/train.py", True),
        ("/home/someone/project/torch/train.py", True),
        ("/home/someone/.local/lib/python3.11/site-packages/torch/nn/modules/module.py", False),
        ("/home/someone/.local/lib/python3.11/site-packages/einops/layers/torch.py", False),
        ("/usr/lib/python3/dist-packages/torch/nn/modules/module.py", False),
        (f"{sysconfig.get_paths()['stdlib']}/functools.py", False),
    ],
)
def test_the_program_is_what_is_not_installed(filename: str, program: bool) -> None:
    assert is_program(filename) is program
    assert is_users(filename) is program


def test_frames_of_torch_are_left_out_wherever_it_is_installed() -> None:
    torch = "/opt/other/lib/python3.11/site-packages/torch/nn/functional.py"
    library = "/opt/other/lib/python3.11/site-packages/einops/einops.py"
    called: dict[str, object] = {}
    exec(compile("def fail(): raise ValueError", torch, "exec"), called)
    exec(compile("def call(): fail()", library, "exec"), called)
    try:
        called["call"]()  # type: ignore[operator]
    except ValueError as error:
        traceback = error.__traceback__
        assert traceback is not None
        inner = site_of_traceback(traceback.tb_next)
    assert inner is not None
    assert inner.location.filename == library
