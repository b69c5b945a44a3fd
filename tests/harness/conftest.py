import textwrap
import time
from contextlib import suppress

import psutil
import pytest
from typer.testing import CliRunner


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty project to run in; `project(name, text)` writes a file of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "sample"\n')

    def write(name, text=""):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    write.folder = tmp_path
    write.ops = OPS
    return write


@pytest.fixture
def gradcheck():
    """Run `gradlint gradcheck` in this process; its workers are processes of their own."""
    from gradcheck_tool.cli.app import app

    def run(*arguments):
        return CliRunner().invoke(app, ["gradcheck", *map(str, arguments)])

    return run


OPS = """\
import torch
from torch.autograd import Function

import gradcheck_tool


class Sine(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos()


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x**2


def square(device, dtype):
    yield gradcheck_tool.Sample(torch.linspace(0.5, 2, 6, device=device, dtype=dtype).requires_grad_())


for function in (Sine, Cube):
    gradcheck_tool.samples(function)(square)
"""
"""A right Function and a wrong one (a factor of 2/3, in row 26), with samples."""


DELAYED = """
import ctypes
import torch
from torch.autograd import Function
import gradcheck_tool

armed = False

class A(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

class Corrupts(A):
    @staticmethod
    def backward(ctx, g):
        global armed
        armed = True
        return g * 2

class Victim(A):
    @staticmethod
    def backward(ctx, g):
        if armed:
            ctypes.string_at(0)
        return g * 2

for function in (A, Corrupts, Victim):
    @gradcheck_tool.samples(function)
    def _(device, dtype):
        yield gradcheck_tool.Sample(torch.ones(3, device=device, dtype=dtype, requires_grad=True))
"""
"""A Function that is right corrupts the process for another one that is right, too."""


@pytest.fixture
def ops(project):
    """A project with the module `ops` of that text."""
    return project("ops.py", OPS)


def ends(pid):
    """Whether a process that was killed is gone, which may take it a moment."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                continue
        return True
    return False
